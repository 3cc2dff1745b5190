/* Passes over the rows at one point. */
#include "kernels.h"

void fcg_squared_hinge(int64_t n, const double *restrict y, const double *restrict shares,
                       const double *restrict f, double *restrict values,
                       double *restrict slopes, double *restrict curvatures) {
    for (int64_t i = 0; i < n; i++) {
        double shortfall = 1.0 - y[i] * f[i];
        shortfall = shortfall <= 0.0 ? 0.0 : shortfall;
        values[i] = shortfall * shortfall;
        slopes[i] = shares[i] * (-2.0 * y[i] * shortfall);
        curvatures[i] = shares[i] * (shortfall > 0.0 ? 2.0 : 0.0);
    }
}

void fcg_unforeseen(int64_t n, double length, const double *restrict g, const double *restrict h,
                    const double *restrict along, const double *restrict new_g,
                    const double *restrict new_h, double *restrict rest) {
    for (int64_t i = 0; i < n; i++) {
        double gap = new_g[i] - g[i] - length * (h[i] * along[i]);
        rest[i] = new_h[i] != h[i] ? gap : 0.0;
    }
}
