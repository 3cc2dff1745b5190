/* The step between two full corrections: only the newest coefficient and the constant are fitted,
 * by Newton's method on a loss of loss.h.
 */
#include "loss.h"
#include "pool.h"

#include <string.h>

/* A determinant below this share of the product of the diagonal is rounding. */
static const double SAFE_CONDITION = 1e-10;
static const double ARMIJO = 1e-4;
/* Stop when an iteration would gain less than this share of the first. */
static const double LITTLE = 1e-9;
enum { TRIALS = 20, LANES = 4 };
/* The most parts of the rows, and the sums of each. */
enum { PARTS = 64, SUMS = 6 };

/* Add a few rows to the sums; inlined, so that the rows of different lanes are independent. */
static inline void add_rows(const fcg_columns *c, const double *restrict a,
                            const double *restrict f, double u, double b, int64_t i, int64_t n,
                            double parts[SUMS][LANES]) {
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

/* A point f + u + b a, which the parts of the rows share. */
typedef struct {
    const fcg_columns *c;
    const double *a;
    double *f, *g;
    double u, b;
    double sums[PARTS][SUMS];
} line_point;

static int64_t end_of_part(const fcg_columns *c, int64_t part) {
    int64_t end = (part + 1) * fcg_rows_a_part(c->m);
    return end < c->m ? end : c->m;
}

static void add_part(void *context, int64_t part) {
    line_point *at = context;
    const fcg_columns *c = at->c;
    double parts[SUMS][LANES] = {{0.0}};
    int64_t i = part * fcg_rows_a_part(c->m), end = end_of_part(c, part);
    for (; i + LANES <= end; i += LANES) add_rows(c, at->a, at->f, at->u, at->b, i, LANES, parts);
    add_rows(c, at->a, at->f, at->u, at->b, i, end - i, parts);
    for (int s = 0; s < SUMS; s++)
        at->sums[part][s] = (parts[s][0] + parts[s][1]) + (parts[s][2] + parts[s][3]);
}

static void move_part(void *context, int64_t part) {
    const line_point *at = context;
    const fcg_columns *c = at->c;
    const double *restrict a = at->a, *restrict y = c->y, *restrict shares = c->shares;
    double *restrict f = at->f, *restrict g = at->g;
    for (int64_t i = part * fcg_rows_a_part(c->m); i < end_of_part(c, part); i++) {
        f[i] += at->u + at->b * a[i];
        g[i] = shares[i] * (-2.0 * fcg_bent(c->bend, fcg_shortfall(c->bend, y[i], f[i])));
    }
}

static int64_t n_parts_of(const fcg_columns *c) {
    return (c->m + fcg_rows_a_part(c->m) - 1) / fcg_rows_a_part(c->m);
}

/* Sums over rows at f + u + b a: the risk, and the first and second derivatives in u and b. */
static void line_sums(line_point *at, double u, double b, double *sums) {
    at->u = u, at->b = b;
    fcg_share(n_parts_of(at->c), add_part, at);
    memset(sums, 0, SUMS * sizeof(double));
    for (int64_t part = 0; part < n_parts_of(at->c); part++)
        for (int s = 0; s < SUMS; s++) sums[s] += at->sums[part][s];
}

void fcg_step(const fcg_columns *c, int64_t j, int32_t has_constant, double l2, double *f,
              double *g, double *added) {
    line_point at = {.c = c, .a = c->A + j * c->m, .f = f, .g = g};
    double u = 0.0, b = 0.0, first = 0.0, s[SUMS], t[SUMS];
    line_sums(&at, u, b, s);
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
            line_sums(&at, u + length * du, v, t);
            if (t[0] + l2 * v * v <= objective + ARMIJO * length * slope) break;
        }
        if (trial == TRIALS) break;
        u += length * du, b += length * db;
        memcpy(s, t, sizeof s);
    }
    /* Add u + b a to the values, and compute the slopes there. */
    at.u = u, at.b = b;
    fcg_share(n_parts_of(c), move_part, &at);
    added[0] = u, added[1] = b, added[2] = s[0];
}
