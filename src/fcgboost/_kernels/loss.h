/* The losses with compiled passes over rows: the squared hinge and the square. */
#ifndef FCGBOOST_LOSS_H
#define FCGBOOST_LOSS_H

#include <stdint.h>

/* Return by how much the value f falls short of y, r = y - f; of the hinge, 0 beyond the margin.
 * The loss is r^2, its slope -2 r. For y of size one, y r = 1 - y f to the bit. */
static inline double fcg_shortfall(int64_t is_hinge, double y, double f) {
    double r = y - f;
    return is_hinge && y * r <= 0.0 ? 0.0 : r; /* NaN propagates */
}

/* Return the curvature of the loss at a shortfall r. */
static inline double fcg_curvature(int64_t is_hinge, double r) {
    return is_hinge && r == 0.0 ? 0.0 : 2.0;
}

#endif
