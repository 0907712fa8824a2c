/* Sums of events and of weights over the rows of other folds, by which a bandwidth is chosen.

   This is the summation of line.c for the Gaussian, where every row needs only the sums over the rows outside its own
   fold. So a kernel value serves all folds, and a row evaluates two of the polynomials of a box. */
#include "line.h"

#define TERMS MOST_TERMS
/* Number of polynomials, padded with zeros to whole registers. */
#define PADDED 16
#define MOST_FOLDS 8

/* The fold, weight, and weight times outcome of every row in increasing order, with room for LANES more; matrices of
   TERMS rows of PADDED numbers, otherwise as in Sources; and room for the moments of all boxes. */
typedef struct {
    int64_t n_folds;
    const double *fold, *weights, *hits, *translations;
    double *moments;
} Folds;

typedef struct {
    double hits, mass;
} Sums;

INLINE void write_polynomials(double *t, double s) {
    double before = s, now = 1.0;
    for (int k = 0; k < TERMS; k++) {
        t[k] = now;
        double next = 2.0 * s * now - before;
        before = now;
        now = next;
    }
}

/* Write the moments of one box by fold: of the events, and of the weights, outside the fold. */
static void collect_outside(const Sources *sources, const Folds *folds, int64_t box, double *moments) {
    ALIGNED double inside[MOST_FOLDS * 2 * PADDED] = {0.0}, t[PADDED] = {0.0};
    double centre = sources->boxes.centres[box], scale = sources->boxes.scales[box];
    for (int64_t i = sources->boxes.starts[box]; i < sources->boxes.starts[box + 1]; i++) {
        double *own = inside + (int64_t)folds->fold[i] * 2 * PADDED;
        write_polynomials(t, (sources->x[i] - centre) * scale);
        for (int k = 0; k < PADDED; k += LANES) {
            store(own + k, load(own + k) + load(t + k) * folds->hits[i]);
            store(own + PADDED + k, load(own + PADDED + k) + load(t + k) * folds->weights[i]);
        }
    }
    for (int64_t f = 0; f < folds->n_folds; f++)
        for (int k = 0; k < 2 * PADDED; k += LANES) {
            Lanes sum = repeat(0.0); /* Added up, not subtracted from the total: nothing cancels. */
            for (int64_t g = 0; g < folds->n_folds; g++)
                if (g != f) sum += load(inside + g * 2 * PADDED + k);
            store(moments + f * 2 * PADDED + k, sum);
        }
}

/* Add to the local coefficients of one fold what a box contributes. */
INLINE void add_outside(double *local, const double *matrix, const double *moments) {
    Lanes hits[PADDED / LANES], mass[PADDED / LANES];
    for (int k = 0; k < PADDED / LANES; k++) hits[k] = load(local + k * LANES), mass[k] = load(local + PADDED + k * LANES);
    for (int m = 0; m < TERMS; m++)
        for (int k = 0; k < PADDED / LANES; k++) {
            Lanes factor = load(matrix + m * PADDED + k * LANES);
            hits[k] += factor * moments[m];
            mass[k] += factor * moments[PADDED + m];
        }
    for (int k = 0; k < PADDED / LANES; k++) store(local + k * LANES, hits[k]), store(local + PADDED + k * LANES, mass[k]);
}

/* Write the local polynomials of a target box by fold: the sums over all boxes within reach. */
static void expand_outside(const Sources *sources, const Folds *folds, const Plan *plan, int64_t t, double *local) {
    int64_t size = folds->n_folds * 2 * PADDED;
    for (int64_t k = 0; k < size; k++) local[k] = 0.0;
    for (int64_t extended = plan->whole[2 * t]; extended < plan->whole[2 * t + 1]; extended++) {
        int64_t which = translation(sources, plan->boxes.ids[t], extended);
        const double *matrix = folds->translations + which * TERMS * PADDED;
        const double *moments = folds->moments + extended_row(sources->boxes.occupied, extended) * size;
        for (int64_t f = 0; f < size; f += 2 * PADDED) add_outside(local + f, matrix, moments + f);
    }
}

INLINE Sums at_place(const double *local, double s) {
    ALIGNED double t[PADDED] = {0.0};
    Lanes hits = repeat(0.0), mass = hits;
    write_polynomials(t, s);
    for (int k = 0; k < PADDED; k += LANES) {
        hits += load(t + k) * load(local + k);
        mass += load(t + k) * load(local + PADDED + k);
    }
    return (Sums){total(hits), total(mass)};
}

typedef struct {
    const Folds *folds;
    double own;
} Outside;

/* Add the rows of other folds. */
INLINE EventSums add_others(EventSums so_far, Lanes values, int64_t first, const void *context) {
    const Outside *outside = context;
    Lanes apart = absolute(load(outside->folds->fold + first) - outside->own);
    values = if_less(apart, repeat(0.5), repeat(0.0), values);
    so_far.all += values * load(outside->folds->weights + first);
    so_far.events += values * load(outside->folds->hits + first);
    return so_far;
}

static Sums outside_directly(const Sources *sources, const Folds *folds, const Plan *plan, int64_t t, int64_t i) {
    Outside outside = {folds, folds->fold[i]};
    EventSums found = sum_directly(sources, GAUSSIAN, plan, t, i, add_others, &outside);
    return (Sums){total(found.events), total(found.all)};
}

/* Write the sums of every row, (2, n): events, then weights. */
EXPORT void NAME(held_out)(const Sources *sources, const Folds *folds, const Plan *plan, double *out) {
    ALIGNED double local[MOST_FOLDS * 2 * PADDED];
    const Boxes *boxes = &plan->boxes;
    for (int64_t box = 0; box < boxes->occupied; box++)
        collect_outside(sources, folds, box, folds->moments + box * folds->n_folds * 2 * PADDED);
    for (int64_t t = 0; t < boxes->occupied; t++) {
        int directly = plan->way[t] == DIRECTLY;
        if (!directly) expand_outside(sources, folds, plan, t, local);
        for (int64_t i = boxes->starts[t]; i < boxes->starts[t + 1]; i++) {
            const double *own = local + (int64_t)folds->fold[i] * 2 * PADDED;
            double s = (plan->x[i] - boxes->centres[t]) * boxes->scales[t];
            Sums sums = directly ? outside_directly(sources, folds, plan, t, i) : at_place(own, s);
            out[i] = sums.hits;
            out[sources->n + i] = sums.mass;
        }
    }
}
