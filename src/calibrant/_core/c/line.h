/* Kernel sums over sorted rows in [0, 1]: what the routines for one dimension share.

   Rows lie in boxes at most half a bandwidth wide. Images in the mirrors at 0 and 1 are never stored: an extended number
   runs from -n to 2n over the image at 0 (in reverse), the n things themselves, and the image at 1 (in reverse). */
#ifndef CALIBRANT_LINE_H
#define CALIBRANT_LINE_H

#include "lanes.h"

/* Chebyshev polynomials of the kernel with the most of them. */
#define MOST_TERMS 14
/* Rows per partial sum: the rounding error of one long sum would grow with the number of its terms. */
#define ROWS_PER_SUM 1024

enum { GAUSSIAN, TRIWEIGHT, EPANECHNIKOV };

/* How the sums of a target box are made: by boxes, by boxes but its own, or term by term. */
enum { BY_BOXES, BY_OTHER_BOXES, DIRECTLY };

/* The occupied ones of `n_boxes` equal boxes: where their rows start, their numbers, centres and 1 / half widths. */
typedef struct {
    int64_t occupied, n_boxes;
    const int64_t *starts, *ids;
    const double *centres, *scales;
} Boxes;

/* The n rows that sums run over, in increasing order (with room for LANES more), and the kernel. `reach` counts boxes;
   `translations` holds terms x terms matrices by mirrored or not and offset, `edge` the polynomials of a window's end. */
typedef struct {
    int64_t n, reflect, code, terms, degree, reach;
    double per_bandwidth;
    const double *x, *translations, *edge;
    Boxes boxes;
} Sources;

/* Targets in increasing order, and how the sums of each of their boxes are computed, in extended numbers: `whole` are the
   source boxes fully in reach (from, up to), `whole_rows` their rows, `rows` all rows in reach, `way` how the sums are
   computed. If `leave_out`, the targets are the sources, each leaves itself out, and `own` is the kernel between a row and
   itself plus its images. */
typedef struct {
    int64_t leave_out;
    const double *x, *own;
    const int64_t *whole, *whole_rows, *rows, *way;
    Boxes boxes;
} Plan;

/* Up to LANES columns: charges, moments of the boxes, and sums, in increasing order of the rows. The columns lie side by
   side, `width` of them; a load of charges reads on into the next rows, and these lanes are dropped. */
typedef struct {
    int64_t width;
    const double *charges;
    double *moments, *out;
} Strip;

/* A matrix in memory, with the steps from row to row and from column to column. */
typedef struct {
    const void *at;
    int64_t row, column;
} Matrix;

INLINE int64_t extended_row(int64_t n, int64_t extended) {
    return extended < 0 ? -1 - extended : extended >= n ? 2 * n - 1 - extended : extended;
}

INLINE Lanes kernel_at(int64_t code, Lanes u) {
    if (code == GAUSSIAN) return exp_lanes(u * u * -0.5);
    Lanes base = larger(1.0 - u * u, repeat(0.0));
    return code == EPANECHNIKOV ? base : base * base * base;
}

/* Kernel values of up to LANES rows from `first`: those from `last` on, and the row `skip`, count nothing. */
INLINE Lanes counted(Lanes values, int64_t first, int64_t last, int64_t skip) {
    if (first <= skip && skip < first + LANES) values[skip - first] = 0.0;
    for (int64_t lane = largest(last - first, 0); lane < LANES; lane++) values[lane] = 0.0;
    return values;
}

/* Which of the matrices takes the moments of a source box, given by its extended number, to a target box. */
INLINE int64_t translation(const Sources *sources, int64_t target_id, int64_t extended) {
    const Boxes *boxes = &sources->boxes;
    int64_t source = extended_row(boxes->occupied, extended), reach = sources->reach;
    if (extended == source) return target_id - boxes->ids[source] + reach;
    int64_t image = (extended < 0 ? -1 : 2 * boxes->n_boxes - 1) - boxes->ids[source];
    return target_id - image + reach + 2 * reach + 1;
}

INLINE void add_to_row(const Strip *strip, int64_t row, Lanes value) {
    double *at = strip->out + row * strip->width;
    if (strip->width == LANES) store(at, load(at) + value);
    else
        for (int64_t column = 0; column < strip->width; column++) at[column] += value[column];
}

/* Add charges times kernel values of up to LANES rows from `first`. */
INLINE Lanes add_charges(Lanes so_far, Lanes values, const Strip *strip, int64_t first) {
    Lanes other = repeat(0.0);
    for (int lane = 0; lane < LANES; lane += 2) {
        const double *at = strip->charges + (first + lane) * strip->width;
        so_far += load(at) * values[lane];
        other += load(at + strip->width) * values[lane + 1];
    }
    return so_far + other;
}

/* One sum or two: over all rows, and over those with an event. */
typedef struct {
    Lanes all, events;
} EventSums;

/* Adds what up to LANES rows from `first` contribute, given their kernel values. */
typedef EventSums Adding(EventSums so_far, Lanes values, int64_t first, const void *context);

/* The sums at row i of target box t, term by term: over all rows and images in reach, or over those of its own box. */
INLINE EventSums sum_directly(const Sources *sources, int64_t code, const Plan *plan, int64_t t, int64_t i,
                              Adding *add, const void *context) {
    const int64_t *own = plan->way[t] == BY_OTHER_BOXES ? plan->boxes.starts + t : (int64_t[]){0, sources->n};
    int64_t low = plan->rows[2 * t], high = plan->rows[2 * t + 1], end = 2 * sources->n, skip = plan->leave_out ? i : -1;
    /* Images at 0, rows, images at 1: at mirror + sign * position. */
    const int64_t firsts[3] = {-high, low, end - high}, lasts[3] = {-low, high, end - low};
    const double signs[3] = {-1.0, 1.0, -1.0}, mirrors[3] = {0.0, 0.0, 2.0};
    EventSums so_far = {repeat(0.0), repeat(0.0)};
    UNROLLED
    for (int part = 0; part < 3; part++) {
        int64_t last = smallest(lasts[part], own[1]);
        for (int64_t j = largest(firsts[part], own[0]); j < last; j += LANES) {
            Lanes u = (load(sources->x + j) * signs[part] + (mirrors[part] - plan->x[i])) * sources->per_bandwidth;
            so_far = add(so_far, counted(kernel_at(code, u), j, last, skip), j, context);
        }
    }
    return so_far;
}

/* Add to the local coefficients what one box contributes; two rows and two columns at a step keep the adders busy. */
INLINE void add_box(double *local, const double *matrix, const double *moments, int terms) {
    for (int k = 0; k < terms; k += 2) {
        Lanes a = load(local + k * LANES), b = load(local + (k + 1) * LANES), c = repeat(0.0), d = c;
        for (int m = 0; m < terms; m += 2) {
            Lanes x = load(moments + m * LANES), y = load(moments + (m + 1) * LANES);
            const double *at = matrix + m * terms + k;
            a += x * at[0], b += x * at[1];
            c += y * at[terms], d += y * at[terms + 1];
        }
        store(local + k * LANES, a + c);
        store(local + (k + 1) * LANES, b + d);
    }
}

/* The same for two vectors of columns side by side. */
INLINE void add_box_of_pairs(double *local, const double *matrix, const double *moments, int terms) {
    for (int k = 0; k < terms; k += 2) {
        Lanes sums[2][2];
        for (int c = 0; c < 4; c++) sums[c / 2][c % 2] = load(local + (2 * k + c) * LANES);
        for (int m = 0; m < terms; m++) {
            Lanes x = load(moments + 2 * m * LANES), y = load(moments + (2 * m + 1) * LANES);
            for (int c = 0; c < 2; c++) {
                sums[c][0] += x * matrix[m * terms + k + c];
                sums[c][1] += y * matrix[m * terms + k + c];
            }
        }
        for (int c = 0; c < 4; c++) store(local + (2 * k + c) * LANES, sums[c / 2][c % 2]);
    }
}

/* Write the local polynomials of a target box, for one vector of columns or two: the sums over the whole boxes, perhaps
   but its own. */
INLINE void expand(const Sources *sources, const double *moments, const Plan *plan, int64_t t, int terms, int vectors,
                   double *local) {
    int64_t skip = plan->way[t] == BY_OTHER_BOXES ? t : -1, size = terms * vectors * LANES;
    for (int64_t k = 0; k < size; k += LANES) store(local + k, repeat(0.0));
    for (int64_t extended = plan->whole[2 * t]; extended < plan->whole[2 * t + 1]; extended++) {
        int64_t source = extended_row(sources->boxes.occupied, extended);
        if (source == skip) continue;
        const double *matrix = sources->translations + translation(sources, plan->boxes.ids[t], extended) * terms * terms;
        if (vectors == 1) add_box(local, matrix, moments + source * size, terms);
        else add_box_of_pairs(local, matrix, moments + source * size, terms);
    }
}

/* The value at place s of a polynomial, by Clenshaw's recurrence. */
INLINE Lanes polynomial(const double *coefficients, int terms, double s) {
    Lanes after = repeat(0.0), now = after;
    for (int k = terms - 1; k > 0; k--) {
        Lanes next = now * (2.0 * s) + (load(coefficients + k * LANES) - after);
        after = now;
        now = next;
    }
    return now * s + (load(coefficients) - after);
}

#endif
