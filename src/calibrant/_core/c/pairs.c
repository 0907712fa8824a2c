/* Reductions of H_ij = kappa(d(P_i, P_j)) <A_i, B_j> over rectangles, tile by tile, never stored as a whole.

   A tile of up to TILE x TILE pairs is made in the cache: distances, kernel, products of residuals. Rows come as they
   are, four at a time; columns come in panels of PANEL, class by class, so that the inner loop over classes loads a panel
   once for four rows and keeps its eight sums in registers. Every reduction is a function of a finished tile. */
#include "lanes.h"

/* Two tiles fit the first-level cache. */
#define TILE 48
#define PANEL (2 * LANES)
/* Classes are taken in slices of this length, so that a slice of a panel stays in the first-level cache. */
#define SLICE 256
/* Rows of a tile that share a strip of STRIP columns: of 32 registers of eight lanes 28 are used, of 16 narrower ones 11,
   as compilers do not manage with all of them. */
#define GROUP (LANES == 8 ? 8 : 4)
#define VECTORS (LANES == 8 ? 3 : 2)
#define STRIP (VECTORS * LANES)

/* Rows and columns of `depth` numbers each, padded with zeros to whole panels: rows one after the other, columns panel
   after panel and, within each, class after class. OVERLAP and MINIMA need a total of every row, which is a column too. */
typedef struct {
    const double *rows, *columns;
    double *totals;
    int64_t depth;
} Points;

/* All parameters of H: how distances are summed, the power that the profile takes, and the profile. */
typedef struct {
    Points points, residuals;
    int64_t distance, power, profile;
    double scale, shape;
} Problem;

enum { OVERLAP, DIFFERENCE, SQUARED, MINIMA, PRODUCT };
enum { AS_IT_IS, ROOT, SQUARE };
enum { EXPONENTIAL, MATERN32, MATERN52, GAMMA, RATIONAL };

/* A rectangle of H made of whole panels. H is symmetric, and of all reductions only what is above the diagonal counts. */
typedef struct {
    int64_t row, row_end, column, column_end;
} Job;

typedef struct {
    int64_t row, n_rows, column, n_columns;
} Tile;

INLINE Lanes add(int how, Lanes so_far, Lanes x, double y) {
    if (how == OVERLAP) return so_far + smaller(x, repeat(y));
    if (how == DIFFERENCE) return so_far + absolute(x - y);
    if (how == SQUARED) return so_far + (x - y) * (x - y);
    if (how == MINIMA) return so_far * smaller(x, repeat(y));
    return so_far + x * y;
}

/* The result of a sum over all classes, given totals in the same order of classes.
   OVERLAP, the distance: sum |x - y| = sum x + sum y - 2 sum min(x, y), exactly 0 for equal rows.
   MINIMA, the kernel: exp(-sum |x - y| / 2) = prod min(e^x, e^y) / sqrt(prod e^x prod e^y), where the numbers are e^x
   and no pair takes an exponential. Totals are rounded up, so that equal rows reach 1 and are cut there. */
INLINE Lanes finished(int how, Lanes sum, const double *row_total, const double *column_totals) {
    if (how == OVERLAP) return larger((load(column_totals) + *row_total) - (sum + sum), repeat(0.0));
    if (how == MINIMA) return smaller(sum * (load(column_totals) * *row_total), repeat(1.0));
    return sum;
}

/* Write the totals of all n columns: sums or, for MINIMA, inverse roots of products. */
EXPORT void NAME(totals)(int64_t how, const Points *points, int64_t n) {
    for (int64_t j = 0; j < n; j += LANES) {
        const double *column = points->columns + j / PANEL * PANEL * points->depth + j % PANEL;
        Lanes total = repeat(how == MINIMA);
        for (int64_t k = 0; k < points->depth; k++) {
            Lanes x = load(column + k * PANEL);
            total = how == MINIMA ? total * x : total + x;
        }
        if (how == MINIMA) {
            Lanes inverse = 1.0 / root(total), of_equal_rows = total * (inverse * inverse);
            total = if_less(of_equal_rows, repeat(1.0), inverse * (1.0 + 0x1p-51), inverse);
        }
        store(points->totals + j, total);
    }
}

/* Write, for every pair of a tile, the sum over classes that `how` selects; PRODUCT multiplies `out` by it. Sums over the
   first slices are kept in `room`, which may be `out` unless its values are needed. */
INLINE void accumulate(int how, const Points *points, const Tile *tile, double *room, double *out) {
    int64_t depth = points->depth, width = tile->n_columns;
    for (int64_t first = 0; first < depth; first += SLICE) {
        int64_t end = smallest(first + SLICE, depth);
        for (int64_t j = 0; j < width; j += PANEL) {
            const double *panel = points->columns + (tile->column + j) * depth;
            for (int64_t i = 0; i < tile->n_rows; i += 4) {
                const double *row = points->rows + (tile->row + i) * depth;
                double *to = out + i * width + j, *part = room + i * width + j;
                Lanes sums[4][2];
                for (int r = 0; r < 4; r++)
                    for (int c = 0; c < 2; c++)
                        sums[r][c] = first > 0 ? load(part + r * width + c * LANES) : repeat(how == MINIMA);
                UNROLLED
                for (int64_t k = first; k < end; k++) {
                    Lanes x = load(panel + k * PANEL), y = load(panel + k * PANEL + LANES);
                    for (int r = 0; r < 4; r++) {
                        double value = row[r * depth + k];
                        sums[r][0] = add(how, sums[r][0], x, value);
                        sums[r][1] = add(how, sums[r][1], y, value);
                    }
                }
                for (int r = 0; r < 4; r++)
                    for (int c = 0; c < 2; c++) {
                        int64_t at = r * width + c * LANES;
                        const double *totals = points->totals + tile->column + j + c * LANES;
                        if (end < depth) store(part + at, sums[r][c]);
                        else if (how == PRODUCT) store(to + at, load(to + at) * sums[r][c]);
                        else store(to + at, finished(how, sums[r][c], points->totals + tile->row + i + r, totals));
                    }
            }
        }
    }
}

/* The kernel at a distance that is scaled already, signs included. */
INLINE Lanes profile_at(int64_t profile, Lanes x, double shape) {
    if (profile == EXPONENTIAL) return exp_lanes(x);
    if (profile == MATERN32) return (1.0 - x) * exp_lanes(x);
    if (profile == MATERN52) return ((x * (1.0 / 3.0) - 1.0) * x + 1.0) * exp_lanes(x);
    if (profile == RATIONAL) return exp_lanes(log1p_lanes(x) * -shape);
    return exp_lanes(-power_lanes(x, shape));
}

INLINE Lanes powered(int64_t power, Lanes x) {
    return power == ROOT ? root(x) : power == SQUARE ? x * x : x;
}

INLINE void apply(int64_t profile, const Problem *problem, double *values, int64_t count) {
    double scale = problem->scale, shape = problem->shape;
    int64_t power = problem->power;
    for (int64_t i = 0; i < count; i += LANES)
        store(values + i, profile_at(profile, powered(power, load(values + i)) * scale, shape));
}

/* Write the tile of H into values, row after row. Every choice is made once per tile, outside the loops. */
static void fill(const Problem *problem, const Tile *tile, double *values, double *room) {
    int64_t count = tile->n_rows * tile->n_columns, distance = problem->distance, profile = problem->profile;
    if (distance == MINIMA) accumulate(MINIMA, &problem->points, tile, values, values);
    else if (distance == OVERLAP) accumulate(OVERLAP, &problem->points, tile, values, values);
    else if (distance == DIFFERENCE) accumulate(DIFFERENCE, &problem->points, tile, values, values);
    else accumulate(SQUARED, &problem->points, tile, values, values);
    if (distance != MINIMA) {
        if (profile == EXPONENTIAL) apply(EXPONENTIAL, problem, values, count);
        else if (profile == MATERN32) apply(MATERN32, problem, values, count);
        else if (profile == MATERN52) apply(MATERN52, problem, values, count);
        else if (profile == GAMMA) apply(GAMMA, problem, values, count);
        else apply(RATIONAL, problem, values, count);
    }
    accumulate(PRODUCT, &problem->residuals, tile, room, values);
}

/* Set the diagonal and what is below it to zero. */
static void clear(double *values, const Tile *tile) {
    for (int64_t i = largest(tile->column - tile->row, 0); i < tile->n_rows; i++) {
        int64_t end = smallest(tile->row + i - tile->column + 1, tile->n_columns);
        for (int64_t j = 0; j < end; j++) values[i * tile->n_columns + j] = 0.0;
    }
}

typedef void Reduction(const double *H, const Tile *tile, void *context);

/* Make every tile of a job and hand it to the reduction, which is inlined. */
INLINE void for_tiles(const Problem *problem, const Job *job, Reduction *reduce, void *context) {
    ALIGNED double values[TILE * TILE], room[TILE * TILE];
    for (int64_t column = job->column; column < job->column_end; column += TILE) {
        int64_t column_end = smallest(column + TILE, job->column_end);
        int64_t row_end = smallest(job->row_end, column_end);
        for (int64_t row = job->row; row < row_end; row += TILE) {
            Tile tile = {row, smallest(TILE, job->row_end - row), column, column_end - column};
            fill(problem, &tile, values, room);
            clear(values, &tile);
            reduce(values, &tile, context);
        }
    }
}

INLINE void add_sum(const double *H, const Tile *tile, void *context) {
    double *sum = context;
    Lanes a = repeat(0.0), b = a;
    for (int64_t i = 0; i < tile->n_rows * tile->n_columns; i += 2 * LANES) {
        a += load(H + i);
        b += load(H + i + LANES);
    }
    *sum += total(a + b);
}

EXPORT void NAME(pair_sum)(const Problem *problem, const Job *job, double *sum) {
    *sum = 0.0;
    for_tiles(problem, job, add_sum, sum);
}

/* The sum over the upper triangle of every diagonal block of `height` rows. */
EXPORT void NAME(block_sums)(const Problem *problem, int64_t height, int64_t n_blocks, double *out) {
    for (int64_t block = 0; block < n_blocks; block++) {
        Job job = {block * height, (block + 1) * height, block * height, (block + 1) * height};
        out[block] = 0.0;
        for_tiles(problem, &job, add_sum, out + block);
    }
}

typedef struct {
    const Job *job;
    const double *weights;
    double *by_row, *by_column;
} RowSums;

INLINE void add_row_sums(const double *H, const Tile *tile, void *context) {
    const RowSums *sums = context;
    double *by_row = sums->by_row + (tile->row - sums->job->row);
    double *by_column = sums->by_column + (tile->column - sums->job->column);
    for (int64_t i = 0; i < tile->n_rows; i++) {
        const double *row = H + i * tile->n_columns, *weights = sums->weights + tile->column;
        Lanes a = repeat(0.0), b = a;
        for (int64_t j = 0; j < tile->n_columns; j += 2 * LANES) {
            a += load(row + j) * load(weights + j);
            b += load(row + j + LANES) * load(weights + j + LANES);
        }
        by_row[i] += total(a + b);
    }
    for (int64_t j = 0; j < tile->n_columns; j += LANES) {
        Lanes so_far = load(by_column + j);
        for (int64_t i = 0; i < tile->n_rows; i++)
            so_far += load(H + i * tile->n_columns + j) * sums->weights[tile->row + i];
        store(by_column + j, so_far);
    }
}

/* Add the upper triangle of H times weights to by_row, and the lower one times weights to by_column. */
EXPORT void NAME(row_sums)(const Problem *problem, const Job *job, const double *weights, double *by_row,
                               double *by_column) {
    RowSums sums = {job, weights, by_row, by_column};
    for_tiles(problem, job, add_row_sums, &sums);
}

typedef struct {
    int64_t n_rows, width;
    const double *strips;
    double *out;
} Forms;

/* Multiply GROUP rows of a tile with a strip of columns and that with their own part of the strip. */
INLINE void add_group(const double *rows, int64_t n_columns, int64_t first, const double *left, const double *right,
                      double *out) {
    Lanes sums[GROUP][VECTORS];
    for (int r = 0; r < GROUP; r++)
        for (int c = 0; c < VECTORS; c++) sums[r][c] = repeat(0.0);
    for (int64_t j = first; j < n_columns; j++) {
        Lanes columns[VECTORS];
        for (int c = 0; c < VECTORS; c++) columns[c] = load(right + j * STRIP + c * LANES);
        for (int r = 0; r < GROUP; r++)
            for (int c = 0; c < VECTORS; c++) sums[r][c] += columns[c] * rows[r * n_columns + j];
    }
    for (int c = 0; c < VECTORS; c++) {
        Lanes so_far = load(out + c * LANES);
        for (int r = 0; r < GROUP; r++) so_far += load(left + r * STRIP + c * LANES) * sums[r][c];
        store(out + c * LANES, so_far);
    }
}

INLINE void add_forms(const double *H, const Tile *tile, void *context) {
    const Forms *forms = context;
    for (int64_t strip = 0; strip < forms->width; strip += STRIP) {
        const double *start = forms->strips + strip * forms->n_rows, *right = start + tile->column * STRIP;
        for (int64_t i = 0; i < tile->n_rows; i += GROUP) {
            const double *left = start + (tile->row + i) * STRIP;
            int64_t first = largest(tile->row + i - tile->column, 0);
            add_group(H + i * tile->n_columns, tile->n_columns, first, left, right, forms->out + strip);
        }
    }
}

/* Add the sum of c_i H_ij c_j over i < j to out, for every column c. The columns come in strips
   of STRIP, one after the other, each of them n_rows rows of STRIP numbers. */
EXPORT void NAME(forms)(const Problem *problem, const Job *job, int64_t n_rows, int64_t width, const double *strips,
                            double *out) {
    Forms forms = {n_rows, width, strips, out};
    for_tiles(problem, job, add_forms, &forms);
}

/* Write the sum over classes of |x - y|, or of its square, for some rows, whole panels of them, and all columns. */
EXPORT void NAME(distances)(int64_t squared, const Points *points, int64_t row, int64_t n_rows, int64_t n_columns,
                            double *out) {
    Tile tile = {row, n_rows, 0, n_columns};
    if (squared) accumulate(SQUARED, points, &tile, out, out);
    else accumulate(DIFFERENCE, points, &tile, out, out);
}

/* The sizes that Python packs arrays for. */
EXPORT void NAME(sizes)(int64_t *sizes) {
    sizes[0] = LANES;
    sizes[1] = TILE;
    sizes[2] = STRIP;
}

/* e**x and log x of a flat array, in place, whose length is a multiple of LANES. */
EXPORT void NAME(exp)(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i += LANES) store(x + i, exp_lanes(load(x + i)));
}

EXPORT void NAME(log)(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i += LANES) store(x + i, log_lanes(load(x + i)));
}
