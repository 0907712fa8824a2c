/* Numbers of events in groups of rows, drawn without a draw per row. See `calibrant._core.redraws`. */
#include "random.h"

/* Counts at either end with a probability below this are left out. */
#define IMPOSSIBLE 1e-30
#define PLACES 256

/* Write the probabilities of 0, 1, ... n events, from the first count that is possible to the last one. */
INLINE void find_law(const double *probs, int64_t n, double *law, int64_t *first, int64_t *last) {
    int64_t low = 0, high = 0;
    law[0] = 1.0;
    for (int64_t i = 0; i < n; i++) {
        double event = probs[i], none = 1.0 - event;
        law[high + 1] = law[high] * event;
        for (int64_t count = high; count > low; count--) law[count] = law[count] * none + law[count - 1] * event;
        law[low] *= none;
        high++;
        while (law[high] < IMPOSSIBLE) high--;
        while (law[low] < IMPOSSIBLE) low++;
    }
    *first = low;
    *last = high;
}

/* Add to the sum of each key the value of the drawn number of events of every group. The values, (n + n_groups,), are those
   of 0, 1, ... events of the first group, then of the second. Groups are consecutive rows, up to their ends. The room is as
   large as the values. */
EXPORT void NAME(count_sums)(const double *probs, const int64_t *ends, int64_t n_groups, const double *values,
                             const uint64_t *keys, int64_t n_keys, double *room, double *sums) {
    int32_t guides[PLACES];
    for (int64_t b = 0; b < n_keys; b++) sums[b] = 0.0;
    for (int64_t g = 0, start = 0; g < n_groups; start = ends[g++]) {
        const double *value = values + start + g;
        int64_t low, high;
        find_law(probs + start, ends[g] - start, room, &low, &high);
        for (int64_t count = low + 1; count <= high; count++) room[count] += room[count - 1];
        room[high] = 2.0; /* The last count takes what rounding leaves above the sum. */
        for (int64_t place = 0, count = low; place < PLACES; place++) {
            while (room[count] <= (double)place / PLACES) count++;
            guides[place] = (int32_t)count;
        }
        uint64_t step = ((uint64_t)g + 1) * GOLDEN;
        for (int64_t b = 0; b < n_keys; b++) {
            double uniform = (double)(int64_t)(mixed(keys[b] + step) >> 11) * 0x1p-53;
            int64_t count = guides[(int64_t)(uniform * PLACES)];
            while (uniform >= room[count]) count++;
            sums[b] += value[count];
        }
    }
}
