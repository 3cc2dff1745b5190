/* An exponential function that gives the same bits in every build. */
#ifndef FCGBOOST_EXP_H
#define FCGBOOST_EXP_H

#include <stdint.h>

/* exp(x) for x <= 0, accurate to one or two units in the last place; 0 below -700. Written out so
 * that compilers vectorise it and it has the same bits everywhere. */
static inline double exp_of(double x) {
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to integers */
    double clipped = x < -700.0 ? -700.0 : x;
    double moved = clipped * 1.4426950408889634 + shift, whole = moved - shift;
    double r = (clipped - whole * 0.6931471803691238) - whole * 1.9082149292705877e-10;
    double p = (1.0 / 6227020800.0 * r + 1.0 / 479001600.0) * r + 1.0 / 39916800.0;
    p = (p * r + 1.0 / 3628800.0) * r + 1.0 / 362880.0;
    p = (p * r + 1.0 / 40320.0) * r + 1.0 / 5040.0;
    p = (p * r + 1.0 / 720.0) * r + 1.0 / 120.0;
    p = (p * r + 1.0 / 24.0) * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r * r + r + 1.0;
    union { double number; uint64_t bits; } power = {p}, exponent = {moved};
    power.bits += exponent.bits << 52; /* the integer is in the lowest bits */
    return x < -700.0 ? 0.0 : power.number;
}

#endif
