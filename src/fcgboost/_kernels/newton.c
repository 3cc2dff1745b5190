/* Full correction for the losses of loss.h: Newton's method on sums that are updated
 * between points.
 *
 * The method is that of `NewtonSolver`, which serves any loss. From one point to the next only a
 * few rows become active or inactive: the Gram matrix and the gradient change by these rows and by
 * the new columns. Subtraction loses digits, so the sums are recomputed before that matters.
 */
#include "columns.h"

#include <math.h>

/* Below this reciprocal condition number the normal equations lose too many digits. */
static const double SAFE_CONDITION = 1e-10;
static const double ARMIJO = 1e-4;
/* Changes of the objective below this share of its terms are rounding. */
static const double ROUNDING = 1e-15;
enum { TRIALS = 20 };

typedef fcg_columns columns;

/* The work space of one call. */
typedef struct {
    point next;
    double *along, *direction, *system, *units, *gradient, *work;
    int *integers;
} room;

/* Whether this is the last point of the columns; new columns have coefficient 0. */
static int is_here(const columns *c, const double *coef) {
    if (c->n_known == 0) return 0;
    for (int64_t j = 0; j < c->k; j++)
        if (coef[j] != (j < c->n_known ? c->coef[j] : 0.0)) return 0;
    return 1;
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
    if (!is_first && fcg_extend(c)) return -1;
    fcg_product(c, coef, to->f);
    copy(c->k, coef, to->coef);
    if (fcg_look_at(c, to, NULL, 0.0)) return -1;
    if (is_first) free(to->rows), to->rows = NULL;
    if (fcg_back(c, to->g, to->gradient)) return -1;
    c->n_known = c->k, c->n_moves = 0;
    return fcg_accept(c, to);
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

/* A point of the line, at a distance from the last point of the columns. */
typedef struct {
    const columns *c;
    room *r;
    double length;
} line_point;

static void set_gradient_of_column(void *context, int64_t j) {
    const line_point *here = context;
    const columns *c = here->c;
    const room *r = here->r;
    const point *to = &r->next;
    const double *column = to->rows + j * to->n_changed;
    double *gradient = to->gradient + j;
    *gradient = c->gradient[j] + dot(to->n_changed, column, to->rest);
    *gradient += here->length * dot(c->k, c->gram + j * c->room, r->direction);
}

/* Compute the gradient of the mean loss at a point of the line: that of the quadratic model, plus
 * the contribution of the rows that changed. */
static int set_gradient(const columns *c, room *r, double length) {
    point *to = &r->next;
    if (!to->rows) return fcg_back(c, to->g, to->gradient);
    for (int64_t i = 0; i < to->n_changed; i++) {
        int64_t row = to->changed[i];
        to->rest[i] = to->g[row] - c->g[row] - length * (c->h[row] * r->along[row]);
    }
    line_point here = {c, r, length};
    fcg_share_columns(c->k, c->k * (to->n_changed + c->k), set_gradient_of_column, &here);
    return 0;
}

/* Find a step that halves the slope and lowers the objective; return 1 if there is one, 0 if there
 * is none, -1 if there is not enough memory. */
static int search(columns *c, room *r, const double *penalty, double objective, double slack) {
    double slope = dot(c->k, r->gradient, r->direction);
    double shortest = 0.0, longest = INFINITY, length = 1.0;
    if (!(slope < 0.0)) return 0;
    fcg_product(c, r->direction, r->along);
    for (int trial = 0; trial < TRIALS; trial++) {
        point *to = &r->next;
        if (fcg_look_at(c, to, r->along, length) || set_gradient(c, r, length)) return -1;
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
    if (is_here(c, coef)) return c->n_known == c->k ? 0 : fcg_extend(c);
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
    if (!is_here(c, coef) || c->n_moves > FCG_UPDATES) status = go_to(c, &r, coef);
    else if (c->n_known < c->k) status = fcg_extend(c);
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
        status = outcome == 1 ? fcg_accept(c, &r.next) : outcome;
        if (outcome != 1) break;
        c->n_moves++, n_iter++;
    }
    copy(c->k, c->coef, coef);
    drop_room(&r);
    return status ? -1 : n_iter;
}
