/* Sums in bins of about equal width, in one pass over the values. `last` holds the largest value of every bin but the
   last one: the bin of a value is the number of these below it. See `calibrant._core.bins`. */
#include "line.h"

/* The product is off by one where a value is at an edge, and by more if the bins are of other widths. */
INLINE int64_t bin_of(double value, const double *last, int64_t n_bins) {
    int64_t bin = smallest(largest((int64_t)(value * (double)n_bins), 0), n_bins - 1);
    while (bin > 0 && value <= last[bin - 1]) bin--;
    while (bin < n_bins - 1 && value > last[bin]) bin++;
    return bin;
}

/* Write the bin of every value. */
EXPORT void NAME(bin_index)(const Matrix *values, const double *last, int64_t n, int64_t n_bins, int64_t *index) {
    const double *at = values->at;
    for (int64_t i = 0; i < n; i++) index[i] = bin_of(at[i * values->row], last, n_bins);
}

/* Write the sums of weights, of weighted values and of weighted labels, 0 or 1, by bin: (3, n_bins). */
EXPORT void NAME(bin_sums)(const Matrix *values, const double *weights, const int64_t *labels, const double *last,
                           int64_t n, int64_t n_bins, double *sums) {
    const double *at = values->at;
    for (int64_t i = 0; i < 3 * n_bins; i++) sums[i] = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double value = at[i * values->row], weight = weights[i];
        double *to = sums + bin_of(value, last, n_bins);
        to[0] += weight;
        to[n_bins] += weight * value;
        to[2 * n_bins] += weight * (double)labels[i];
    }
}

/* Write the sums of weights and of weighted values by column and bin, (columns, 2, n_bins), of a matrix of values. */
EXPORT void NAME(bin_columns)(const Matrix *values, const double *weights, const double *last, int64_t n,
                              int64_t columns, int64_t n_bins, double *sums) {
    for (int64_t i = 0; i < 2 * columns * n_bins; i++) sums[i] = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double *at = (const double *)values->at + i * values->row;
        for (int64_t column = 0; column < columns; column++) {
            double value = at[column * values->column];
            double *to = sums + 2 * n_bins * column + bin_of(value, last, n_bins);
            to[0] += weights[i];
            to[n_bins] += weights[i] * value;
        }
    }
}
