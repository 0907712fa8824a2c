/* Distances of all pairs of rows. Columns come in panels, class by class, as `calibrant._core.distances` packs them. */
#include "lanes.h"

#define PER_PANEL 4

INLINE void distances(int squared, const double *rows, const double *panels, int64_t n, int64_t n_panels, int64_t depth,
                      double *out) {
    int64_t width = PER_PANEL * LANES;
    for (int64_t panel = 0; panel < n_panels; panel++, panels += depth * width) {
        for (int64_t i = 0; i < n; i++) {
            const double *row = rows + i * depth, *at = panels;
            Lanes sums[PER_PANEL];
            for (int c = 0; c < PER_PANEL; c++) sums[c] = repeat(0.0);
            for (int64_t k = 0; k < depth; k++, at += width)
                for (int c = 0; c < PER_PANEL; c++) {
                    Lanes gap = load(at + c * LANES) - row[k];
                    sums[c] += squared ? gap * gap : absolute(gap);
                }
            for (int c = 0; c < PER_PANEL; c++) store(out + (i * n_panels + panel) * width + c * LANES, sums[c]);
        }
    }
}

/* Write the sum over classes of |x - y|, or of its square, for every row and every column, (n, n_panels * width). */
EXPORT void NAME(distances)(int64_t squared, const double *rows, const double *panels, int64_t n, int64_t n_panels,
                            int64_t depth, double *out) {
    if (squared) distances(1, rows, panels, n, n_panels, depth, out);
    else distances(0, rows, panels, n, n_panels, depth, out);
}
