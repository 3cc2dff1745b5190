/* The identity of the library, and which of its builds the processor can run. */
#include "kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

const char *fcg_source_hash(void) { return FCG_SOURCE_HASH; }

int32_t fcg_has_v3(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d, low, high;
    const unsigned fma_osxsave_avx = 1u << 12 | 1u << 27 | 1u << 28;
    const unsigned bmi1_avx2_bmi2 = 1u << 3 | 1u << 5 | 1u << 8;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & fma_osxsave_avx) != fma_osxsave_avx) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if ((b & bmi1_avx2_bmi2) != bmi1_avx2_bmi2) return 0;
    /* The operating system must save the wide registers. */
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6u) == 6u;
#else
    return 0;
#endif
}
