/* The losses with compiled passes over rows. The number `bend` says which one it is: 0 is the
 * square; else it is the squared hinge, linear from this shortfall on, INFINITY for nowhere. */
#ifndef FCGBOOST_LOSS_H
#define FCGBOOST_LOSS_H

#include <math.h>

/* Return by how much the value f falls short of y, r = y - f; of a hinge, 0 beyond the margin.
 * For y of size one, y r = 1 - y f to the bit. */
static inline double fcg_shortfall(double bend, double y, double f) {
    double r = y - f;
    return bend > 0.0 && y * r <= 0.0 ? 0.0 : r; /* NaN propagates */
}

/* Return the shortfall up to the bend, s: the loss is s (2 r - s), its slope -2 s. */
static inline double fcg_bent(double bend, double r) {
    return bend > 0.0 && fabs(r) > bend ? copysign(bend, r) : r;
}

/* Return the curvature of the loss at a shortfall r. */
static inline double fcg_curvature(double bend, double r) {
    return bend > 0.0 && (r == 0.0 || fabs(r) > bend) ? 0.0 : 2.0;
}

#endif
