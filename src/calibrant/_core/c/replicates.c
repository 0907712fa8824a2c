/* Mean gaps to the frequencies among neighbours for many columns of weights, the rows and outcomes being the same.

   It is the summation of line.c, arranged for replicates. A box collects the moments of rows with and without the event
   apart, so that a row enters once and not twice; their sum is the mass. The polynomials T_k at the places of some rows
   are tabulated and serve all replicates of the group, and four rows share every moment that is loaded. */
#include "line.h"

#include <math.h>

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

typedef struct {
    Lanes hits, mass;
} Found;

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

INLINE void add_events(double *local, const double *matrix, const double *moments) {
    for (int k = 0; k < TERMS; k += 2) {
        Lanes sums[2][2];
        for (int c = 0; c < 4; c++) sums[c / 2][c % 2] = load(local + k * PAIR + c * LANES);
        for (int m = 0; m < TERMS; m++) {
            Lanes hits = load(moments + m * PAIR), mass = load(moments + m * PAIR + LANES);
            for (int c = 0; c < 2; c++) {
                sums[c][0] += hits * matrix[m * TERMS + k + c];
                sums[c][1] += mass * matrix[m * TERMS + k + c];
            }
        }
        for (int c = 0; c < 4; c++) store(local + k * PAIR + c * LANES, sums[c / 2][c % 2]);
    }
}

/* Write the local polynomials of a target box: the sums over the whole boxes, perhaps but its own. */
static void expand_events(const Sources *sources, const Plan *plan, const double *moments, int64_t t, double *local) {
    int64_t skip = plan->way[t] == BY_OTHER_BOXES ? t : -1;
    for (int k = 0; k < 2 * TERMS; k++) store(local + k * LANES, repeat(0.0));
    for (int64_t extended = plan->whole[2 * t]; extended < plan->whole[2 * t + 1]; extended++) {
        int64_t source = extended_row(sources->boxes.occupied, extended);
        if (source == skip) continue;
        int64_t matrix = translation(sources, plan->boxes.ids[t], extended);
        add_events(local, sources->translations + matrix * TERMS * TERMS, moments + source * TERMS * PAIR);
    }
}

INLINE Found add_pairs(Found found, const Sources *sources, const Events *events, const Work *work, double x, int64_t skip,
                       int64_t first, int64_t last, double sign, double mirror) {
    for (int64_t j = first; j < last; j += LANES) {
        Lanes u = (load(sources->x + j) * sign + (mirror - x)) * sources->per_bandwidth;
        Lanes values = counted(kernel_at(GAUSSIAN, u), j, last, skip), hits = values * load(events->happened + j);
        for (int lane = 0; lane < LANES; lane++) {
            Lanes weights = load(work->weights + (j + lane) * LANES);
            found.hits += weights * hits[lane];
            found.mass += weights * values[lane];
        }
    }
    return found;
}

/* Events and mass over the rows and images with extended numbers low..high - 1, but the row `skip` and its images. */
static Found events_directly(const Sources *sources, const Events *events, const Work *work, double x, int64_t skip,
                             int64_t low, int64_t high) {
    int64_t n = sources->n;
    Found found = {repeat(0.0), repeat(0.0)};
    if (low < 0) found = add_pairs(found, sources, events, work, x, skip, largest(0, -high), -low, -1.0, 0.0);
    if (low < n && high > 0)
        found = add_pairs(found, sources, events, work, x, skip, largest(low, 0), smallest(high, n), 1.0, 0.0);
    if (high > n)
        found = add_pairs(found, sources, events, work, x, skip, 2 * n - high, smallest(n, 2 * n - low), -1.0, 2.0);
    return found;
}

INLINE Found both(Found x, Found y) { return (Found){x.hits + y.hits, x.mass + y.mass}; }

static Found own_events(const Sources *sources, const Events *events, const Plan *plan, const Work *work, int64_t t,
                        int64_t i) {
    int64_t first = plan->boxes.starts[t], last = plan->boxes.starts[t + 1], end = 2 * sources->n;
    double x = plan->x[i];
    Found found = events_directly(sources, events, work, x, i, first, last);
    if (plan->rows[2 * t] < -first) found = both(found, events_directly(sources, events, work, x, i, -last, -first));
    if (plan->rows[2 * t + 1] > end - last)
        found = both(found, events_directly(sources, events, work, x, i, end - last, end - first));
    return found;
}

/* Write events and mass of the rows of the table. */
static void polynomials(const double *local, const double *table, int64_t n_rows, double *sums) {
    for (int64_t r = 0; r < n_rows; r += 4) {
        Found found[4];
        for (int q = 0; q < 4; q++) found[q] = (Found){repeat(0.0), repeat(0.0)};
        for (int k = 0; k < TERMS; k++) {
            Lanes hits = load(local + k * PAIR), mass = load(local + k * PAIR + LANES);
            for (int q = 0; q < 4; q++) {
                double t = table[k * CHUNK + r + q];
                found[q].hits += hits * t;
                found[q].mass += mass * t;
            }
        }
        for (int q = 0; q < 4; q++) {
            store(sums + (r + q) * PAIR, found[q].hits);
            store(sums + (r + q) * PAIR + LANES, found[q].mass);
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
        Found found = {load(at), load(at + LANES)};
        if (way == BY_BOXES) {
            Lanes own = load(work->weights + i * LANES) * plan->own[i];
            found = (Found){found.hits - own * events->happened[i], found.mass - own};
        } else if (way == BY_OTHER_BOXES) {
            found = both(own_events(sources, events, plan, work, t, i), found);
        } else {
            found = events_directly(sources, events, work, plan->x[i], i, plan->rows[2 * t], plan->rows[2 * t + 1]);
        }
        store(at, found.hits);
        store(at + LANES, found.mass);
    }
}

INLINE Lanes power(Lanes gap, double norm) {
    if (norm == 1.0) return gap;
    if (norm == 2.0) return gap * gap;
    for (int lane = 0; lane < LANES; lane++) gap[lane] = pow(gap[lane], norm);
    return gap;
}

typedef struct {
    const double *x, *weights, *least;
    double norm;
    Lanes means, totals[4];
} Gaps;

/* Add weight times gap and weight, over rows with neighbours and over rows without. */
INLINE void add_gaps(Gaps *gaps, const double *sums, int64_t first, int64_t last) {
    Lanes zero = repeat(0.0), one = repeat(1.0), a = zero, b = zero, c = zero, d = zero;
    for (int64_t i = first; i < last; i++) {
        const double *at = sums + (i - first) * PAIR;
        Lanes hits = load(at), mass = load(at + LANES), weight = load(gaps->weights + i * LANES);
        Lanes bound = gaps->means * gaps->least[i];
        Lanes frequency = larger(smaller(hits / if_less(bound, mass, mass, one), one), zero);
        Lanes gap = power(absolute(if_less(bound, mass, frequency, zero) - gaps->x[i]), gaps->norm);
        Lanes with_neighbours = if_less(bound, mass, weight, zero);
        a += with_neighbours * gap, b += with_neighbours;
        c += (weight - with_neighbours) * gap, d += weight - with_neighbours;
    }
    gaps->totals[0] += a, gaps->totals[1] += b, gaps->totals[2] += c, gaps->totals[3] += d;
}

/* Write the four totals of each of `columns` replicates; a row has no neighbours if their mass is at most `least` times
   the mean weight. */
EXPORT void NAME(replicate_gaps)(const Sources *sources, const Events *events, const Plan *plan, const Work *work,
                                     const double *places, const double *least, double norm, int64_t columns,
                                     double *out) {
    Lanes zero = repeat(0.0), sum = zero;
    for (int64_t i = 0; i < sources->n; i++) sum += load(work->weights + i * LANES);
    Lanes means = sum * (1.0 / (double)largest(sources->n, 1));
    Gaps gaps = {plan->x, work->weights, least, norm, means, {zero, zero, zero, zero}};
    ALIGNED double local[TERMS * PAIR], sums[CHUNK * PAIR] = {0.0};
    const int64_t *starts = plan->boxes.starts;
    collect_events(sources, events, work);
    for (int64_t t = 0; t < plan->boxes.occupied; t++) {
        if (plan->way[t] != DIRECTLY) expand_events(sources, plan, work->moments, t, local);
        for (int64_t first = starts[t]; first < starts[t + 1]; first += CHUNK) {
            int64_t last = smallest(first + CHUNK, starts[t + 1]);
            sum_chunk(sources, events, plan, work, places, local, t, first, last, sums);
            add_gaps(&gaps, sums, first, last);
        }
    }
    for (int64_t column = 0; column < columns; column++)
        for (int part = 0; part < 4; part++) out[4 * column + part] = gaps.totals[part][column];
}

INLINE double at(const Matrix *matrix, int64_t row, int64_t column) {
    return ((const double *)matrix->at)[row * matrix->row + column * matrix->column];
}

/* Write the four totals of each column, given hits, mass and weights by row and column. */
EXPORT void NAME(gaps)(const double *x, const Matrix *hits, const Matrix *mass, const Matrix *weights, const double *least,
                       double norm, int64_t n, int64_t columns, double *out) {
    for (int64_t column = 0; column < columns; column++, out += 4) {
        double mean = 0.0;
        for (int64_t i = 0; i < n; i++) mean += at(weights, i, column);
        mean /= (double)largest(n, 1);
        for (int part = 0; part < 4; part++) out[part] = 0.0;
        for (int64_t first = 0; first < n; first += ROWS_PER_SUM) {
            double partial[4] = {0.0};
            for (int64_t i = first; i < smallest(first + ROWS_PER_SUM, n); i++) {
                double weight = at(weights, i, column), around = at(mass, i, column);
                int is_lonely = around <= least[i] * mean;
                double ratio = is_lonely ? 0.0 : at(hits, i, column) / around;
                double gap = fabs((ratio < 0.0 ? 0.0 : ratio > 1.0 ? 1.0 : ratio) - x[i]);
                if (norm != 1.0) gap = norm == 2.0 ? gap * gap : pow(gap, norm);
                partial[2 * is_lonely] += weight * gap;
                partial[2 * is_lonely + 1] += weight;
            }
            for (int part = 0; part < 4; part++) out[part] += partial[part];
        }
    }
}
