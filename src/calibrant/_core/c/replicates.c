/* Mean gaps to the frequencies among neighbours for many columns of weights, with the same rows and outcomes.

   This is the summation of line.c, arranged for replicates. A box collects the moments of rows with and without the event
   separately, so that a row enters once and not twice; their sum is the mass. The polynomials T_k at the positions of some
   rows are tabulated for all replicates of the group, and four rows share every moment that is loaded. */
#include "line.h"

/* Events and mass of a group of replicates, side by side. */
#define PAIR (2 * LANES)
/* Rows whose polynomials are tabulated at a time. */
#define CHUNK 64
/* Only the Gaussian comes here: compact kernels reach few rows. */
#define TERMS MOST_TERMS

/* The rows of every box, those with the event first: their numbers, where in the box they are, and where those without
   the event begin; and in the order of the line 1 or 0, with room for LANES more. */
typedef struct {
    const int64_t *rows;
    const double *places;
    const int64_t *middle;
    const double *happened;
} Events;

/* Memory of one thread: the weights of LANES replicates by row, with LANES rows more that are zero; and moments. */
typedef struct {
    double *weights, *moments;
} Work;

/* Write T_0, T_1, ... at some places, and at 0 beyond the last: rows are read four at a time, however few lanes there are. */
static void tabulate(double *table, const double *places, int64_t first, int64_t last) {
    for (int64_t r = 0; r < (last - first + 3) / 4 * 4; r += LANES) {
        Lanes s = repeat(0.0);
        for (int lane = 0; lane < LANES; lane++)
            if (first + r + lane < last) s[lane] = places[first + r + lane];
        Lanes before = s, now = repeat(1.0);
        for (int k = 0; k < TERMS; k++) {
            store(table + k * CHUNK + r, now);
            Lanes next = (s + s) * now - before;
            before = now;
            now = next;
        }
    }
}

/* Write the moments of rows start..end - 1 of one box. */
static void collect_part(const Work *work, const Events *events, int64_t n, int64_t start, int64_t end, double *moments) {
    ALIGNED double table[TERMS * CHUNK];
    for (int k = 0; k < TERMS; k++) store(moments + k * PAIR, repeat(0.0));
    for (int64_t first = start; first < end; first += CHUNK) {
        int64_t last = smallest(first + CHUNK, end);
        ALIGNED double partial[TERMS * LANES] = {0.0};
        tabulate(table, events->places, first, last);
        for (int64_t r = 0; r < last - first; r += 4) {
            Lanes weights[4];
            for (int q = 0; q < 4; q++) /* The row after all others has no weight. */
                weights[q] = load(work->weights + (first + r + q < last ? events->rows[first + r + q] : n) * LANES);
            for (int k = 0; k < TERMS; k++) {
                const double *t = table + k * CHUNK + r;
                Lanes x = load(partial + k * LANES) + weights[0] * t[0];
                Lanes y = weights[2] * t[2] + weights[1] * t[1];
                store(partial + k * LANES, (x + weights[3] * t[3]) + y);
            }
        }
        for (int k = 0; k < TERMS; k++) store(moments + k * PAIR, load(moments + k * PAIR) + load(partial + k * LANES));
    }
}

/* Write the moments of all boxes: of the rows with the event, and of all. */
static void collect_events(const Sources *sources, const Events *events, const Work *work) {
    for (int64_t box = 0; box < sources->boxes.occupied; box++) {
        double *moments = work->moments + box * TERMS * PAIR;
        int64_t start = sources->boxes.starts[box], end = sources->boxes.starts[box + 1], middle = events->middle[box];
        collect_part(work, events, sources->n, start, middle, moments);
        collect_part(work, events, sources->n, middle, end, moments + LANES);
        for (int k = 0; k < TERMS; k++) {
            double *at = moments + k * PAIR;
            store(at + LANES, load(at) + load(at + LANES));
        }
    }
}

typedef struct {
    const double *weights, *happened;
} Weighted;

INLINE EventSums add_weighted(EventSums so_far, Lanes values, int64_t first, const void *context) {
    const Weighted *rows = context;
    Lanes happened = values * load(rows->happened + first);
    for (int lane = 0; lane < LANES; lane++) {
        Lanes weights = load(rows->weights + (first + lane) * LANES);
        so_far.events += weights * happened[lane];
        so_far.all += weights * values[lane];
    }
    return so_far;
}

static EventSums sum_weights(const Sources *sources, const Events *events, const Plan *plan, const Work *work,
                             int64_t t, int64_t i) {
    Weighted rows = {work->weights, events->happened};
    return sum_directly(sources, GAUSSIAN, plan, t, i, add_weighted, &rows);
}

/* Write events and mass of the rows of the table. */
static void polynomials(const double *local, const double *table, int64_t n_rows, double *sums) {
    for (int64_t r = 0; r < n_rows; r += 4) {
        Lanes hits[4], mass[4];
        for (int q = 0; q < 4; q++) hits[q] = mass[q] = repeat(0.0);
        for (int k = 0; k < TERMS; k++)
            for (int q = 0; q < 4; q++) {
                double t = table[k * CHUNK + r + q];
                hits[q] += load(local + k * PAIR) * t;
                mass[q] += load(local + k * PAIR + LANES) * t;
            }
        for (int q = 0; q < 4; q++) {
            store(sums + (r + q) * PAIR, hits[q]);
            store(sums + (r + q) * PAIR + LANES, mass[q]);
        }
    }
}

/* Write events and mass of rows first..last - 1 of one box, at most a chunk, each without itself. */
static void sum_chunk(const Sources *sources, const Events *events, const Plan *plan, const Work *work,
                      const double *places, const double *local, int64_t t, int64_t first, int64_t last, double *sums) {
    ALIGNED double table[TERMS * CHUNK];
    int64_t way = plan->way[t];
    if (way != DIRECTLY) {
        tabulate(table, places, first, last);
        polynomials(local, table, last - first, sums);
    }
    for (int64_t i = first; i < last; i++) {
        double *at = sums + (i - first) * PAIR;
        Lanes hits = way == DIRECTLY ? repeat(0.0) : load(at), mass = way == DIRECTLY ? hits : load(at + LANES);
        if (way == BY_BOXES) {
            Lanes own = load(work->weights + i * LANES) * plan->own[i];
            hits -= own * events->happened[i], mass -= own;
        } else {
            EventSums found = sum_weights(sources, events, plan, work, t, i);
            hits += found.events, mass += found.all;
        }
        store(at, hits);
        store(at + LANES, mass);
    }
}

/* Weight times gap and weight, over rows with neighbours and over rows without. */
typedef struct {
    Lanes gaps, weights, lonely_gaps, lonely_weights;
} Totals;

/* Add one row at x; it has no neighbours if their mass is at most the bound. */
INLINE void add_gap(Totals *totals, double x, Lanes hits, Lanes mass, Lanes weight, Lanes bound, double norm) {
    Lanes zero = repeat(0.0), one = repeat(1.0);
    Lanes frequency = larger(smaller(hits / if_less(bound, mass, mass, one), one), zero);
    Lanes gap = absolute(if_less(bound, mass, frequency, zero) - x);
    if (norm != 1.0) gap = norm == 2.0 ? gap * gap : power_lanes(gap, norm);
    Lanes with_neighbours = if_less(bound, mass, weight, zero), without = weight - with_neighbours;
    totals->gaps += with_neighbours * gap, totals->weights += with_neighbours;
    totals->lonely_gaps += without * gap, totals->lonely_weights += without;
}

INLINE void add_totals(Totals *to, const Totals *from) {
    to->gaps += from->gaps, to->weights += from->weights;
    to->lonely_gaps += from->lonely_gaps, to->lonely_weights += from->lonely_weights;
}

/* Write the totals of the first columns, (columns, 4). */
INLINE void write_totals(const Totals *totals, int64_t columns, double *out) {
    for (int64_t column = 0; column < columns; column++, out += 4) {
        out[0] = totals->gaps[column], out[1] = totals->weights[column];
        out[2] = totals->lonely_gaps[column], out[3] = totals->lonely_weights[column];
    }
}

typedef struct {
    const double *x, *weights, *least;
    double norm;
    Lanes means;
    Totals totals;
} Gaps;

INLINE void add_gaps(Gaps *gaps, const double *sums, int64_t first, int64_t last) {
    Totals partial = {.gaps = repeat(0.0)};
    for (int64_t i = first; i < last; i++) {
        const double *at = sums + (i - first) * PAIR;
        Lanes weight = load(gaps->weights + i * LANES), bound = gaps->means * gaps->least[i];
        add_gap(&partial, gaps->x[i], load(at), load(at + LANES), weight, bound, gaps->norm);
    }
    add_totals(&gaps->totals, &partial);
}

/* Write the four totals of each of `columns` replicates; a row has no neighbours if their mass is at most `least` times
   the mean weight. */
EXPORT void NAME(replicate_gaps)(const Sources *sources, const Events *events, const Plan *plan, const Work *work,
                                     const double *places, const double *least, double norm, int64_t columns,
                                     double *out) {
    Gaps gaps = {.x = plan->x, .weights = work->weights, .least = least, .norm = norm};
    for (int64_t i = 0; i < sources->n; i++) gaps.means += load(work->weights + i * LANES);
    gaps.means *= 1.0 / (double)largest(sources->n, 1);
    ALIGNED double local[TERMS * PAIR], sums[CHUNK * PAIR] = {0.0};
    const int64_t *starts = plan->boxes.starts;
    collect_events(sources, events, work);
    for (int64_t t = 0; t < plan->boxes.occupied; t++) {
        if (plan->way[t] != DIRECTLY) expand(sources, work->moments, plan, t, TERMS, 2, local);
        for (int64_t first = starts[t]; first < starts[t + 1]; first += CHUNK) {
            int64_t last = smallest(first + CHUNK, starts[t + 1]);
            sum_chunk(sources, events, plan, work, places, local, t, first, last, sums);
            add_gaps(&gaps, sums, first, last);
        }
    }
    write_totals(&gaps.totals, columns, out);
}

/* Up to LANES columns of one row of a matrix. */
INLINE Lanes row_of(const Matrix *matrix, int64_t row, int64_t columns) {
    const double *at = (const double *)matrix->at + row * matrix->row;
    if (matrix->column == 0) return repeat(at[0]);
    if (matrix->column == 1 && columns == LANES) return load(at);
    Lanes found = repeat(0.0);
    for (int64_t column = 0; column < columns; column++) found[column] = at[column * matrix->column];
    return found;
}

/* Write the four totals of each of up to LANES columns, given hits, mass and weights by row and column. */
EXPORT void NAME(gaps)(const double *x, const Matrix *hits, const Matrix *mass, const Matrix *weights, const double *least,
                       double norm, int64_t n, int64_t columns, double *out) {
    Lanes means = repeat(0.0);
    for (int64_t i = 0; i < n; i++) means += row_of(weights, i, columns);
    means /= (double)largest(n, 1);
    Totals totals = {.gaps = repeat(0.0)};
    for (int64_t first = 0; first < n; first += ROWS_PER_SUM) {
        Totals partial = {.gaps = repeat(0.0)};
        for (int64_t i = first; i < smallest(first + ROWS_PER_SUM, n); i++)
            add_gap(&partial, x[i], row_of(hits, i, columns), row_of(mass, i, columns), row_of(weights, i, columns),
                    means * least[i], norm);
        add_totals(&totals, &partial);
    }
    write_totals(&totals, columns, out);
}
