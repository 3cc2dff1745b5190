/* An exponential that every build computes alike. */
#ifndef FCGBOOST_EXP_H
#define FCGBOOST_EXP_H

#include <stdint.h>

/* exp(x) for x <= 0, right to the last digit or the one before; 0 below -700. Written out, so that
 * it becomes vector instructions and has the same bits everywhere. */
static inline double exp_of(double x) {
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to whole numbers */
    double held = x < -700.0 ? -700.0 : x;
    double moved = held * 1.4426950408889634 + shift, whole = moved - shift;
    double r = (held - whole * 0.6931471803691238) - whole * 1.9082149292705877e-10;
    double p = (1.0 / 6227020800.0 * r + 1.0 / 479001600.0) * r + 1.0 / 39916800.0;
    p = (p * r + 1.0 / 3628800.0) * r + 1.0 / 362880.0;
    p = (p * r + 1.0 / 40320.0) * r + 1.0 / 5040.0;
    p = (p * r + 1.0 / 720.0) * r + 1.0 / 120.0;
    p = (p * r + 1.0 / 24.0) * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r * r + r + 1.0;
    union { double number; uint64_t bits; } power = {p}, exponent = {moved};
    power.bits += exponent.bits << 52; /* the whole number is in the last bits */
    return x < -700.0 ? 0.0 : power.number;
}

#endif
