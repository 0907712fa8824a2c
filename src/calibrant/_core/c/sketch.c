/* Rows counted into the cells of a sketch, and the sums of their scores in fixed point: integers only, so that any order
   of the rows gives the same sums. This file is compiled without contraction of multiplications and additions: every
   machine rounds alike. */
#include "lanes.h"
#if LANES == 8
#include <immintrin.h>
#endif

/* Rows at a time, which stay in the fastest cache: a multiple of SIDE * LANES for every number of lanes. */
#define BLOCK 120
/* Bits of 2^-27 and 2^-63: cells have all their bits from the first on, two between, and below 16 octaves each. */
#define MAIN 0x3e40000000000000LL
#define TAIL 0x3c00000000000000LL
#define FIRST_TAIL 61
#define FIRST_MAIN 205
#define OFFSET_BITS 30
#define UNIT 4294967296.0
#define SMALLEST_NORMAL 2.2250738585072014e-308
#define UP 18014398509481984.0 /* 2^54 */
#define LOG_UP 37.42994775023705
#define LOG2 0.6931471805599453
/* A quick logarithm is off by less than 2^-10 units, that of at least 2^-27 by less than 2^-13: farther than that from a
   half it rounds as the exact one does. */
#define SURE(may_be_rare) (0.5 - ((may_be_rare) ? 0x1p-10 : 0x1p-13))

typedef union {
    double value;
    int64_t bits;
} Word;

INLINE int64_t bits_of(double value) {
    Word word;
    word.value = value;
    return word.bits;
}

/* The nearest integer, half to even, of a number below 2^51, as a difference of bits: see `SHIFT`. */
INLINE int64_t nearest(double value) { return bits_of(value + SHIFT) - bits_of(SHIFT); }
INLINE Bits nearest_lanes(Lanes value) { return (Bits)(value + SHIFT) - bits_of(SHIFT); }

INLINE int any(Bits mask) {
    int64_t found = 0;
    for (int j = 0; j < LANES; j++) found |= mask[j];
    return found != 0;
}

/* High where the mask is all ones, low where it is 0. */
INLINE Lanes chosen(Bits mask, Lanes high, Lanes low) { return (Lanes)(((Bits)high & mask) | ((Bits)low & ~mask)); }

/* Logarithms of positive normal numbers; see log_lanes. Rows of lanes go side by side: a polynomial is a long chain of
   steps that wait for each other. The exponent is kept 1024 too large, so that it is never negative. */
#define SIDE 3
#define EACH for (int j = 0; j < SIDE; j++)
#define STEP(divisor) EACH q[j] = q[j] * z[j] + 2.0 / divisor;
INLINE void log_sides(Lanes *x) {
    const uint64_t above = (uint64_t)1024 << 52;
    Lanes k[SIDE], s[SIDE], z[SIDE], q[SIDE];
    EACH {
        Unsigned exponent = ((Unsigned)x[j] - ROOT_HALF_BITS + above) >> 52;
        k[j] = (Lanes)(exponent + (uint64_t)bits_of(SHIFT)) - (SHIFT + 1024.0);
        Lanes f = (Lanes)((Unsigned)x[j] - (exponent << 52) + above) - 1.0;
        s[j] = f / (f + 2.0);
    }
    EACH z[j] = s[j] * s[j];
    EACH q[j] = z[j] * (2.0 / 21) + 2.0 / 19;
    STEP(17) STEP(15) STEP(13) STEP(11) STEP(9) STEP(7) STEP(5) STEP(3)
    EACH {
        Lanes small = k[j] * LOG2_LOW + s[j] * z[j] * q[j];
        x[j] = k[j] * LOG2_HIGH + (small + (s[j] + s[j]));
    }
}

/* The same logarithms in units, with fewer terms and with products that are not rounded before they are added. They are
   within 2^-42.5. */
#if LANES == 8
/* The first four digits behind the point choose c of 16, about 1 / f; then log f = log1p(c f - 1) - log c, and the series
   of |c f - 1| <= 1 / 33 is short: interpolated at seven Chebyshev points, its error is 2e-15. A division would take
   longer than all of this. */
static const ALIGNED double INVERSES[16] = {32.0 / 33, 32.0 / 35, 32.0 / 37, 32.0 / 39, 32.0 / 41, 32.0 / 43,
                                            32.0 / 45, 32.0 / 47, 32.0 / 49, 32.0 / 51, 32.0 / 53, 32.0 / 55,
                                            32.0 / 57, 32.0 / 59, 32.0 / 61, 32.0 / 63};
static const ALIGNED double MINUS_LOGS[16] = {
    132163267.61738193, 384881290.8961686,  623551984.2496682,  849655097.9088962, 1064448218.736272, 1269009131.5174067,
    1464268541.3755975, 1651035675.019675,  1830018543.1962519, 2001840147.0276263, 2167051565.181762,
    2326142615.6511126, 2479550612.3028693, 2627667610.6926394, 2770846445.5076575, 2909405793.6756806};
INLINE Lanes one_of(const double *table, Bits at) {
    return _mm512_permutex2var_pd(_mm512_load_pd(table), (__m512i)at, _mm512_load_pd(table + 8));
}
#define TERM(factor) EACH q[j] = q[j] * r[j] + UNIT * factor;
INLINE void quick_logs(const Lanes *x, Lanes *units) {
#pragma STDC FP_CONTRACT ON
    Lanes r[SIDE], q[SIDE];
    EACH {
        Bits first = (Bits)x[j] >> 48; /* Of these bits the last four are taken. */
        Lanes f = _mm512_getmant_pd(x[j], _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
        r[j] = f * one_of(INVERSES, first) - 1.0;
        units[j] = one_of(MINUS_LOGS, first);
    }
    EACH q[j] = r[j] * (UNIT * 0.14303589967612346) - UNIT * 0.1668677638881839;
    TERM(0.1999999178866068) TERM(-0.24999990762494026) TERM(0.33333333334276144) TERM(-0.5000000000106063) TERM(1.0)
    EACH units[j] = _mm512_getexp_pd(x[j]) * (UNIT * LOG2) + (units[j] + r[j] * q[j]);
}
#else
/* The series of log_lanes with six terms, interpolated at the six Chebyshev points of s^2: its error is 9.4e-15. Logarithms
   are below 709: that of ln 2, times the exponent, adds 2.4e-14, to round the product and the sum 5.7e-14 each. Two terms
   at a time are summed by themselves: a chain of all of them would be waited for. */
#define TERMS(low, high) (z[j] * (UNIT * high) + UNIT * low)
INLINE void quick_logs(const Lanes *x, Lanes *units) {
#pragma STDC FP_CONTRACT ON
    const uint64_t fraction = ((uint64_t)1 << 52) - 1;
    Lanes k[SIDE], s[SIDE], z[SIDE], q[SIDE];
    EACH {
        Unsigned above = (Unsigned)x[j] + (((uint64_t)1024 << 52) - ROOT_HALF_BITS);
        k[j] = (Lanes)((above >> 52) | (uint64_t)bits_of(SHIFT)) - (SHIFT + 1024.0);
        Lanes f = (Lanes)((above & fraction) + ROOT_HALF_BITS);
        s[j] = (f - 1.0) / (f + 1.0);
    }
    EACH z[j] = s[j] * s[j];
    EACH q[j] = TERMS(0.2217424991007749, 0.19608095639753054);
    EACH q[j] = q[j] * (z[j] * z[j]) + TERMS(0.3999999489183238, 0.28572166145875727);
    EACH q[j] = q[j] * (z[j] * z[j]) + TERMS(1.9999999999999472, 0.6666666667957926);
    EACH units[j] = k[j] * (UNIT * LOG2) + s[j] * q[j];
}
#endif

/* Integers that were left in the low bits of SIDE rows of lanes, see `SHIFT`, from the sum of all their bits. */
INLINE Bits without_shifts(Unsigned sum) { return (Bits)(sum - SIDE * (uint64_t)bits_of(SHIFT)); }

/* Quick logarithms rounded to units and added to the sum: nearly all of them round to the same unit whichever way they
   are computed; returns where one may not. */
INLINE Bits add_quick_logs(const Lanes *x, int may_be_rare, Bits *sum) {
    Lanes units[SIDE], farthest = {0.0};
    Unsigned found = {0};
    quick_logs(x, units);
    EACH {
        Lanes shifted = units[j] + SHIFT;
        farthest = larger(farthest, absolute(units[j] - (shifted - SHIFT)));
        found += (Unsigned)shifted;
    }
    *sum += without_shifts(found);
    return farthest > SURE(may_be_rare);
}

/* What is known of a cell, and what a row adds to it: rows without the event and 2^32 times those with it, the sum of
   offsets, and the largest of all -p and p, which are floating point numbers. */
typedef int64_t Record __attribute__((vector_size(32)));
typedef uint64_t Sum __attribute__((vector_size(32))); /* May overflow where it is not used. */
typedef double Numbers __attribute__((vector_size(32)));
typedef int64_t AnyRecord __attribute__((vector_size(32), aligned(8)));
typedef uint8_t Few __attribute__((vector_size(LANES), aligned(1)));
typedef int8_t FewBits __attribute__((vector_size(LANES)));
typedef int32_t Places __attribute__((vector_size(4 * LANES), aligned(4)));

/* Rows with the numbers of their records, and which of them are in cells with cuts. */
typedef struct {
    ALIGNED double probs[BLOCK];
    ALIGNED Record rows[BLOCK];
    int32_t cells[BLOCK], is_cut[BLOCK];
    uint8_t events[BLOCK];
} Block;

/* The number of each cell among the cells with cuts, counted from 1, or 0; and where the cuts of each begin and end. The
   record of a cell has the number of the cell, and the records of parts after its cuts follow those of all cells. So the
   record of a row is found without a table, which would push records out of the cache. */
typedef struct {
    int64_t digits, last;
    const uint8_t *numbers;
    const int32_t *ends;
    const double *cuts;
} Grid;

typedef struct {
    Bits squares, logs;
    int64_t rare_logs, never;
} Sums;

/* Some rows, filled up with events that were certain, whose scores are 0; returns how many there are with those. Adding
   0 makes -0 positive, whose bits are those of no cell. */
INLINE int64_t fill(Block *block, const void *probs, int64_t single, const uint8_t *events, int64_t n) {
    int64_t whole = (n + SIDE * LANES - 1) / (SIDE * LANES) * (SIDE * LANES);
    if (single)
        for (int64_t i = 0; i < n; i++) block->probs[i] = ((const float *)probs)[i] + 0.0;
    else
        for (int64_t i = 0; i < n; i++) block->probs[i] = ((const double *)probs)[i] + 0.0;
    for (int64_t i = 0; i < n; i++) block->events[i] = events[i];
    for (int64_t i = n; i < whole; i++) {
        block->probs[i] = 1.0;
        block->events[i] = 1;
    }
    return whole;
}

/* The cell of the smaller of p and 1 - p on its side of one half, before the cuts, and where in it. */
INLINE int64_t place(int64_t bits, int64_t digits, int64_t *offset) {
    if (bits >= MAIN) {
        int64_t rest = 52 - digits;
        *offset = (bits & ((1LL << rest) - 1)) >> (rest - OFFSET_BITS);
        return FIRST_MAIN + ((bits - MAIN) >> rest);
    }
    if (bits >= TAIL) {
        *offset = (bits & ((1LL << 50) - 1)) >> (50 - OFFSET_BITS);
        return FIRST_TAIL + ((bits - TAIL) >> 50);
    }
    *offset = (bits & ((1LL << 56) - 1)) >> (56 - OFFSET_BITS);
    return bits == 0 ? 0 : 1 + (bits >> 56);
}

/* Rows of lanes side by side to one row after the other: first numbers alternate, then pairs. Of four lanes every other
   one is taken, which stays within the halves of a register. */
#define SECOND (LANES == 4 ? 2 : 1)
#if LANES == 8
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOWER_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 2, 3, 10, 11)
#define UPPER_PAIRS(a, b) __builtin_shufflevector(a, b, 4, 5, 12, 13, 6, 7, 14, 15)
#elif LANES == 4
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define UPPER(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#define LOWER_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define UPPER_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#else
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 2)
#define UPPER(a, b) __builtin_shufflevector(a, b, 1, 3)
#define LOWER_PAIRS(a, b) (a)
#define UPPER_PAIRS(a, b) (b)
#endif

/* Which of some events happened, by comparison: with AVX-512 this is a mask of the processor, and choosing one step. */
INLINE Bits happened_at(const uint8_t *events) {
    return __builtin_convertvector((FewBits)(*(const Few *)events != 0), Bits);
}

INLINE void write_rows(Bits counts, Bits offsets, Bits bits, Record *rows) {
    Bits minus = (Bits)(-(Lanes)bits), *to = (Bits *)rows;
    to[0] = LOWER_PAIRS(LOWER(counts, offsets), LOWER(minus, bits));
    to[SECOND] = UPPER_PAIRS(LOWER(counts, offsets), LOWER(minus, bits));
    to[3 - SECOND] = LOWER_PAIRS(UPPER(counts, offsets), UPPER(minus, bits));
    to[3] = UPPER_PAIRS(UPPER(counts, offsets), UPPER(minus, bits));
}

/* Cells and records of rows, as if all had all digits, without a branch; returns which have not. */
INLINE Bits place_lanes(Block *block, int64_t i, const Grid *grid) {
    int64_t rest = 52 - grid->digits, mask = (1LL << rest) - 1;
    Lanes p = load(block->probs + i);
    Bits upper = p > 0.5, bits = (Bits)chosen(upper, 1.0 - p, p);
    Bits above = (Bits)((Unsigned)(bits - MAIN) >> rest); /* Without sign, which takes one step instead of three. */
    Bits lower_cell = FIRST_MAIN + above, upper_cell = (grid->last - FIRST_MAIN) - above;
    Bits cell = (Bits)chosen(upper, (Lanes)upper_cell, (Lanes)lower_cell);
    *(Places *)(block->cells + i) = __builtin_convertvector(cell, Places);
    Bits happened = happened_at(block->events + i);
    Bits offsets = (bits & mask) >> (rest - OFFSET_BITS);
    Bits counts = (happened & (1LL << 32)) | (~happened & 1); /* 1, or 2^32 of an event. */
    write_rows(counts, offsets, (Bits)p, block->rows + i);
    return bits < MAIN;
}

static void place_outside(Block *block, int64_t n, const Grid *grid) {
    for (int64_t i = 0; i < n; i++) {
        int is_upper = block->probs[i] > 0.5;
        int64_t bits = bits_of(is_upper ? 1.0 - block->probs[i] : block->probs[i]), offset;
        if (bits >= MAIN) continue;
        int64_t cell = place(bits, grid->digits, &offset);
        block->cells[i] = (int32_t)(is_upper ? grid->last - cell : cell);
        block->rows[i][1] = offset;
    }
}

/* The record of a prediction in a cell with cuts. These are nearly equal: it is above all of them, or none, which no branch
   could foresee. */
INLINE int32_t part_of(double p, int32_t cell, const Grid *grid) {
    const int32_t *ends = grid->ends + grid->numbers[cell] - 1;
    int32_t is_above = -(p >= grid->cuts[ends[0]]), is_above_all = -(p >= grid->cuts[ends[1] - 1]), above = 0;
    if (__builtin_expect(is_above == is_above_all, 1)) return cell + (is_above & ((int32_t)grid->last + ends[1] - cell));
    for (int32_t j = ends[0]; j < ends[1]; j++) above += p >= grid->cuts[j];
    return (int32_t)grid->last + ends[0] + above;
}

/* The records of rows, with a branch only for what few rows have; returns whether one lacks digits. All records of a
   block are fetched at once: while other threads use the cache, most of the time would be spent waiting for them. */
INLINE int find_records(Block *block, int64_t n, int64_t whole, const Grid *grid, const AnyRecord *records) {
    Bits outside = {0};
    for (int64_t i = 0; i < whole; i += LANES) outside |= place_lanes(block, i, grid);
    int is_outside = any(outside);
    if (is_outside) place_outside(block, whole, grid);
    int32_t n_cut = 0;
    UNROLLED
    for (int32_t i = 0; i < n; i++) {
        block->is_cut[n_cut] = i;
        __builtin_prefetch(records + block->cells[i], 1);
        n_cut += grid->numbers[block->cells[i]] != 0;
    }
    for (int32_t k = 0; k < n_cut; k++) {
        int32_t i = block->is_cut[k];
        block->cells[i] = part_of(block->probs[i], block->cells[i], grid);
    }
    return is_outside;
}

INLINE void add_row(const Block *block, int64_t i, AnyRecord *records) {
    AnyRecord *to = records + block->cells[i];
    Record row = block->rows[i], old = *to, is_less = (Numbers)old < (Numbers)row;
    Numbers largest = (Numbers)((row & is_less) | (old & ~is_less));
    *to = (Record)__builtin_shufflevector((Numbers)((Sum)row + (Sum)old), largest, 0, 1, 6, 7);
}

/* Scores of SIDE rows of lanes; returns where the observed event had a probability below all normal numbers, if it may. */
INLINE Bits score_sides(const double *probs, const uint8_t *events, int64_t with_logs, int may_be_rare, Sums *sums) {
    Lanes observed[SIDE];
    Bits rare = {0}, logs = {0};
    Unsigned squares = {0};
    EACH {
        Lanes p = load(probs + j * LANES), rest = 1.0 - p;
        Bits happened = happened_at(events + j * LANES);
        Lanes error = chosen(happened, rest, p);
        squares += (Unsigned)(error * error + SHIFT / UNIT); /* In units, which are the low bits. */
        observed[j] = chosen(happened, p, rest);
        if (!may_be_rare) continue;
        Bits is_rare = observed[j] < SMALLEST_NORMAL;
        observed[j] = chosen(is_rare, repeat(1.0), observed[j]);
        rare |= is_rare;
    }
    sums->squares += (Bits)(squares - SIDE * (uint64_t)bits_of(SHIFT / UNIT));
    if (!with_logs) return (Bits){0};
    if (__builtin_expect(any(add_quick_logs(observed, may_be_rare, &logs)), 0)) {
        log_sides(observed);
        logs = (Bits){0};
        EACH logs += nearest_lanes(observed[j] * UNIT);
    }
    sums->logs += logs;
    return rare;
}

/* Log losses of events that had a probability of 0, or below all normal numbers. */
static void score_rare(const double *probs, const uint8_t *events, int64_t n, Sums *sums) {
    for (int64_t i = 0; i < n; i++) {
        double observed = events[i] ? probs[i] : 1.0 - probs[i];
        if (observed >= SMALLEST_NORMAL) continue;
        if (observed == 0.0) {
            sums->never += 1;
            continue;
        }
        Lanes one[SIDE];
        EACH one[j] = repeat(observed * UP);
        log_sides(one);
        sums->rare_logs += nearest((one[0][0] - LOG_UP) * UNIT);
    }
}

INLINE void score(const Block *block, int64_t whole, int64_t with_logs, int may_be_rare, Sums *sums) {
    Bits rare = {0};
    for (int64_t i = 0; i < whole; i += SIDE * LANES)
        rare |= score_sides(block->probs + i, block->events + i, with_logs, may_be_rare, sums);
    if (any(rare)) score_rare(block->probs, block->events, whole, sums);
}

/* Rows counted and scored by turns, so that the processor computes while it waits for records. */
INLINE void count_and_score(const Block *block, int64_t n, int64_t with_logs, int may_be_rare, Sums *sums,
                            AnyRecord *records) {
    Bits rare = {0};
    int64_t scored = 0, counted = 0;
    for (; scored < n; scored += SIDE * LANES) {
        if (scored + SIDE * LANES <= n)
            for (; counted < scored + SIDE * LANES; counted++) add_row(block, counted, records);
        rare |= score_sides(block->probs + scored, block->events + scored, with_logs, may_be_rare, sums);
    }
    for (; counted < n; counted++) add_row(block, counted, records);
    if (any(rare)) score_rare(block->probs, block->events, scored, sums);
}

INLINE void write_sums(const Sums *sums, int64_t *to) {
    int64_t squares = 0, logs = sums->rare_logs;
    for (int j = 0; j < LANES; j++) {
        squares += sums->squares[j];
        logs += sums->logs[j];
    }
    to[0] = squares;
    to[1] = -logs;
    to[2] = sums->never;
}

/* Rows, of float if `single` and otherwise of double, into the records; and sums as of sketch_scores. */
EXPORT void NAME(sketch_records)(const void *probs, int64_t single, const uint8_t *events, int64_t n, int64_t digits,
                                 int64_t last, const uint8_t *numbers, const int32_t *ends, const double *cuts,
                                 int64_t *records, int64_t with_logs, int64_t *to) {
    const Grid grid = {digits, last, numbers, ends, cuts};
    const int64_t size = single ? 4 : 8;
    Sums sums = {0};
    Block block;
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t own = smallest(BLOCK, n - start);
        int64_t whole = fill(&block, (const char *)probs + size * start, single, events + start, own);
        if (find_records(&block, own, whole, &grid, (AnyRecord *)records))
            count_and_score(&block, own, with_logs, 1, &sums, (AnyRecord *)records);
        else
            count_and_score(&block, own, with_logs, 0, &sums, (AnyRecord *)records);
    }
    write_sums(&sums, to);
}

/* Sums in units of 2^-32: of squared errors and, unless they are infinite, of log losses; and how many are infinite. */
EXPORT void NAME(sketch_scores)(const double *probs, const uint8_t *events, int64_t n, int64_t with_logs,
                                int64_t *to) {
    Sums sums = {0};
    Block block;
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t whole = fill(&block, probs + start, 0, events + start, smallest(BLOCK, n - start));
        score(&block, whole, with_logs, 1, &sums);
    }
    write_sums(&sums, to);
}

/* Whether all numbers, of float if `single` and otherwise of double, are from 0 to 1 and not -0, and all labels are 0 or
   1. Read as unsigned integers, negative numbers and those that are none are larger than 1. */
EXPORT void NAME(sketch_plain)(const void *probs, int64_t single, const uint8_t *labels, int64_t n, int64_t *to) {
    uint64_t beyond = 0;
    uint32_t beyond_single = 0;
    uint8_t beyond_label = 0;
    if (single)
        for (int64_t i = 0; i < n; i++) beyond_single |= ((const uint32_t *)probs)[i] > 0x3f800000U;
    else
        for (int64_t i = 0; i < n; i++) beyond |= ((const uint64_t *)probs)[i] > 0x3ff0000000000000ULL;
    for (int64_t i = 0; i < n; i++) beyond_label |= labels[i] > 1;
    *to = !(beyond | beyond_single | beyond_label);
}
