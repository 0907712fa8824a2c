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

INLINE double of_bits(int64_t bits) {
    Word word;
    word.bits = bits;
    return word.value;
}

INLINE int64_t bits_of(double value) {
    Word word;
    word.value = value;
    return word.bits;
}

/* The nearest integer, half to even, of a number below 2^51. */
INLINE int64_t nearest(double value) { return bits_of(value + SHIFT) - bits_of(SHIFT); }

/* The logarithm of a positive normal number; see log_lanes. */
INLINE double log_of(double x) {
    int64_t exponent = (bits_of(x) - ROOT_HALF_BITS) >> 52;
    double k = of_bits(bits_of(SHIFT) + exponent) - SHIFT;
    double f = of_bits(bits_of(x) - (int64_t)((uint64_t)exponent << 52)) - 1.0;
    double s = f / (f + 2.0);
    double z = s * s;
    double q = z * (2.0 / 21) + 2.0 / 19;
    q = q * z + 2.0 / 17;
    q = q * z + 2.0 / 15;
    q = q * z + 2.0 / 13;
    q = q * z + 2.0 / 11;
    q = q * z + 2.0 / 9;
    q = q * z + 2.0 / 7;
    q = q * z + 2.0 / 5;
    q = q * z + 2.0 / 3;
    double small = k * LOG2_LOW + s * z * q;
    return k * LOG2_HIGH + (small + (s + s));
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

/* Rows into cells: those without the event, those with it, offsets, smallest and largest prediction of each. `first` is
   the first part of every cell, of which each cut makes one more. */
EXPORT void NAME(sketch_rows)(const double *probs, const uint8_t *events, int64_t n, int64_t digits, int64_t last,
                              const int32_t *first, const double *cuts, int64_t *table) {
    int64_t cells[BLOCK], offsets[BLOCK];
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t size = smallest(BLOCK, n - start);
        const double *block = probs + start;
        place_all(block, size, digits, last, cells, offsets);
        for (int64_t i = 0; i < size; i++) {
            int64_t cell = cells[i], part = first[cell], parts = first[cell + 1] - part - 1;
            const double *inside = cuts + (part - cell);
            for (int64_t j = 0; j < parts; j++) part += block[i] >= inside[j];
            int64_t *to = table + COLUMNS * part, bits = bits_of(block[i]);
            to[events[start + i]] += 1;
            to[2] += offsets[i];
            if (bits < to[3]) to[3] = bits;
            if (bits > to[4]) to[4] = bits;
        }
    }
}

/* Sums in units of 2^-32: of squared errors and, unless they are infinite, of log losses; and how many are infinite. */
EXPORT void NAME(sketch_scores)(const double *probs, const uint8_t *events, int64_t n, int64_t with_logs,
                                int64_t *sums) {
    int64_t squares = 0, logs = 0, never = 0;
    for (int64_t i = 0; i < n; i++) {
        double error = events[i] ? 1.0 - probs[i] : probs[i];
        squares += nearest(error * error * UNIT);
    }
    for (int64_t i = 0; i < (with_logs ? n : 0); i++) {
        double observed = events[i] ? probs[i] : 1.0 - probs[i];
        int64_t is_zero = observed == 0.0, is_small = observed < SMALLEST_NORMAL && !is_zero;
        double normal = is_zero ? 1.0 : is_small ? observed * UP : observed;
        logs += nearest((log_of(normal) - (is_small ? LOG_UP : 0.0)) * UNIT);
        never += is_zero;
    }
    sums[0] = squares;
    sums[1] = -logs;
    sums[2] = never;
}
