/* Which of the compiled levels this processor can run: 4 and 3 are x86-64-v4 and -v3, 1 is what every one can. */
#include "lanes.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Which registers the operating system saves when it switches between threads. */
static uint32_t saved_registers(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int has(uint32_t found, uint32_t required) { return (found & required) == required; }

EXPORT int64_t calibrant_level(void) {
    uint32_t a, b, c, d;
    uint32_t v3_basic = bit_FMA | bit_AVX | bit_OSXSAVE | bit_F16C | bit_MOVBE, v3 = bit_AVX2 | bit_BMI | bit_BMI2;
    uint32_t v4 = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, v3_basic)) return 1;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, v3)) return 1;
    uint32_t saved = saved_registers(); /* 2 and 4: those of AVX; 32, 64 and 128: those of AVX-512 */
    if (!has(saved, 2 | 4)) return 1;
    return has(b, v4) && has(saved, 32 | 64 | 128) ? 4 : 3;
}
#else
EXPORT int64_t calibrant_level(void) { return 1; }
#endif
