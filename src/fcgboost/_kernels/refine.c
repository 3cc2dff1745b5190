/* Atoms drawn and refined on a residual.
 *
 * What is done is what `selection/learned.py` does for any family, with the same formulas. Rows lie
 * in blocks, feature by feature, so that loops over the rows of a block become vector instructions;
 * sums over rows are made in LANES parts, whose order is always the same.
 */
#include "exp.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = FCG_BLOCK, LANES = 4 };

/* As many numbers side by side as a register of newer processors holds. */
typedef double vector __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

/* Rows, padded by rows without weight to whole blocks. */
typedef struct {
    int64_t n, d;
    double *Z;                  /* (n / BLOCK, d, BLOCK) */
    double *residual, *weights; /* (n,) */
    double *radii;              /* |z|^2, (n,) */
    double *values;             /* of the atom, (n,) */
    double *sums;               /* in parts, (d + 1, LANES) */
    double active;              /* the sum of the weights */
} rows;

/* What atoms are to go along with, and the atom that is refined. */
typedef struct {
    const fcg_search *search;
    rows data;
    double ridge, total_weight;
    int32_t is_centered; /* whether a constant is fitted */
    double *start;       /* (d + 1,) */
    double hold;         /* how strongly all but the last entry are held there */
} problem;

/* Sums over the rows of residual times value, of values, and of their squares. */
typedef struct {
    double dot, first, square;
} look_sums;

/* The same in parts. */
typedef struct {
    double dots[LANES], firsts[LANES], squares[LANES];
} parts;

static double total_of(const double *s) { return (s[0] + s[1]) + (s[2] + s[3]); }

/* Add the products of two blocks to a sum in parts. */
static inline void add_products(const double *a, const double *b, double *sum) {
    vector own = *(vector *)sum;
    for (int i = 0; i < BLOCK; i += LANES) own += *(vector *)(a + i) * *(vector *)(b + i);
    *(vector *)sum = own;
}

/* Set the inner products of weights and the rows of a block, as many at once as registers hold. */
static inline void set_projections(int64_t d, const double *weights, const double *Z,
                                   double *values) {
    for (int first = 0; first < BLOCK; first += 4 * LANES) {
        const vector *z = (const vector *)(Z + first);
        vector *out = (vector *)(values + first), p = {0.0}, q = {0.0}, r = {0.0}, s = {0.0};
        for (int64_t j = 0; j < d; j++, z += BLOCK / LANES) {
            p += weights[j] * z[0], q += weights[j] * z[1];
            r += weights[j] * z[2], s += weights[j] * z[3];
        }
        out[0] = p, out[1] = q, out[2] = r, out[3] = s;
    }
}

/* The inner product of two short vectors. */
static double dot(int64_t n, const double *a, const double *b) {
    double total = 0.0;
    for (int64_t j = 0; j < n; j++) total += a[j] * b[j];
    return total;
}

static void add(int64_t n, double *out, double factor, const double *other) {
    for (int64_t j = 0; j < n; j++) out[j] += factor * other[j];
}

/* Set the values of an atom in a block: max(<w, z> + b, 0), or exp(-|z - c|^2 / 2 s^2) with
 * b = log s. */
static void set_values(const problem *p, const double *theta, int64_t block,
                       double *restrict values) {
    int64_t d = p->data.d;
    double last = theta[d];
    set_projections(d, theta, p->data.Z + block * d * BLOCK, values);
    if (p->search->family == FCG_RELU) {
        for (int i = 0; i < BLOCK; i++) values[i] = values[i] + last > 0.0 ? values[i] + last : 0.0;
        return;
    }
    double steepness = 0.5 * exp(-2.0 * last), length = dot(d, theta, theta);
    const double *restrict radii = p->data.radii + block * BLOCK;
    for (int i = 0; i < BLOCK; i++) {
        double square = radii[i] - 2.0 * values[i] + length; /* rounding makes it negative */
        values[i] = exp_of(-steepness * (square > 0.0 ? square : 0.0));
    }
}

/* v(g) + lambda. */
static double size_of(const problem *p, look_sums s) {
    double squares = s.square, rounding = p->search->rounding;
    if (p->is_centered) {
        double spread = squares - s.first * s.first / fmax(p->data.active, rounding);
        squares = spread > rounding * squares ? spread : 0.0;
    }
    return squares / p->total_weight + p->ridge;
}

/* The root of the gain, 0 for an atom that is nothing. */
static double score_of(const problem *p, look_sums s) {
    double size = size_of(p, s), least = p->search->rounding * s.square / p->total_weight;
    return size > least ? fabs(s.dot) / sqrt(size) : 0.0;
}

/* Set the values of an atom in a block, and add to its sums. */
static void add_block(const problem *p, const double *theta, int64_t block, double *restrict g,
                      parts *sums) {
    const double *restrict w = p->data.weights + block * BLOCK;
    double weighted[BLOCK];
    set_values(p, theta, block, g);
    for (int i = 0; i < BLOCK; i++) weighted[i] = w[i] * g[i];
    add_products(p->data.residual + block * BLOCK, g, sums->dots);
    add_products(w, g, sums->firsts);
    add_products(weighted, g, sums->squares);
}

static look_sums totals_of(const parts *sums) {
    return (look_sums){total_of(sums->dots), total_of(sums->firsts), total_of(sums->squares)};
}

/* Set the values of an atom and its sums; returns its height: the logarithm of the gain, less the
 * pull back to the start. */
static double look(const problem *p, const double *theta, look_sums *s) {
    parts sums = {{0.0}, {0.0}, {0.0}};
    double pull = 0.0;
    for (int64_t at = 0; at < p->data.n; at += BLOCK)
        add_block(p, theta, at / BLOCK, p->data.values + at, &sums);
    *s = totals_of(&sums);
    double score = score_of(p, *s);
    if (!(score > 0.0)) return -INFINITY;
    for (int64_t j = 0; j < p->data.d; j++) {
        double away = theta[j] - p->start[j];
        pull += p->hold * away * away;
    }
    return 2.0 * log(score) - pull;
}

/* Set the gradient of the height over the rows: sums of pulls times (z, 1); returns the sum of
 * pulls times |z|^2. */
static double set_pulls(const problem *p, look_sums s, double *slope) {
    const rows *data = &p->data;
    int64_t d = data->d;
    double along = 2.0 / (s.dot != 0.0 ? s.dot : 1.0);
    double across = 2.0 / (p->total_weight * size_of(p, s));
    double mean = p->is_centered ? s.first / data->active : 0.0;
    double pulls[BLOCK], ones[BLOCK];
    double spread[LANES] = {0.0}, *own = data->sums;
    int is_gauss = p->search->family == FCG_GAUSS;
    memset(own, 0, (size_t)((d + 1) * LANES) * sizeof(double));
    for (int i = 0; i < BLOCK; i++) ones[i] = 1.0;
    for (int64_t at = 0; at < data->n; at += BLOCK) {
        const double *restrict g = data->values + at, *restrict r = data->residual + at;
        const double *restrict w = data->weights + at, *Z = data->Z + at * d;
        for (int i = 0; i < BLOCK; i++) {
            double pull = r[i] * along - w[i] * (g[i] - mean) * across;
            pull = is_gauss ? pull * g[i] : pull;
            /* Where a ReLU atom is zero it has no slope, and a Gauss atom hardly has one. */
            pulls[i] = g[i] > 0.0 ? pull : 0.0;
        }
        for (int64_t j = 0; j < d; j++) add_products(pulls, Z + j * BLOCK, own + j * LANES);
        add_products(pulls, ones, own + d * LANES);
        if (is_gauss) add_products(pulls, data->radii + at, spread);
    }
    for (int64_t j = 0; j <= d; j++) slope[j] = total_of(own + j * LANES);
    return total_of(spread);
}

/* Set the gradient of the height. */
static void set_slope(const problem *p, const double *theta, look_sums s, double *slope) {
    int64_t d = p->data.d;
    double spread = set_pulls(p, s, slope);
    if (p->search->family == FCG_GAUSS) {
        double steepness = exp(-2.0 * theta[d]), total = slope[d], inner = 0.0;
        for (int64_t j = 0; j < d; j++) {
            slope[j] -= total * theta[j];
            /* |z - c|^2 = |z|^2 - |c|^2 - 2 <z - c, c> */
            inner += total * theta[j] * theta[j] + 2.0 * slope[j] * theta[j];
            slope[j] *= steepness;
        }
        slope[d] = (spread - inner) * steepness;
    }
    for (int64_t j = 0; j < d; j++) slope[j] -= 2.0 * p->hold * (theta[j] - p->start[j]);
}

/* The last moves, what they changed in the slope, and the products of both; a ring. */
typedef struct {
    double *moved, *bent;       /* (memory, d + 1) */
    double *curvature, *shares; /* (memory,), the latter to work in */
} moves;

/* Set the inverse curvature times the slope, as far as the last of k moves tell; returns its rise
 * along the slope. */
static double set_direction(const problem *p, const double *theta, const double *slope,
                            const moves *last, int64_t k, double *direction) {
    int64_t size = p->data.d + 1, memory = p->search->memory, first = k > memory ? k - memory : 0;
    double *shares = last->shares, ratio = 1.0, length = dot(size, slope, slope);
    memcpy(direction, slope, (size_t)size * sizeof(double));
    for (int64_t i = k - 1; i >= first; i--) {
        int64_t at = i % memory;
        if (last->curvature[at] <= 0.0) continue;
        shares[at] = dot(size, last->moved + at * size, direction) / last->curvature[at];
        add(size, direction, -shares[at], last->bent + at * size);
    }
    const double *newest = last->bent + (k + memory - 1) % memory * size;
    double curved = k > 0 ? last->curvature[(k - 1) % memory] : 0.0;
    if (k == 0)
        ratio = p->search->first_step * sqrt(dot(size, theta, theta) / (length ? length : 1.0));
    else if (curved > 0.0) ratio = curved / dot(size, newest, newest);
    for (int64_t j = 0; j < size; j++) direction[j] *= ratio;
    for (int64_t i = first; i < k; i++) {
        int64_t at = i % memory;
        if (last->curvature[at] <= 0.0) continue;
        double back = dot(size, last->bent + at * size, direction) / last->curvature[at];
        add(size, direction, shares[at] - back, last->moved + at * size);
    }
    double rise = dot(size, direction, slope);
    if (rise > 0.0) return rise;
    memcpy(direction, slope, (size_t)size * sizeof(double));
    return length;
}

/* Move theta uphill; `room` holds 3 + 2 memory vectors of its size, and 2 memory numbers. */
static void move_uphill(const problem *p, double *theta, double *room) {
    const fcg_search *rules = p->search;
    int64_t size = p->data.d + 1, memory = rules->memory;
    double *slope = room, *direction = room + size, *trial = room + 2 * size;
    moves last = {.moved = room + 3 * size, .bent = room + (3 + memory) * size};
    last.curvature = room + (3 + 2 * memory) * size, last.shares = last.curvature + memory;
    look_sums s;
    double height = look(p, theta, &s);
    for (int64_t k = 0; k < rules->max_steps; k++) {
        set_slope(p, theta, s, slope);
        if (k > 0) {
            int64_t at = (k - 1) % memory;
            add(size, last.bent + at * size, -1.0, slope);
            last.curvature[at] = dot(size, last.moved + at * size, last.bent + at * size);
        }
        double rise = set_direction(p, theta, slope, &last, k, direction);
        if (!(rise > 0.0)) return;
        /* Not farther than the atom is long. */
        double reach = sqrt(dot(size, theta, theta)) / sqrt(dot(size, direction, direction));
        double step = reach < 1.0 ? reach : 1.0, tried = height, needed = INFINITY;
        for (int64_t trials = 0; !(tried >= needed) && trials <= rules->n_shorter; trials++) {
            step = trials > 0 ? step * rules->shorter : step;
            for (int64_t j = 0; j < size; j++) trial[j] = theta[j] + step * direction[j];
            tried = look(p, trial, &s);
            needed = height + rules->increase * step * rise;
        }
        if (!(tried >= needed) || !(tried > height)) return;
        int64_t at = k % memory;
        for (int64_t j = 0; j < size; j++) {
            last.bent[at * size + j] = slope[j];
            last.moved[at * size + j] = trial[j] - theta[j];
            theta[j] = trial[j];
        }
        if (!(tried > height + rules->little)) return;
        height = tried;
    }
}

/* Where a row begins in rows that lie in blocks. */
static int64_t place_of(int64_t row, int64_t d) { return row / BLOCK * BLOCK * d + row % BLOCK; }

/* Lay some rows out in blocks, behind them what else they have. */
static void lay_out(rows *data, int64_t n_rows, const int64_t *numbers, const double *Z,
                    const double *residual, const double *weights, double *room) {
    int64_t n = data->n, d = data->d;
    data->Z = room, data->residual = room + d * n, data->weights = data->residual + n;
    data->radii = data->weights + n, data->values = data->radii + n, data->sums = data->values + n;
    memset(room, 0, (size_t)((d + 3) * n) * sizeof(double));
    for (int64_t i = 0; i < n_rows; i++) {
        const double *given = Z + place_of(numbers[i], d);
        double *own = data->Z + place_of(i, d);
        for (int64_t j = 0; j < d * BLOCK; j += BLOCK) {
            own[j] = given[j];
            data->radii[i] += own[j] * own[j];
        }
        data->residual[i] = residual[numbers[i]];
        data->weights[i] = weights[numbers[i]];
        data->active += data->weights[i];
    }
}

/* Set the scores of all atoms that were drawn, block by block. */
static void set_scores(const problem *p, const double *atoms, parts *sums, double *scores) {
    int64_t n_atoms = p->search->size, size = p->data.d + 1;
    double values[BLOCK];
    memset(sums, 0, (size_t)n_atoms * sizeof(parts));
    for (int64_t block = 0; block < p->data.n / BLOCK; block++)
        for (int64_t k = 0; k < n_atoms; k++)
            add_block(p, atoms + k * size, block, values, sums + k);
    for (int64_t k = 0; k < n_atoms; k++) scores[k] = score_of(p, totals_of(sums + k));
}

/* The first of those that score as well as the best, which is then out. */
static int64_t take_best(const problem *p, double *scores) {
    double best = -1.0;
    int64_t k = 0;
    for (int64_t i = 0; i < p->search->size; i++) best = scores[i] > best ? scores[i] : best;
    while (k < p->search->size - 1 && !(scores[k] >= (1.0 - p->search->tie) * best)) k++;
    scores[k] = -1.0;
    return k;
}

/* Refine an atom; what is not finite then stays as it was. */
static void refine(problem *p, const double *drawn, double *theta, double *room) {
    int64_t d = p->data.d, size = d + 1;
    double square = dot(d, drawn, drawn), most = p->search->pull_times_weight / p->data.active;
    double pull = most < p->search->pull ? most : p->search->pull;
    p->hold = pull / (square > 0.0 ? square : 1.0);
    memcpy(theta, drawn, (size_t)size * sizeof(double));
    /* Of a hinge that goes through a row, rounding would decide whether the row has a slope. */
    theta[d] += p->search->nudge * sqrt(dot(size, drawn, drawn));
    memcpy(p->start, theta, (size_t)size * sizeof(double));
    move_uphill(p, theta, room);
    for (int64_t j = 0; j < size; j++)
        if (!isfinite(theta[j])) memcpy(theta, drawn, (size_t)size * sizeof(double));
}

/* Divide (w, b) by its largest value at n rows, unless that is as good as nothing. */
static void scale(int64_t n, int64_t d, const double *Z, double least, double *atom) {
    double largest = 0.0, values[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t n_own = n - at < BLOCK ? n - at : BLOCK;
        set_projections(d, atom, Z + at * d, values);
        for (int64_t i = 0; i < n_own; i++) largest = fmax(largest, values[i] + atom[d]);
    }
    for (int64_t j = 0; j <= d && largest > least; j++) atom[j] /= largest;
}

int32_t fcg_propose(const fcg_search *search, int64_t n, int64_t d, const double *Z,
                    const double *residual, const double *weights, double ridge,
                    double total_weight, int32_t is_centered, uint64_t key, double *atoms) {
    int64_t most = n < search->n_rows ? n : search->n_rows, n_drawn = search->size, size = d + 1;
    int64_t n_held = (d + 4) * ((most + BLOCK - 1) / BLOCK * BLOCK) + size * LANES;
    int64_t n_work = (4 + 2 * search->memory) * size + 2 * search->memory;
    int64_t n_room = n_held + n_work + n_drawn * (size + d) + most + n_drawn;
    double *room = malloc((size_t)n_room * sizeof(double) + (size_t)n_drawn * sizeof(parts));
    if (room == NULL) return -1;
    double *work = room + n_held, *drawn = work + n_work, *points = drawn + n_drawn * size;
    int64_t *numbers = (int64_t *)(points + n_drawn * d), *at = numbers + most;
    int64_t n_active = fcg_sample(n, weights, most, n_drawn, key, numbers, at);
    int64_t n_rows = n_active > most ? most : n_active > 0 ? n_active : 1;
    double share = n_active > most ? (double)most / (double)n_active : 1.0;
    problem p = {search, {.n = (n_rows + BLOCK - 1) / BLOCK * BLOCK, .d = d}, ridge,
                 share * total_weight, is_centered, work, 0.0};
    lay_out(&p.data, n_rows, numbers, Z, residual, weights, room);
    for (int64_t k = 0; k < n_drawn * d; k++) points[k] = Z[place_of(at[k / d], d) + k % d * BLOCK];
    fcg_draw(search, d, points, key, drawn);
    set_scores(&p, drawn, (parts *)(at + n_drawn), points); /* which are not needed any more */
    double *starts = atoms + (search->max_steps > 0 ? search->n_improved * size : 0);
    for (int64_t k = 0; k < search->n_improved; k++) {
        const double *best = drawn + take_best(&p, points) * size;
        memcpy(starts + k * size, best, (size_t)size * sizeof(double));
        if (search->max_steps > 0) refine(&p, best, atoms + k * size, work + size);
    }
    for (double *atom = atoms; atom < starts + search->n_improved * size; atom += size)
        if (search->family == FCG_GAUSS) atom[d] = exp(atom[d]);
        else scale(n, d, Z, search->rounding, atom);
    free(room);
    return 0;
}
