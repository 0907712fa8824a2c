/* Isotonic regression by pooling neighbours in the wrong order. See `calibrant._core.isotonic`. */
#include "lanes.h"

/* Write where the blocks of equal values start, (n + 1,) with n after the last of them, and their means, sums and masses,
   each (n,). A block of one keeps its value to the last digit. */
EXPORT void NAME(isotonic)(const double *y, const double *weights, int64_t n, int64_t *starts, double *means,
                           double *sums, double *masses, int64_t *n_blocks) {
    int64_t top = 0; /* blocks so far, with increasing means */
    for (int64_t i = 0; i < n; i++) {
        int64_t start = i;
        double mean = y[i], mass = weights[i], sum = y[i] * weights[i];
        while (top > 0 && means[top - 1] >= mean) {
            top--;
            start = starts[top];
            sum += sums[top];
            mass += masses[top];
            mean = sum / mass;
        }
        starts[top] = start;
        means[top] = mean;
        sums[top] = sum;
        masses[top++] = mass;
    }
    starts[top] = n;
    *n_blocks = top;
}
