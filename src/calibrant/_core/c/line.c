/* Kernel sums of a range of targets, the work of a thread in one call. See calibrant._core.line for the mathematics. */
#include "line.h"

/* Write the moments of all boxes, by box, polynomial and lane. */
INLINE void collect(const double *x, const Boxes *boxes, const double *charges, int64_t width, int terms,
                    double *moments) {
    for (int64_t box = 0; box < boxes->occupied; box++, moments += terms * LANES) {
        double centre = boxes->centres[box], scale = boxes->scales[box];
        int64_t end = boxes->starts[box + 1];
        for (int k = 0; k < terms; k++) store(moments + k * LANES, repeat(0.0));
        for (int64_t first = boxes->starts[box]; first < end; first += ROWS_PER_SUM) {
            Lanes partial[MOST_TERMS];
            for (int k = 0; k < terms; k++) partial[k] = repeat(0.0);
            for (int64_t i = first; i < smallest(first + ROWS_PER_SUM, end); i++) {
                double s = (x[i] - centre) * scale, before = s, now = 1.0;
                Lanes charge = load(charges + i * width);
                for (int k = 0; k < terms; k++) {
                    partial[k] += charge * now;
                    double next = 2.0 * s * now - before;
                    before = now;
                    now = next;
                }
            }
            for (int k = 0; k < terms; k++) store(moments + k * LANES, load(moments + k * LANES) + partial[k]);
        }
    }
}

EXPORT void NAME(collect)(const double *x, const Boxes *boxes, const double *charges, int64_t width, int64_t terms,
                              double *moments) {
    if (terms == 14) collect(x, boxes, charges, width, 14, moments);
    else if (terms == 8) collect(x, boxes, charges, width, 8, moments);
    else collect(x, boxes, charges, width, 4, moments);
}

INLINE EventSums add_charged(EventSums so_far, Lanes values, int64_t first, const void *strip) {
    so_far.all = add_charges(so_far.all, values, strip, first);
    return so_far;
}

static Lanes sum_charges(const Sources *sources, const Strip *strip, const Plan *plan, int64_t t, int64_t i) {
    return sum_directly(sources, sources->code, plan, t, i, add_charged, strip).all;
}

/* Add the polynomial of a target box to its rows first..last - 1, less each row's own term if it is left out. */
INLINE void sum_box(const Sources *sources, const Strip *strip, const Plan *plan, int64_t t, int64_t first, int64_t last,
                    int terms) {
    double centre = plan->boxes.centres[t], scale = plan->boxes.scales[t];
    ALIGNED double local[MOST_TERMS * LANES];
    expand(sources, strip->moments, plan, t, terms, 1, local);
    for (int64_t i = first; i < last; i++) {
        Lanes value = polynomial(local, terms, (plan->x[i] - centre) * scale);
        if (plan->way[t] == BY_OTHER_BOXES) value += sum_charges(sources, strip, plan, t, i);
        else if (plan->leave_out) value -= load(strip->charges + i * strip->width) * plan->own[i];
        add_to_row(strip, i, value);
    }
}

INLINE double extended_position(const Sources *sources, int64_t extended) {
    double x = sources->x[extended_row(sources->n, extended)];
    return extended < 0 ? -x : extended >= sources->n ? 2.0 - x : x;
}

/* The sum over all sources of a window, given their moments about its end, at the place x of a target. */
INLINE Lanes sum_window(const Lanes *moments, const double *edge, int degree, double x) {
    Lanes value = repeat(0.0);
    for (int r = 0; r <= degree; r++) {
        const double *g = edge + r * (degree + 1);
        double factor = g[degree - r];
        for (int power = degree - r - 1; power >= 0; power--) factor = factor * x + g[power];
        value += moments[r] * factor;
    }
    return value;
}

/* Add what lies beyond the whole boxes, to the right (sign 1) or to the left (sign -1). The window's end only ever moves
   over more sources, and starts anew with the next target box: nothing cancels and nothing drifts. */
INLINE void sweep(const Sources *sources, const Strip *strip, const Plan *plan, int64_t t, int64_t first, int64_t last,
                  int sign, int degree) {
    int64_t n = sources->n, images = sources->reflect ? n : 0;
    int64_t i = sign > 0 ? first : last - 1;
    int64_t extended = sign > 0 ? plan->whole_rows[2 * t + 1] : plan->whole_rows[2 * t] - 1;
    int64_t limit = sign > 0 ? n + images : -images - 1;
    double centre = plan->boxes.centres[t], scale = sign * sources->per_bandwidth;
    Lanes moments[MOST_TERMS];
    for (int r = 0; r <= degree; r++) moments[r] = repeat(0.0);
    for (int64_t count = last - first; count > 0; count--, i += sign) {
        double x = (plan->x[i] - centre) * scale;
        for (; extended != limit; extended += sign) {
            double z = (extended_position(sources, extended) - centre) * scale - 1.0;
            if (z >= x) break;
            Lanes power = load(strip->charges + extended_row(n, extended) * strip->width);
            for (int r = 0; r <= degree; r++) {
                moments[r] += power;
                power *= z;
            }
        }
        add_to_row(strip, i, sum_window(moments, sources->edge, degree, x));
    }
}

INLINE void evaluate(const Sources *sources, const Strip *strip, const Plan *plan, int64_t start, int64_t end, int terms,
                     int degree) {
    const int64_t *starts = plan->boxes.starts;
    int64_t t = 0;
    for (int64_t low = 0, high = plan->boxes.occupied; low < high;) { /* the last box that starts at or before start */
        int64_t middle = (low + high) / 2;
        if (starts[middle] <= start) t = middle, low = middle + 1;
        else high = middle;
    }
    for (; t < plan->boxes.occupied && starts[t] < end; t++) {
        int64_t first = largest(starts[t], start), last = smallest(starts[t + 1], end);
        if (plan->way[t] == DIRECTLY) {
            for (int64_t i = first; i < last; i++) add_to_row(strip, i, sum_charges(sources, strip, plan, t, i));
            continue;
        }
        sum_box(sources, strip, plan, t, first, last, terms);
        if (degree > 0) {
            sweep(sources, strip, plan, t, first, last, 1, degree);
            sweep(sources, strip, plan, t, first, last, -1, degree);
        }
    }
}

/* Add the sums at the targets start..end - 1 to the strip's. */
EXPORT void NAME(line_sums)(const Sources *sources, const Strip *strip, const Plan *plan, int64_t start,
                                int64_t end) {
    if (sources->terms == 14) evaluate(sources, strip, plan, start, end, 14, 0);
    else if (sources->terms == 8) evaluate(sources, strip, plan, start, end, 8, 6);
    else evaluate(sources, strip, plan, start, end, 4, 2);
}

/* Write `width` columns from `first` on, row by row in the given order, `step` numbers apart, of which the others are 0;
   and LANES more rows of zeros. */
EXPORT void NAME(pack)(const Matrix *charges, const int64_t *order, int64_t n, int64_t first, int64_t width, int64_t step,
                       double *packed) {
    for (int64_t i = 0; i < n; i++) {
        const double *from = (const double *)charges->at + order[i] * charges->row + first * charges->column;
        for (int64_t column = 0; column < width; column++) packed[i * step + column] = from[column * charges->column];
        for (int64_t column = width; column < step; column++) packed[i * step + column] = 0.0;
    }
    for (int64_t i = 0; i < LANES * step + LANES; i++) packed[n * step + i] = 0.0;
}

/* Write sums in the original order of the rows, into a matrix with the given number of columns. */
EXPORT void NAME(unpack)(const double *sums, const int64_t *order, int64_t n, int64_t first, int64_t width,
                             int64_t columns, double *result) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t column = 0; column < width; column++)
            result[order[i] * columns + first + column] = sums[i * width + column];
}

/* Write weights times outcomes, then weights, for the rows in increasing order. */
EXPORT void NAME(pack_weights)(const Matrix *weights, const double *outcomes, const int64_t *order, int64_t n,
                                   int64_t first, int64_t width, double *packed) {
    for (int64_t i = 0; i < n; i++) {
        const double *from = (const double *)weights->at + order[i] * weights->row + first * weights->column;
        double *to = packed + 2 * width * i;
        for (int64_t column = 0; column < width; column++) {
            double weight = from[column * weights->column];
            to[column] = weight * outcomes[i];
            to[width + column] = weight;
        }
    }
    for (int64_t i = 0; i < 2 * LANES * width + LANES; i++) packed[2 * n * width + i] = 0.0;
}

/* Write the weights of the rows in increasing order where the event happened, and 0 elsewhere. */
EXPORT void NAME(pack_hits)(const Matrix *hits, const double *weights, const int64_t *order, int64_t n, int64_t first,
                                int64_t width, double *packed) {
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *from = (const uint8_t *)hits->at + order[i] * hits->row + first * hits->column;
        for (int64_t column = 0; column < width; column++)
            packed[i * width + column] = from[column * hits->column] ? weights[i] : 0.0;
    }
    for (int64_t i = 0; i < LANES * width + LANES; i++) packed[n * width + i] = 0.0;
}
