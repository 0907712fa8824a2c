/* Pair sums for one predicted probability and the exponential kernel, exactly, in one pass over sorted rows: with the
   kernel `decay` between neighbours, s_i = (s_{i-1} + a_{i-1}) decay_i is the sum over all rows before i. */
#include "lanes.h"

#define CHUNK 4096
#define MOST_COLUMNS 64

/* Write the sum over pairs i < j of r_i r_j times the kernel, chunk by chunk of i. */
EXPORT void NAME(sorted_sum)(const int64_t *order, const double *decay, const double *r, int64_t n, double *sums) {
    double before = 0.0, last = 0.0;
    for (int64_t start = 0; start < n; start += CHUNK) {
        double subtotal = 0.0;
        for (int64_t i = start; i < smallest(start + CHUNK, n); i++) {
            before = (before + last) * decay[i];
            last = r[order[i]];
            subtotal += before * last;
        }
        *sums++ = subtotal;
    }
}

/* Write the sum of H_ij w_j over all j != i, given a_j = r_j w_j, for every row i. */
EXPORT void NAME(sorted_rows)(const int64_t *order, const double *decay, const double *r, const double *a, int64_t n,
                              double *out) {
    double side = 0.0, last = 0.0, factor = 0.0;
    for (int64_t i = 0; i < n; i++) {
        side = (side + last) * decay[i];
        last = a[order[i]];
        out[order[i]] = side;
    }
    side = last = 0.0;
    for (int64_t i = n - 1; i >= 0; i--) {
        int64_t row = order[i];
        side = (side + last) * factor;
        factor = decay[i], last = a[row];
        out[row] = (out[row] + side) * r[row];
    }
}

/* Write H @ block, the diagonal of H set to zero, for `width` columns from `first` on; both blocks have `columns`. */
EXPORT void NAME(sorted_product)(const int64_t *order, const double *decay, const double *r, int64_t n,
                                     const double *block, double *out, int64_t columns, int64_t first, int64_t width) {
    double side[MOST_COLUMNS] = {0.0}, last[MOST_COLUMNS] = {0.0}, factor = 0.0;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = order[i];
        const double *from = block + row * columns + first;
        double *to = out + row * columns + first, own = r[row];
        factor = decay[i];
        for (int64_t c = 0; c < width; c++) {
            side[c] = (side[c] + last[c]) * factor;
            to[c] = side[c];
            last[c] = own * from[c];
        }
    }
    for (int64_t c = 0; c < width; c++) side[c] = last[c] = 0.0;
    factor = 0.0;
    for (int64_t i = n - 1; i >= 0; i--) {
        int64_t row = order[i];
        const double *from = block + row * columns + first;
        double *to = out + row * columns + first, own = r[row];
        for (int64_t c = 0; c < width; c++) {
            side[c] = (side[c] + last[c]) * factor;
            to[c] = (to[c] + side[c]) * own;
            last[c] = own * from[c];
        }
        factor = decay[i];
    }
}
