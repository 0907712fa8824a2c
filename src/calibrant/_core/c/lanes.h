/* A vector of doubles: as many as a register of the processor holds.

   The innermost loops run over classes or rows while their sums stay in registers and the lanes run over columns, which
   compilers do not achieve by themselves. Nothing is reassociated: results depend only on the width of the registers. */
#ifndef CALIBRANT_LANES_H
#define CALIBRANT_LANES_H

#include <stdint.h>

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
/* The library holds everything once per level of the processor; names say which: calibrant_v4_pair_sum. */
#ifndef LEVEL
#define LEVEL v1
#endif
#define JOINED(level, name) calibrant_##level##_##name
#define WITH_LEVEL(level, name) JOINED(level, name)
#define NAME(name) WITH_LEVEL(LEVEL, name)

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll_count(4)")
#else
#define UNROLLED
#endif
#define ALIGNED __attribute__((aligned(64)))

typedef double Lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t Bits __attribute__((vector_size(8 * LANES)));
typedef uint64_t Unsigned __attribute__((vector_size(8 * LANES))); /* May overflow: of results that are not used. */
typedef double Unaligned __attribute__((vector_size(8 * LANES), aligned(8)));

#define ABSOLUTE_BITS 0x7fffffffffffffffLL

INLINE int64_t smallest(int64_t x, int64_t y) { return x < y ? x : y; }
INLINE int64_t largest(int64_t x, int64_t y) { return x > y ? x : y; }

INLINE Lanes load(const double *at) { return *(const Unaligned *)at; }
INLINE void store(double *at, Lanes value) { *(Unaligned *)at = value; }

INLINE Lanes repeat(double value) {
    Lanes all = {0.0};
    for (int i = 0; i < LANES; i++) all[i] = value;
    return all;
}

/* Low where x < y, otherwise high. */
INLINE Lanes if_less(Lanes x, Lanes y, Lanes low, Lanes high) {
    Bits less = x < y;
    return (Lanes)(((Bits)low & less) | ((Bits)high & ~less));
}

INLINE Lanes smaller(Lanes x, Lanes y) { return if_less(x, y, x, y); }
INLINE Lanes larger(Lanes x, Lanes y) { return if_less(y, x, x, y); }
INLINE Lanes absolute(Lanes x) { return (Lanes)((Bits)x & ABSOLUTE_BITS); }

INLINE Lanes root(Lanes x) {
    for (int i = 0; i < LANES; i++) x[i] = __builtin_sqrt(x[i]);
    return x;
}

/* The sum of all lanes, halves first. */
INLINE double total(Lanes x) {
#if LANES == 8
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
#elif LANES == 4
    return (x[0] + x[1]) + (x[2] + x[3]);
#else
    return x[0] + x[1];
#endif
}

/* Exponential and logarithm within two units in the last place, by arithmetic alone: the same on every system. */

#define PER_LOG2 1.4426950408889634
/* ln 2 in two parts; the first has 33 bits, so that its product with an exponent is exact. */
#define LOG2_HIGH 0.6931471803691238
#define LOG2_LOW 1.9082149292705877e-10
/* Adding 1.5 * 2**52 rounds to the nearest integer and leaves it in the low bits. */
#define SHIFT 6755399441055744.0
/* Below this the result would not be a normal number; it is taken as 0. */
#define LOWEST (-708.0)

/* e**x for x <= 708, and 0 below -708. The polynomial is (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, interpolated at the
   ten Chebyshev points: the error of e^r is 2e-17. */
INLINE Lanes exp_lanes(Lanes x) {
    Lanes shifted = x * PER_LOG2 + SHIFT;
    Lanes k = shifted - SHIFT;
    Lanes r = x - k * LOG2_HIGH;
    r = r - k * LOG2_LOW;
    Lanes q = r * 2.510038549551032e-08 + 2.7620088445409746e-07;
    q = q * r + 2.7557268459997064e-06;
    q = q * r + 2.4801521295954376e-05;
    q = q * r + 0.00019841269863053618;
    q = q * r + 0.0013888888917213717;
    q = q * r + 0.008333333333330062;
    q = q * r + 0.04166666666662413;
    q = q * r + 0.16666666666666669;
    q = q * r + 0.5000000000000001;
    q = (q * r + 1.0) * r + 1.0;
    Lanes scaled = (Lanes)((Unsigned)q + ((Unsigned)shifted << 52));
    return if_less(x, repeat(LOWEST), repeat(0.0), scaled);
}

#define ROOT_HALF_BITS 0x3fe6a09e667f3bcdLL

/* The natural logarithm of a positive normal number, which is f * 2^k with f between sqrt(1/2) and sqrt(2). With
   s = (f - 1) / (f + 1) it is the series 2 s (1 + s^2 / 3 + s^4 / 5 + ...): s^2 < 0.03, so the next term is below 1e-17. */
INLINE Lanes log_lanes(Lanes x) {
    Bits exponent = ((Bits)x - ROOT_HALF_BITS) >> 52;
    Lanes k = __builtin_convertvector(exponent, Lanes);
    Lanes f = (Lanes)((Unsigned)x - ((Unsigned)exponent << 52)) - 1.0;
    Lanes s = f / (f + 2.0);
    Lanes z = s * s;
    Lanes q = z * (2.0 / 21) + 2.0 / 19;
    q = q * z + 2.0 / 17;
    q = q * z + 2.0 / 15;
    q = q * z + 2.0 / 13;
    q = q * z + 2.0 / 11;
    q = q * z + 2.0 / 9;
    q = q * z + 2.0 / 7;
    q = q * z + 2.0 / 5;
    q = q * z + 2.0 / 3;
    Lanes small = k * LOG2_LOW + s * z * q;
    return k * LOG2_HIGH + (small + (s + s));
}

/* log(1 + u) for u >= 0, accurate for small u too. */
INLINE Lanes log1p_lanes(Lanes u) {
    Lanes y = u + 1.0;
    return log_lanes(y) + (u - (y - 1.0)) / y;
}

/* x**exponent for x >= 0, at most e^700. The logarithm takes normal numbers only; the power of a smaller one is 0. */
INLINE Lanes power_lanes(Lanes x, double exponent) {
    Lanes power = exp_lanes(smaller(log_lanes(x) * exponent, repeat(700.0)));
    return if_less(x, repeat(1e-300), repeat(0.0), power);
}

#endif
