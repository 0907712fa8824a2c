/* Sums of the Beta kernel, term by term, and the interpolation of sums at the points of boxes to their rows. */
#include "line.h"

/* The kernels of the sources: log K = a log z + c log (1 - z) + constant, with room for LANES more. */
typedef struct {
    const double *a, *c, *constant;
} Kernels;

/* Add the sums at targets start..end - 1, with log z and log (1 - z), over the sources within reach of each. */
EXPORT void NAME(beta_sums)(const Kernels *kernels, const Strip *strip, const double *log_z, const double *log_rest,
                                const int64_t *within, int64_t leave_out, int64_t start, int64_t end) {
    for (int64_t i = start; i < end; i++) {
        Lanes so_far = repeat(0.0);
        int64_t last = within[2 * i + 1];
        for (int64_t j = within[2 * i]; j < last; j += LANES) {
            Lanes exponent = load(kernels->a + j) * log_z[i] + load(kernels->c + j) * log_rest[i];
            Lanes values = exp_lanes(exponent + load(kernels->constant + j));
            so_far = add_charges(so_far, counted(values, j, last, leave_out ? i : -1), strip, j);
        }
        add_to_row(strip, i, so_far);
    }
}

/* Add the polynomials of the boxes to their rows, less each row's charge times its own kernel, if that is given. */
EXPORT void NAME(interpolate)(const double *x, const Boxes *boxes, const double *local, const double *own, int64_t has_own,
                                  const Strip *strip) {
    for (int64_t box = 0; box < boxes->occupied; box++, local += MOST_TERMS * LANES) {
        for (int64_t i = boxes->starts[box]; i < boxes->starts[box + 1]; i++) {
            Lanes value = polynomial(local, MOST_TERMS, (x[i] - boxes->centres[box]) * boxes->scales[box]);
            if (has_own) value -= load(strip->charges + i * strip->width) * own[i];
            add_to_row(strip, i, value);
        }
    }
}
