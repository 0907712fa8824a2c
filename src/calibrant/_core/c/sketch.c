/* Rows counted into the cells of a sketch, and the sums of their scores in fixed point: integers only, so that any order
   of the rows gives the same sums. This file is compiled without contraction of multiplications and additions: every
   machine rounds alike. */
#include "lanes.h"

#define BLOCK 1024
#define COLUMNS 5
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

/* Cells and offsets of a block of rows. Nearly all of most data are in the range of all digits, which takes no branch. */
INLINE void place_all(const double *probs, int64_t n, int64_t digits, int64_t last, int64_t *cells, int64_t *offsets) {
    int64_t rest = 52 - digits, mask = (1LL << rest) - 1, cut = rest - OFFSET_BITS, outside = 0;
    for (int64_t i = 0; i < n; i++) {
        double p = probs[i];
        int64_t bits = bits_of(p > 0.5 ? 1.0 - p : p), cell = FIRST_MAIN + ((bits - MAIN) >> rest);
        offsets[i] = (bits & mask) >> cut;
        cells[i] = p > 0.5 ? last - cell : cell;
        outside |= bits < MAIN;
    }
    for (int64_t i = 0; i < (outside ? n : 0); i++) {
        int upper = probs[i] > 0.5;
        int64_t cell = place(bits_of(upper ? 1.0 - probs[i] : probs[i]), digits, offsets + i);
        cells[i] = upper ? last - cell : cell;
    }
}

/* Rows of a block into cells: those without the event, those with it, offsets, smallest and largest prediction of each.
   `first` is the first part of every cell, of which each cut makes one more. */
INLINE void count(const double *probs, const uint8_t *events, int64_t n, int64_t digits, int64_t last,
                  const int32_t *first, const double *cuts, int64_t *table) {
    int64_t cells[BLOCK], offsets[BLOCK];
    place_all(probs, n, digits, last, cells, offsets);
    for (int64_t i = 0; i < n; i++) {
        int64_t cell = cells[i], part = first[cell], parts = first[cell + 1] - part - 1;
        if (__builtin_expect(parts > 0, 0)) {
            const double *inside = cuts + (part - cell);
            for (int64_t j = 0; j < parts; j++) part += probs[i] >= inside[j];
        }
        int64_t *to = table + COLUMNS * part, bits = bits_of(probs[i]);
        to[events[i]] += 1;
        to[2] += offsets[i];
        if (bits < to[3]) to[3] = bits;
        if (bits > to[4]) to[4] = bits;
    }
}

typedef uint8_t Few __attribute__((vector_size(LANES), aligned(1)));

typedef struct {
    Bits squares, logs;
    int64_t rare_logs, never;
} Sums;

/* Scores of SIDE rows of lanes; returns where the observed event had a probability below all normal numbers. */
INLINE Bits score_sides(const double *probs, const uint8_t *events, int64_t with_logs, Sums *sums) {
    Lanes observed[SIDE];
    Bits rare = {0};
    EACH {
        Lanes p = load(probs + j * LANES), rest = 1.0 - p;
        Bits happened = -__builtin_convertvector(*(const Few *)(events + j * LANES), Bits);
        Lanes error = chosen(happened, rest, p);
        sums->squares += nearest_lanes(error * error * UNIT);
        observed[j] = chosen(happened, p, rest);
        Bits is_rare = observed[j] < SMALLEST_NORMAL;
        observed[j] = chosen(is_rare, repeat(1.0), observed[j]);
        rare |= is_rare;
    }
    if (!with_logs) return (Bits){0};
    log_sides(observed);
    EACH sums->logs += nearest_lanes(observed[j] * UNIT);
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

/* Scores of a block of rows. */
INLINE void score(const double *probs, const uint8_t *events, int64_t n, int64_t with_logs, Sums *sums) {
    Bits rare = {0};
    int64_t i = 0, any = 0;
    for (; i + SIDE * LANES <= n; i += SIDE * LANES) rare |= score_sides(probs + i, events + i, with_logs, sums);
    if (i < n) {
        double last[SIDE * LANES]; /* Filled up with events that were certain, whose scores are 0. */
        uint8_t happened[SIDE * LANES];
        for (int64_t j = 0; j < SIDE * LANES; j++) {
            last[j] = i + j < n ? probs[i + j] : 1.0;
            happened[j] = i + j < n ? events[i + j] : 1;
        }
        rare |= score_sides(last, happened, with_logs, sums);
    }
    for (int j = 0; j < LANES; j++) any |= rare[j];
    if (any) score_rare(probs, events, n, sums);
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

/* Rows, of float if `single` and otherwise of double, into the table; and sums as of sketch_scores. All of it a block at
   a time, which stays in the cache. Adding 0 makes -0 positive, whose bits are those of no cell. */
EXPORT void NAME(sketch_rows)(const void *probs, int64_t single, const uint8_t *events, int64_t n, int64_t digits,
                              int64_t last, const int32_t *first, const double *cuts, int64_t *table,
                              int64_t with_logs, int64_t *to) {
    double wide[BLOCK];
    Sums sums = {0};
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t size = smallest(BLOCK, n - start);
        if (single)
            for (int64_t i = 0; i < size; i++) wide[i] = ((const float *)probs)[start + i] + 0.0;
        else
            for (int64_t i = 0; i < size; i++) wide[i] = ((const double *)probs)[start + i] + 0.0;
        count(wide, events + start, size, digits, last, first, cuts, table);
        score(wide, events + start, size, with_logs, &sums);
    }
    write_sums(&sums, to);
}

/* Sums in units of 2^-32: of squared errors and, unless they are infinite, of log losses; and how many are infinite. */
EXPORT void NAME(sketch_scores)(const double *probs, const uint8_t *events, int64_t n, int64_t with_logs,
                                int64_t *to) {
    Sums sums = {0};
    for (int64_t start = 0; start < n; start += BLOCK)
        score(probs + start, events + start, smallest(BLOCK, n - start), with_logs, &sums);
    write_sums(&sums, to);
}
