#include "kernels.h"

const char *fcg_source_hash(void) { return FCG_SOURCE_HASH; }

int32_t fcg_has_v3(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
#else
    return 0;
#endif
}
