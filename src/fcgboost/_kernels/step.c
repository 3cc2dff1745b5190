/* The step between two full corrections: only the newest coefficient and the constant are fitted,
 * by Newton's method on a loss of loss.h.
 */
#include "kernels.h"
#include "loss.h"

#include <string.h>

/* A determinant below this share of the product of the diagonal is rounding. */
static const double SAFE_CONDITION = 1e-10;
static const double ARMIJO = 1e-4;
/* Stop when an iteration would gain less than this share of the first. */
static const double LITTLE = 1e-9;
enum { TRIALS = 20, LANES = 4 };

/* Add a few rows to the sums; inlined, so that the rows of different lanes are independent. */
static inline void add_rows(const fcg_columns *c, const double *restrict a,
                            const double *restrict f, double u, double b, int64_t i, int64_t n,
                            double parts[6][LANES]) {
    for (int64_t l = 0; l < n; l++) {
        double value = a[i + l];
        double r = fcg_shortfall(c->bend, c->y[i + l], f[i + l] + u + b * value);
        double s = fcg_bent(c->bend, r), g = c->shares[i + l] * (-2.0 * s);
        double h = c->shares[i + l] * fcg_curvature(c->bend, r);
        parts[0][l] += -0.5 * g * (2.0 * r - s);
        parts[1][l] += g;
        parts[2][l] += g * value;
        parts[3][l] += h;
        parts[4][l] += h * value;
        parts[5][l] += h * value * value;
    }
}

/* Sums over rows at f + u + b a: the risk, and the first and second derivatives in u and b. */
static void line_sums(const fcg_columns *c, const double *restrict a, const double *restrict f,
                      double u, double b, double *sums) {
    double parts[6][LANES] = {{0.0}};
    int64_t whole = c->m / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES) add_rows(c, a, f, u, b, i, LANES, parts);
    add_rows(c, a, f, u, b, whole, c->m - whole, parts);
    for (int s = 0; s < 6; s++)
        sums[s] = (parts[s][0] + parts[s][1]) + (parts[s][2] + parts[s][3]);
}

/* Add u + b a to the values, and compute the slopes there. */
static void move(const fcg_columns *c, const double *restrict a, double u, double b,
                 double *restrict f, double *restrict g) {
    const double *restrict y = c->y, *restrict shares = c->shares;
    for (int64_t i = 0; i < c->m; i++) {
        f[i] += u + b * a[i];
        g[i] = shares[i] * (-2.0 * fcg_bent(c->bend, fcg_shortfall(c->bend, y[i], f[i])));
    }
}

void fcg_step(const fcg_columns *c, int64_t j, int32_t has_constant, double l2, double *f,
              double *g, double *added) {
    const double *a = c->A + j * c->m;
    double u = 0.0, b = 0.0, first = 0.0, s[6], t[6];
    line_sums(c, a, f, u, b, s);
    for (int round = 0; round < TRIALS; round++) {
        double gu = has_constant ? s[1] : 0.0, gb = s[2] + 2.0 * l2 * b;
        double huu = has_constant ? s[3] : 1.0, hub = has_constant ? s[4] : 0.0;
        double hbb = s[5] + 2.0 * l2, det = huu * hbb - hub * hub;
        double du = (hub * gb - hbb * gu) / det, db = (hub * gu - huu * gb) / det;
        if (!(det > SAFE_CONDITION * huu * hbb)) { /* rank one: take the shortest direction */
            double trace = huu + hbb;
            du = -(huu * gu + hub * gb) / (trace * trace);
            db = -(hub * gu + hbb * gb) / (trace * trace);
        }
        double slope = gu * du + gb * db, objective = s[0] + l2 * b * b, length = 1.0;
        if (!(slope < -LITTLE * first)) break;
        first = first > 0.0 ? first : -slope;
        int trial = 0;
        for (; trial < TRIALS; trial++, length *= 0.5) {
            double v = b + length * db;
            line_sums(c, a, f, u + length * du, v, t);
            if (t[0] + l2 * v * v <= objective + ARMIJO * length * slope) break;
        }
        if (trial == TRIALS) break;
        u += length * du, b += length * db;
        memcpy(s, t, sizeof s);
    }
    move(c, a, u, b, f, g);
    added[0] = u, added[1] = b, added[2] = s[0];
}
