/* Labels drawn from predictions, and sums over them, for many redraws in one pass over the rows.

   Each redraw has a key, and a label depends only on the key and the row; `calibrant._core.twin_draws` computes the same
   in NumPy. Every sum runs over the rows in order, for any number of redraws at a time. */
#include "random.h"

/* With more classes a label is looked up in a table of places to start from, with fewer it is compared with each. */
#define FEW_CLASSES 16
#define LEAST 1e-12

typedef int32_t Labels __attribute__((vector_size(4 * LANES), aligned(4)));

typedef struct {
    int64_t n, n_classes;
    const double *probs, *weights;
    const int64_t *top, *second, *bins;
} Rows;

/* Memory for one row: three tables of padded classes, a uniform number per redraw, and a table of `n_guides` places. */
typedef struct {
    int64_t n_guides;
    double *cumulative, *logs, *odds, *uniform;
    int64_t *guides;
} Row;

/* What is summed, for each redraw: the logarithm of the label's probability; for each class the weights and the log-odds
   of its labels; the weights of hits in each bin, (bin, redraw); and those of the second most probable class. */
typedef struct {
    double *logs, *classes, *hits, *seconds;
} Sums;

/* Write cumulative probabilities; above those of the last possible class there is nothing. Return that class. */
INLINE int64_t accumulate(const double *probs, int64_t n_classes, double *cumulative) {
    double sum = 0.0;
    int64_t last = 0;
    for (int64_t k = 0; k < n_classes; k++) {
        sum += probs[k];
        cumulative[k] = sum;
        if (probs[k] > 0.0) last = k;
    }
    cumulative[last] = 2.0;
    return last;
}

/* Write the weighted logarithms and log-odds of clipped probabilities. */
INLINE void take_logs(const double *probs, int64_t n_classes, double weight, const Row *row) {
    for (int64_t k = 0; k < n_classes; k += LANES) {
        Lanes p = repeat(0.5);
        if (k + LANES <= n_classes) p = load(probs + k);
        else
            for (int64_t i = k; i < n_classes; i++) p[i - k] = probs[i];
        Lanes log = log_lanes(larger(p, repeat(LEAST)));
        store(row->logs + k, weight * log);
        store(row->odds + k, weight * (log - log_lanes(1.0 - smaller(p, repeat(1.0 - LEAST)))));
    }
}

INLINE void draw_uniform(const uint64_t *keys, int64_t n_keys, int64_t i, double *uniform) {
    uint64_t step = ((uint64_t)i + 1) * GOLDEN;
    for (int64_t b = 0; b < n_keys; b++) uniform[b] = (double)(int64_t)(mixed(keys[b] + step) >> 11) * 0x1p-53;
}

/* The first class whose cumulative probability exceeds the uniform number; some redraws at a time stay in a register. */
INLINE void compare(const Row *row, int64_t last, int64_t n_keys, int32_t *labels) {
    int64_t whole = n_keys / LANES * LANES;
    for (int64_t b = 0; b < whole; b += LANES) {
        Lanes uniform = load(row->uniform + b);
        Bits label = {0};
        for (int64_t k = 0; k < last; k++) label -= uniform >= row->cumulative[k];
        *(Labels *)(labels + b) = __builtin_convertvector(label, Labels);
    }
    for (int64_t b = whole; b < n_keys; b++) {
        labels[b] = 0;
        for (int64_t k = 0; k < last; k++) labels[b] += row->uniform[b] >= row->cumulative[k];
    }
}

/* The same, from the first class that any number with the same leading digits may have. */
INLINE void look_up(const Row *row, int64_t n_keys, int32_t *labels) {
    double size = (double)row->n_guides;
    for (int64_t place = 0, k = 0; place < row->n_guides; place++) {
        while (row->cumulative[k] <= (double)place / size) k++;
        row->guides[place] = k;
    }
    for (int64_t b = 0; b < n_keys; b++) {
        int64_t k = row->guides[(int64_t)(row->uniform[b] * size)];
        while (row->uniform[b] >= row->cumulative[k]) k++;
        labels[b] = (int32_t)k;
    }
}

/* Draw the labels of all rows, (n, n_keys), and add what is asked for to the sums. */
EXPORT void NAME(redraw)(const Rows *rows, const uint64_t *keys, int64_t n_keys, const Row *row, const Sums *sums,
                         int32_t *labels) {
    int64_t n_classes = rows->n_classes;
    for (int64_t i = 0; i < rows->n; i++) {
        const double *probs = rows->probs + i * n_classes;
        double weight = rows->weights[i];
        int32_t *own = labels + i * n_keys, top = (int32_t)rows->top[i], second = (int32_t)rows->second[i];
        int64_t last = accumulate(probs, n_classes, row->cumulative);
        draw_uniform(keys, n_keys, i, row->uniform);
        if (n_classes > FEW_CLASSES) look_up(row, n_keys, own);
        else compare(row, last, n_keys, own);
        take_logs(probs, n_classes, weight, row);
        for (int64_t b = 0; b < n_keys; b++) {
            double *at = sums->classes + 2 * (b * n_classes + own[b]);
            at[0] += weight;
            at[1] += row->odds[own[b]];
            sums->logs[b] += row->logs[own[b]];
        }
        double *hits = sums->hits + rows->bins[i] * n_keys;
        for (int64_t b = 0; b < n_keys; b++) {
            hits[b] += own[b] == top ? weight : 0.0;
            sums->seconds[b] += own[b] == second ? weight : 0.0;
        }
    }
}

/* Number of rows at a time, one bit of a mask each. Their features stay in the cache. */
#define ROWS 64
#define MASKS 1024
/* Number of sums that stay in registers. */
#define PANEL 8

/* Add vectors of the features of those rows whose bit is set, in their order; the rows lie `step` numbers apart. */
INLINE void add_rows(uint64_t rows, const double *features, int64_t step, double *at, const int vectors) {
    Lanes sums[PANEL];
    for (int v = 0; v < vectors; v++) sums[v] = load(at + v * LANES);
    for (; rows; rows &= rows - 1) {
        const double *own = features + __builtin_ctzll(rows) * step;
        for (int v = 0; v < vectors; v++) sums[v] += load(own + v * LANES);
    }
    for (int v = 0; v < vectors; v++) store(at + v * LANES, sums[v]);
}

/* What `feature_sums` adds for at most ROWS rows and MASKS pairs of a redraw and a class, whose rows are found first: a
   sum is loaded and stored once for all of them. */
INLINE void add_by_class(const int32_t *labels, int64_t n_keys, int64_t width, const double *features, int64_t n,
                         int64_t n_classes, int64_t depth, double *sums) {
    ALIGNED double panel[ROWS * PANEL * LANES];
    uint64_t masks[MASKS];
    int64_t n_masks = width * n_classes;
    for (int64_t j = 0; j < n_masks; j++) masks[j] = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t b = 0; b < width; b++) masks[b * n_classes + labels[i * n_keys + b]] |= 1ULL << i;
    int64_t d = 0;
    for (; d + PANEL * LANES <= depth; d += PANEL * LANES) {
        /* Close together: where they are, at a power of two from row to row, they would push each other out of the cache. */
        for (int64_t i = 0; i < n; i++)
            for (int v = 0; v < PANEL; v++)
                store(panel + (i * PANEL + v) * LANES, load(features + i * depth + d + v * LANES));
        for (int64_t j = 0; j < n_masks; j++)
            if (masks[j]) add_rows(masks[j], panel, PANEL * LANES, sums + j * depth + d, PANEL);
    }
    for (; d < depth; d += LANES)
        for (int64_t j = 0; j < n_masks; j++)
            if (masks[j]) add_rows(masks[j], features + d, depth, sums + j * depth + d, 1);
}

/* Add the features of every row, (n, depth), to the sums of the class of its label, (width, n_classes, depth), for
   `width` redraws from `first` on, given labels (n, n_keys). The depth is a multiple of LANES. Both methods add the rows
   in order. */
EXPORT void NAME(feature_sums)(const int32_t *labels, int64_t n_keys, int64_t first, int64_t width,
                               const double *features, int64_t n, int64_t n_classes, int64_t depth, double *sums) {
    if (n_classes <= FEW_CLASSES) {
        int64_t together = MASKS / n_classes;
        for (int64_t i = 0; i < n; i += ROWS)
            for (int64_t b = 0; b < width; b += together)
                add_by_class(labels + i * n_keys + first + b, n_keys, smallest(together, width - b),
                             features + i * depth, smallest(ROWS, n - i), n_classes, depth,
                             sums + b * n_classes * depth);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const double *feature = features + i * depth;
        const int32_t *own = labels + i * n_keys + first;
        for (int64_t b = 0; b < width; b++) {
            double *at = sums + (b * n_classes + own[b]) * depth;
            UNROLLED
            for (int64_t d = 0; d < depth; d += LANES) store(at + d, load(at + d) + load(feature + d));
        }
    }
}

/* The squared distance of the sums of each redraw, (n_keys, size), from the means. */
EXPORT void NAME(squared_gaps)(const double *sums, int64_t n_keys, const double *means, int64_t size, double *errors) {
    for (int64_t b = 0; b < n_keys; b++) {
        Lanes sum = repeat(0.0);
        for (int64_t d = 0; d < size; d += LANES) {
            Lanes gap = load(sums + b * size + d) - load(means + d);
            sum += gap * gap;
        }
        errors[b] = total(sum);
    }
}
