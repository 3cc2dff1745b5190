/* Full correction for the losses of loss.h: Newton's method on sums that are updated
 * between points.
 *
 * The method is that of `NewtonSolver`, which serves any loss. From one point to the next only a
 * few rows become active or inactive: the Gram matrix and the gradient change by these rows and by
 * the new columns. Subtraction loses digits, so the sums are recomputed before that matters.
 */
#include "kernels.h"
#include "loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below this reciprocal condition number the normal equations lose too many digits. */
static const double SAFE_CONDITION = 1e-10;
static const double ARMIJO = 1e-4;
/* Changes of the objective below this share of its terms are rounding. */
static const double ROUNDING = 1e-15;
/* If a column has lost all but this share of its squared norm, the sums are recomputed. */
static const double LOSS = 1e-3;
enum { TRIALS = 20, UPDATES = 64, BLOCK = 1 << 17 };

typedef fcg_columns columns;

/* A point on a line from the last point of the columns. */
typedef struct {
    double *coef, *gradient;      /* (k,) */
    double *f, *g, *h, *rest;     /* (m,) */
    int64_t n_changed, *changed;  /* rows whose curvature differs */
    double *rows;                 /* their columns, (k, n_changed); NULL if sums are recomputed */
    double risk;
} point;

/* The work space of one call. */
typedef struct {
    point next;
    double *along, *direction, *system, *units, *gradient, *work;
    int *integers;
} room;

static double *numbers(int64_t n) { return malloc((size_t)(n + 1) * sizeof(double)); }

static int64_t *indices(int64_t n) { return malloc((size_t)(n + 1) * sizeof(int64_t)); }

static void copy(int64_t n, const double *from, double *to) {
    memcpy(to, from, (size_t)n * sizeof(double));
}

static void clear(int64_t n, double *x) { memset(x, 0, (size_t)n * sizeof(double)); }

static double dot(int64_t n, const double *a, const double *b) {
    double parts[4] = {0.0, 0.0, 0.0, 0.0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int l = 0; l < 4; l++) parts[l] += a[i + l] * b[i + l];
    for (; i < n; i++) parts[0] += a[i] * b[i];
    return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

/* out = A x. */
static void product(const columns *c, const double *x, double *out) {
    int m = (int)c->m, k = (int)c->k, stride = 1;
    double unit = 1.0, zero = 0.0;
    if (k == 0) clear(c->m, out); /* BLAS would not write anything */
    else c->blas->gemv("N", &m, &k, &unit, c->A, &m, x, &stride, &zero, out, &stride);
}

/* out = A[:, first:]^T x. */
static void back(const columns *c, int64_t first, const double *x, double *out) {
    int m = (int)c->m, k = (int)(c->k - first), stride = 1;
    double unit = 1.0, zero = 0.0;
    if (k > 0)
        c->blas->gemv("T", &m, &k, &unit, c->A + first * c->m, &m, x, &stride, &zero, out, &stride);
}

/* Compute slopes and curvatures at f; return the risk. */
static double pass(const columns *c, const double *restrict f, double *restrict g,
                   double *restrict h, double *restrict losses) {
    const double *restrict y = c->y, *restrict shares = c->shares;
    for (int64_t i = 0; i < c->m; i++) {
        double r = fcg_shortfall(c->bend, y[i], f[i]), s = fcg_bent(c->bend, r);
        losses[i] = s * (2.0 * r - s);
        g[i] = shares[i] * (-2.0 * s);
        h[i] = shares[i] * fcg_curvature(c->bend, r);
    }
    return dot(c->m, shares, losses);
}

/* Copy some rows of all columns, one column after the other. */
static void gather(const columns *c, int64_t n, const int64_t *rows, double *out) {
    for (int64_t j = 0; j < c->k; j++, out += n)
        for (int64_t i = 0; i < n; i++) out[i] = c->A[j * c->m + rows[i]];
}

static void note_peaks(columns *c) {
    for (int64_t j = 0; j < c->k; j++)
        if (c->gram[j * c->room + j] > c->peak[j]) c->peak[j] = c->gram[j * c->room + j];
}

/* Recompute the Gram matrix. */
static int renew(columns *c) {
    if (c->k == 0) return 0;
    int64_t k = c->k, size = BLOCK / (k + 1) + 1, n = 0;
    int64_t *rows = indices(size);
    double *block = numbers(size * k), unit = 1.0;
    int ld = (int)c->room, n_columns = (int)k;
    if (rows && block) {
        for (int64_t j = 0; j < k; j++) clear(k, c->gram + j * c->room);
        for (int64_t i = 0; i <= c->m; i++) {
            if (i < c->m && c->h[i] > 0.0) rows[n++] = i;
            if (n && (n == size || i == c->m)) {
                int n_rows = (int)n;
                gather(c, n, rows, block);
                for (int64_t j = 0; j < k; j++)
                    for (int64_t r = 0; r < n; r++) block[j * n + r] *= sqrt(c->h[rows[r]]);
                c->blas->syrk("U", "T", &n_columns, &n_rows, &unit, block, &n_rows, &unit, c->gram,
                              &ld);
                n = 0;
            }
        }
        for (int64_t j = 0; j < k; j++) {
            c->peak[j] = 0.0;
            for (int64_t i = 0; i < j; i++) c->gram[i * c->room + j] = c->gram[j * c->room + i];
        }
        note_peaks(c);
        c->n_updates = 0;
    }
    int status = rows && block ? 0 : -1;
    free(rows), free(block);
    return status;
}

/* Extend the sums to new columns; the Gram matrix by blocks of rows. */
static int extend(columns *c) {
    int64_t n_old = c->n_known, size = BLOCK / (c->k - n_old + 1) + 1;
    int k = (int)c->k, n_new = (int)(c->k - n_old), m = (int)c->m, ld = (int)c->room;
    double *weighted = numbers(size * n_new), unit = 1.0;
    if (!weighted) return -1;
    for (int64_t j = n_old; j < k; j++) {
        clear(k, c->gram + j * c->room);
        c->gradient[j] = dot(c->m, c->A + j * c->m, c->g);
        c->coef[j] = c->peak[j] = 0.0;
    }
    for (int64_t i = 0; i < c->m; i += size) {
        int n_rows = (int)(c->m - i < size ? c->m - i : size);
        for (int64_t j = 0; j < n_new; j++)
            for (int64_t r = 0; r < n_rows; r++)
                weighted[j * n_rows + r] = c->h[i + r] * c->A[(n_old + j) * c->m + i + r];
        c->blas->gemm("T", "N", &k, &n_new, &n_rows, &unit, c->A + i, &m, weighted, &n_rows, &unit,
                      c->gram + n_old * c->room, &ld);
    }
    for (int64_t j = n_old; j < k; j++)
        for (int64_t i = 0; i < n_old; i++) c->gram[i * c->room + j] = c->gram[j * c->room + i];
    c->n_known = c->k;
    note_peaks(c);
    free(weighted);
    return 0;
}

/* Whether this is the last point of the columns; new columns have coefficient 0. */
static int is_here(const columns *c, const double *coef) {
    if (c->n_known == 0) return 0;
    for (int64_t j = 0; j < c->k; j++)
        if (coef[j] != (j < c->n_known ? c->coef[j] : 0.0)) return 0;
    return 1;
}

/* Update the Gram matrix by the rows that changed. */
static int follow(columns *c, const point *to) {
    int64_t n = to->n_changed, k = c->k;
    int n_rows = (int)n, n_columns = (int)k, ld = (int)c->room;
    double *weighted = numbers(n * k), unit = 1.0;
    if (!weighted) return -1;
    for (int64_t r = 0; r < n; r++) {
        double step = to->h[to->changed[r]] - c->h[to->changed[r]];
        for (int64_t j = 0; j < k; j++) weighted[j * n + r] = step * to->rows[j * n + r];
    }
    if (n) {
        c->blas->gemm("T", "N", &n_columns, &n_columns, &n_rows, &unit, to->rows, &n_rows, weighted,
                      &n_rows, &unit, c->gram, &ld);
        c->n_updates++;
    }
    free(weighted);
    return 0;
}

/* Move the columns to a point. */
static int accept(columns *c, const point *to) {
    int status = to->rows ? follow(c, to) : 0, is_lost = !to->rows || c->n_updates >= UPDATES;
    copy(c->m, to->f, c->f), copy(c->m, to->g, c->g), copy(c->m, to->h, c->h);
    copy(c->k, to->coef, c->coef), copy(c->k, to->gradient, c->gradient);
    c->risk = to->risk;
    for (int64_t j = 0; j < c->k; j++) is_lost |= c->gram[j * c->room + j] < LOSS * c->peak[j];
    if (is_lost) return status ? status : renew(c);
    note_peaks(c);
    return status;
}

/* Compute slopes and curvatures at to->f, and gather the rows that changed if they are few enough
 * for updating the sums. */
static int look_at(columns *c, point *to) {
    int64_t n_active = 0, n = 0;
    to->risk = pass(c, to->f, to->g, to->h, to->rest);
    for (int64_t i = 0; i < c->m; i++) {
        to->changed[n] = i;
        /* From the tail to beyond the margin the slope changes alone. */
        n += to->h[i] != c->h[i] || (to->h[i] == 0.0 && to->g[i] != c->g[i]);
        n_active += to->h[i] > 0.0;
    }
    to->n_changed = n;
    free(to->rows), to->rows = NULL;
    if (2 * to->n_changed > n_active) return 0;
    to->rows = numbers(to->n_changed * c->k);
    if (!to->rows) return -1;
    gather(c, to->n_changed, to->changed, to->rows);
    return 0;
}

static void drop_room(room *r) {
    free(r->next.rows), free(r->next.changed), free(r->integers), free(r->along);
}

static int make_room(const columns *c, room *r) {
    int64_t m = c->m, k = c->k;
    memset(r, 0, sizeof *r);
    double *all = r->along = numbers(5 * m + k * k + 8 * k);
    r->next.changed = indices(m), r->integers = malloc((size_t)(k + 1) * sizeof(int));
    if (!all || !r->next.changed || !r->integers) return drop_room(r), -1;
    r->next.f = all + m, r->next.g = all + 2 * m, r->next.h = all + 3 * m;
    r->next.rest = all + 4 * m, all += 5 * m;
    r->system = all, all += k * k;
    r->direction = all, r->units = all + k, r->next.coef = all + 2 * k;
    r->next.gradient = all + 3 * k, r->gradient = all + 4 * k, r->work = all + 5 * k;
    return 0;
}

/* Move to any point. */
static int go_to(columns *c, room *r, const double *coef) {
    point *to = &r->next;
    int is_first = c->n_known == 0;
    if (!is_first && extend(c)) return -1;
    product(c, coef, to->f);
    copy(c->k, coef, to->coef);
    if (look_at(c, to)) return -1;
    if (is_first) free(to->rows), to->rows = NULL;
    back(c, 0, to->g, to->gradient);
    c->n_known = c->k, c->n_moves = 0;
    return accept(c, to);
}

/* Compute the Newton direction; return 0 if the normal equations are ill-conditioned. */
static int find_direction(const columns *c, room *r, const double *penalty, const double *norms) {
    int k = (int)c->k, n_sides = 1, info = 0;
    double condition = 0.0, norm = 0.0;
    for (int j = 0; j < k; j++) {
        double size = norms[j] > 0.0 ? norms[j] : 1.0;
        r->units[j] = 1.0 / sqrt(size * size + 2.0 * penalty[j]);
    }
    for (int64_t j = 0; j < k; j++) {
        double total = 0.0, *column = r->system + j * k;
        for (int64_t i = 0; i < k; i++) {
            column[i] = c->gram[j * c->room + i] * r->units[i] * r->units[j];
            if (i == j) column[i] += 2.0 * penalty[j] * r->units[j] * r->units[j];
            total += fabs(column[i]);
        }
        norm = total > norm ? total : norm;
        r->direction[j] = -r->gradient[j] * r->units[j];
    }
    c->blas->potrf("U", &k, r->system, &k, &info);
    if (info) return 0;
    c->blas->pocon("U", &k, r->system, &k, &norm, &condition, r->work, r->integers, &info);
    if (info || !(condition > SAFE_CONDITION)) return 0;
    c->blas->potrs("U", &k, &n_sides, r->system, &k, r->direction, &k, &info);
    for (int j = 0; j < k; j++) r->direction[j] *= r->units[j];
    return info == 0;
}

static double ridge_of(int64_t k, const double *penalty, const double *coef) {
    double total = 0.0;
    for (int64_t j = 0; j < k; j++) total += penalty[j] * (coef[j] * coef[j]);
    return total;
}

/* Compute the gradient of the mean loss at a point of the line: that of the quadratic model, plus
 * the contribution of the rows that changed. */
static void set_gradient(const columns *c, room *r, double length) {
    point *to = &r->next;
    if (!to->rows) {
        back(c, 0, to->g, to->gradient);
        return;
    }
    for (int64_t i = 0; i < to->n_changed; i++) {
        int64_t row = to->changed[i];
        to->rest[i] = to->g[row] - c->g[row] - length * (c->h[row] * r->along[row]);
    }
    for (int64_t j = 0; j < c->k; j++) {
        const double *column = to->rows + j * to->n_changed;
        to->gradient[j] = c->gradient[j] + dot(to->n_changed, column, to->rest);
        to->gradient[j] += length * dot(c->k, c->gram + j * c->room, r->direction);
    }
}

/* Find a step that halves the slope and lowers the objective; return 1 if there is one, 0 if there
 * is none, -1 if there is not enough memory. */
static int search(columns *c, room *r, const double *penalty, double objective, double slack) {
    double slope = dot(c->k, r->gradient, r->direction);
    double shortest = 0.0, longest = INFINITY, length = 1.0;
    if (!(slope < 0.0)) return 0;
    product(c, r->direction, r->along);
    for (int trial = 0; trial < TRIALS; trial++) {
        point *to = &r->next;
        for (int64_t i = 0; i < c->m; i++) to->f[i] = c->f[i] + length * r->along[i];
        if (look_at(c, to)) return -1;
        set_gradient(c, r, length);
        double new_slope = 0.0;
        for (int64_t j = 0; j < c->k; j++) {
            to->coef[j] = c->coef[j] + length * r->direction[j];
            new_slope += (to->gradient[j] + 2.0 * penalty[j] * to->coef[j]) * r->direction[j];
        }
        double reached = to->risk + ridge_of(c->k, penalty, to->coef);
        int has_fallen = reached <= objective + ARMIJO * length * slope + slack;
        if (has_fallen && fabs(new_slope) <= 0.5 * fabs(slope)) return 1;
        if (has_fallen && new_slope < 0.0) shortest = length;
        else longest = length;
        length = fmin(2.0 * length, (shortest + longest) / 2.0);
    }
    return 0;
}

int32_t fcg_look(fcg_columns *c, const double *coef) {
    room r;
    if (is_here(c, coef)) return c->n_known == c->k ? 0 : extend(c);
    if (make_room(c, &r)) return -1;
    int status = go_to(c, &r, coef);
    drop_room(&r);
    return status;
}

int32_t fcg_newton(fcg_columns *c, const double *penalty, const double *norms, double scale,
                   double tol, int64_t max_iter, double *coef) {
    room r;
    int status = 0, n_iter = 0;
    if (make_room(c, &r)) return -1;
    if (!is_here(c, coef) || c->n_moves > UPDATES) status = go_to(c, &r, coef);
    else if (c->n_known < c->k) status = extend(c);
    while (!status) {
        double largest = 0.0, length = 0.0;
        for (int64_t j = 0; j < c->k; j++) {
            r.gradient[j] = c->gradient[j] + 2.0 * penalty[j] * c->coef[j];
            if (fabs(r.gradient[j]) > largest || r.gradient[j] != r.gradient[j])
                largest = fabs(r.gradient[j]); /* NaN propagates */
            length += fabs(c->coef[j]);
        }
        c->objective = c->risk + ridge_of(c->k, penalty, c->coef);
        c->residual = largest / scale;
        if (c->residual <= tol || n_iter == max_iter) break;
        if (!find_direction(c, &r, penalty, norms)) break;
        double slack = ROUNDING * (c->objective + scale * length);
        int outcome = search(c, &r, penalty, c->objective, slack);
        status = outcome == 1 ? accept(c, &r.next) : outcome;
        if (outcome != 1) break;
        c->n_moves++, n_iter++;
    }
    copy(c->k, c->coef, coef);
    drop_room(&r);
    return status ? -1 : n_iter;
}
