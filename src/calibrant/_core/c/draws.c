/* Bootstrap samples as counts: how often each row is drawn. The random numbers are those of SplitMix64, seeded by a key
   for each sample; `calibrant._core.twin_draws` computes the same in NumPy. */
#include "random.h"

#include <string.h>

/* Number of samples counted before they are written as columns, because writing passes through all pages of the counts. */
#define TOGETHER 32

/* Number of rows drawn before they are counted: drawing by itself uses whole registers. */
#define DRAWN 512

/* The bits times n / 2^64, rounded down: one of fewer than 2^32 rows. */
INLINE uint64_t row_of(uint64_t bits, uint64_t n) {
    return ((bits >> 32) * n + (((bits & 0xffffffffULL) * n) >> 32)) >> 32;
}

/* Write samples as columns; faster if their number is a compile-time constant. */
INLINE void write(const uint16_t *room, int64_t n, int64_t together, double *counts, int64_t step) {
    for (int64_t row = 0; row < n; row++)
        for (int64_t sample = 0; sample < together; sample++) counts[row * step + sample] = room[n * sample + row];
}

/* Write how often each of n rows occurs in each of n_keys samples of n, (n, n_keys); `room` holds n counts of
   TOGETHER samples, or of all of them. */
EXPORT void NAME(draw_counts)(const uint64_t *keys, int64_t n_keys, int64_t n, uint16_t *room, double *counts) {
    for (int64_t first = 0; first < n_keys; first += TOGETHER) {
        int64_t together = smallest(TOGETHER, n_keys - first);
        memset(room, 0, sizeof(uint16_t) * (size_t)(n * together));
        for (int64_t sample = 0; sample < together; sample++) {
            uint64_t state = keys[first + sample];
            uint16_t *counted = room + n * sample;
            for (int64_t start = 0; start < n; start += DRAWN, state += DRAWN * GOLDEN) {
                uint32_t rows[DRAWN];
                int64_t drawn = smallest(DRAWN, n - start);
                for (int64_t i = 0; i < drawn; i++)
                    rows[i] = (uint32_t)row_of(mixed(state + (uint64_t)(i + 1) * GOLDEN), (uint64_t)n);
                for (int64_t i = 0; i < drawn; i++) counted[rows[i]]++;
            }
        }
        if (together == TOGETHER) write(room, n, TOGETHER, counts + first, n_keys);
        else write(room, n, together, counts + first, n_keys);
    }
}
