/* The functions that turn sums over inputs into values of atoms. */
#ifndef FCGBOOST_PROFILES_H
#define FCGBOOST_PROFILES_H

#include "exp.h"
#include "kernels.h"

#include <math.h>

/* Compute the values of atoms from their sums z. */
static inline void fcg_apply(int64_t profile, int64_t n, const double *z, double *values) {
    if (profile == FCG_RAMP)
        for (int64_t a = 0; a < n; a++) values[a] = z[a] > 0.0 ? z[a] : 0.0;
    else if (profile == FCG_STEP)
        for (int64_t a = 0; a < n; a++) values[a] = z[a] > 0.0 ? 1.0 : 0.0;
    else if (profile == FCG_BELL)
        for (int64_t a = 0; a < n; a++) values[a] = exp_of(-z[a]);
    else
        for (int64_t a = 0; a < n; a++) {
            double small = exp_of(-fabs(z[a])), large = 1.0 / (1.0 + small);
            values[a] = z[a] > 0.0 ? large : small * large;
        }
}

#endif
