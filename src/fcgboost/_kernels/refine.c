/* Atoms improved on their own parameters: one climb of one atom, from its start to its end.
 *
 * What is done is what `learning.improve` does for any family, with the same formulas. Rows lie in
 * blocks, feature by feature, so that loops over the rows of a block become vector instructions;
 * sums over rows are made in LANES parts, whose order is always the same.
 */
#include "exp.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, LANES = 4, MEMORY = 6, HALVINGS = 4 };

/* As many numbers side by side as a register holds; LANES are one or two of these. */
#if defined(__AVX__)
enum { WIDTH = 4 };
#else
enum { WIDTH = 2 };
#endif
typedef double vector __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));

/* A share of an atom's mean square below this is rounding. */
static const double ROUNDING = 1e-12;
/* Sufficient increase, and to which share a step is shortened. */
static const double INCREASE = 1e-4, SHORTER = 0.4;
/* An iteration that gains less than this share ends the climb. */
static const double LITTLE = 1e-3;
/* The first step, as a share of the atom's length. */
static const double FIRST_STEP = 0.1;

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

/* What a climb is about. */
typedef struct {
    int32_t family;
    rows data;
    const fcg_gain *gain;
    const double *leash;
    double *start; /* (d + 1,) */
} climb;

/* Sums over the rows of residual times value, of values, and of their squares. */
typedef struct {
    double dot, first, square;
} look_sums;

static double total_of(const double *s) { return (s[0] + s[1]) + (s[2] + s[3]); }

/* Add the products of two blocks to a sum in parts. */
static inline void add_products(const double *a, const double *b, double *sum) {
    for (int l = 0; l < LANES; l += WIDTH) {
        vector own = *(vector *)(sum + l);
        for (int i = l; i < BLOCK; i += LANES) own += *(vector *)(a + i) * *(vector *)(b + i);
        *(vector *)(sum + l) = own;
    }
}

/* Set the inner products of weights and the rows of a block, as many at once as registers hold. */
static inline void set_projections(int64_t d, const double *weights, const double *Z,
                                   double *values) {
    for (int first = 0; first < BLOCK; first += 4 * WIDTH) {
        const vector *z = (const vector *)(Z + first);
        vector *out = (vector *)(values + first), p = {0.0}, q = {0.0}, r = {0.0}, s = {0.0};
        for (int64_t j = 0; j < d; j++, z += BLOCK / WIDTH) {
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
static void set_values(const climb *c, const double *theta, int64_t block,
                       double *restrict values) {
    int64_t d = c->data.d;
    double last = theta[d];
    set_projections(d, theta, c->data.Z + block * d * BLOCK, values);
    if (c->family == FCG_RELU) {
        for (int i = 0; i < BLOCK; i++) {
            double value = values[i] + last;
            values[i] = value > 0.0 ? value : 0.0;
        }
        return;
    }
    double steepness = 0.5 * exp(-2.0 * last), length = dot(d, theta, theta);
    const double *restrict radii = c->data.radii + block * BLOCK;
    for (int i = 0; i < BLOCK; i++) {
        /* Only rounding can make a square negative. */
        double square = radii[i] - 2.0 * values[i] + length;
        square = square > 0.0 ? square : 0.0;
        values[i] = exp_of(-steepness * square);
    }
}

/* v(g) + lambda. */
static double size_of(const climb *c, look_sums s) {
    double squares = s.square;
    if (c->gain->is_centered) {
        double spread = squares - s.first * s.first / fmax(c->data.active, ROUNDING);
        squares = spread > ROUNDING * squares ? spread : 0.0;
    }
    return squares / c->gain->total_weight + c->gain->ridge;
}

/* The logarithm of the gain, less the pull back to the start. */
static double height_at(const climb *c, const double *theta, look_sums s) {
    double size = size_of(c, s), pull = 0.0;
    if (!(size > ROUNDING * s.square / c->gain->total_weight) || s.dot == 0.0) return -INFINITY;
    for (int64_t j = 0; j <= c->data.d; j++) {
        double away = theta[j] - c->start[j];
        pull += c->leash[j] * away * away;
    }
    return 2.0 * log(fabs(s.dot) / sqrt(size)) - pull;
}

/* Set the values of an atom, and return its height and its sums. */
static double look(const climb *c, const double *theta, look_sums *s) {
    double dots[LANES] = {0.0}, firsts[LANES] = {0.0}, squares[LANES] = {0.0}, weighted[BLOCK];
    for (int64_t at = 0; at < c->data.n; at += BLOCK) {
        double *restrict g = c->data.values + at;
        const double *restrict w = c->data.weights + at;
        set_values(c, theta, at / BLOCK, g);
        for (int i = 0; i < BLOCK; i++) weighted[i] = w[i] * g[i];
        add_products(c->data.residual + at, g, dots);
        add_products(w, g, firsts);
        add_products(weighted, g, squares);
    }
    *s = (look_sums){total_of(dots), total_of(firsts), total_of(squares)};
    return height_at(c, theta, *s);
}

/* Set the gradient of the height over the rows: sums of pulls times (z, 1); returns the sum of
 * pulls times |z|^2. */
static double set_pulls(const climb *c, look_sums s, double *slope) {
    const rows *data = &c->data;
    int64_t d = data->d;
    double along = 2.0 / (s.dot != 0.0 ? s.dot : 1.0);
    double across = 2.0 / (c->gain->total_weight * size_of(c, s));
    double mean = c->gain->is_centered ? s.first / data->active : 0.0;
    double pulls[BLOCK], ones[BLOCK];
    double spread[LANES] = {0.0}, *own = data->sums;
    int is_gauss = c->family == FCG_GAUSS;
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
static void set_slope(const climb *c, const double *theta, look_sums s, double *slope) {
    int64_t d = c->data.d;
    double spread = set_pulls(c, s, slope);
    if (c->family == FCG_GAUSS) {
        double steepness = exp(-2.0 * theta[d]), total = slope[d], inner = 0.0;
        for (int64_t j = 0; j < d; j++) {
            slope[j] -= total * theta[j];
            /* |z - c|^2 = |z|^2 - |c|^2 - 2 <z - c, c> */
            inner += total * theta[j] * theta[j] + 2.0 * slope[j] * theta[j];
            slope[j] *= steepness;
        }
        slope[d] = (spread - inner) * steepness;
    }
    for (int64_t j = 0; j <= d; j++) slope[j] -= 2.0 * c->leash[j] * (theta[j] - c->start[j]);
}

/* The last moves of a climb, what they changed in the slope, and their products; a ring. */
typedef struct {
    double *moved, *bent; /* (MEMORY, size) */
    double curvature[MEMORY];
} moves;

/* Set the inverse curvature times the slope, as far as the last of k moves tell; returns its rise
 * along the slope. */
static double set_direction(int64_t size, const double *theta, const double *slope,
                            const moves *last, int64_t k, double *direction) {
    int64_t first = k > MEMORY ? k - MEMORY : 0;
    double shares[MEMORY] = {0.0}, ratio = 1.0, length = dot(size, slope, slope);
    memcpy(direction, slope, (size_t)size * sizeof(double));
    for (int64_t i = k - 1; i >= first; i--) {
        int64_t at = i % MEMORY;
        if (last->curvature[at] <= 0.0) continue;
        shares[at] = dot(size, last->moved + at * size, direction) / last->curvature[at];
        add(size, direction, -shares[at], last->bent + at * size);
    }
    const double *newest = last->bent + (k + MEMORY - 1) % MEMORY * size;
    double curved = k > 0 ? last->curvature[(k - 1) % MEMORY] : 0.0;
    if (k == 0) ratio = FIRST_STEP * sqrt(dot(size, theta, theta)) / sqrt(length ? length : 1.0);
    else if (curved > 0.0) ratio = curved / dot(size, newest, newest);
    for (int64_t j = 0; j < size; j++) direction[j] *= ratio;
    for (int64_t i = first; i < k; i++) {
        int64_t at = i % MEMORY;
        if (last->curvature[at] <= 0.0) continue;
        double back = dot(size, last->bent + at * size, direction) / last->curvature[at];
        add(size, direction, shares[at] - back, last->moved + at * size);
    }
    double rise = dot(size, direction, slope);
    if (rise > 0.0) return rise;
    memcpy(direction, slope, (size_t)size * sizeof(double));
    return length;
}

/* Move theta uphill; `room` holds vectors of the climb's size. */
static void run(const climb *c, int64_t max_steps, double *theta, double *room) {
    int64_t size = c->data.d + 1;
    double *slope = room, *direction = room + size, *trial = room + 2 * size;
    moves last = {.moved = room + 3 * size, .bent = room + (3 + MEMORY) * size};
    look_sums s;
    double height = look(c, theta, &s);
    for (int64_t k = 0; k < max_steps; k++) {
        set_slope(c, theta, s, slope);
        if (k > 0) {
            int64_t at = (k - 1) % MEMORY;
            add(size, last.bent + at * size, -1.0, slope);
            last.curvature[at] = dot(size, last.moved + at * size, last.bent + at * size);
        }
        double rise = set_direction(size, theta, slope, &last, k, direction);
        if (!(rise > 0.0)) return;
        /* Not farther than the atom is long. */
        double reach = sqrt(dot(size, theta, theta)) / sqrt(dot(size, direction, direction));
        double step = reach < 1.0 ? reach : 1.0, tried = height, needed = INFINITY;
        for (int trials = 0; !(tried >= needed) && trials <= HALVINGS; trials++) {
            step = trials > 0 ? step * SHORTER : step;
            for (int64_t j = 0; j < size; j++) trial[j] = theta[j] + step * direction[j];
            tried = look(c, trial, &s);
            needed = height + INCREASE * step * rise;
        }
        if (!(tried >= needed) || !(tried > height)) return;
        int64_t at = k % MEMORY;
        for (int64_t j = 0; j < size; j++) {
            last.bent[at * size + j] = slope[j];
            last.moved[at * size + j] = trial[j] - theta[j];
            theta[j] = trial[j];
        }
        if (!(tried > height + LITTLE)) return;
        height = tried;
    }
}

/* Lay the rows out in blocks, behind them what else they have. */
static void lay_out(rows *data, int64_t n_rows, const double *Z, const double *residual,
                    const double *weights, double *room) {
    int64_t n = data->n, d = data->d;
    data->Z = room;
    data->residual = room + d * n;
    data->weights = data->residual + n;
    data->radii = data->weights + n;
    data->values = data->radii + n;
    data->sums = data->values + n;
    memset(data->residual, 0, (size_t)(3 * n) * sizeof(double));
    memcpy(data->residual, residual, (size_t)n_rows * sizeof(double));
    memcpy(data->weights, weights, (size_t)n_rows * sizeof(double));
    for (int64_t i = 0; i < n_rows; i++) data->active += weights[i];
    for (int64_t at = 0; at < n; at += BLOCK) {
        const double *restrict given = Z + at * d;
        double *restrict block = data->Z + at * d, *restrict radii = data->radii + at;
        int64_t n_own = n_rows - at < BLOCK ? n_rows - at : BLOCK;
        for (int64_t j = 0; j < d; j++) {
            for (int64_t i = 0; i < n_own; i++) block[j * BLOCK + i] = given[i * d + j];
            for (int64_t i = n_own; i < BLOCK; i++) block[j * BLOCK + i] = 0.0;
            for (int64_t i = j * BLOCK; i < (j + 1) * BLOCK; i++)
                radii[i - j * BLOCK] += block[i] * block[i];
        }
    }
}

int32_t fcg_refine(int32_t family, int64_t n_rows, int64_t n_features, const double *Z,
                   const double *residual, const double *weights, const fcg_gain *gain,
                   const double *leash, int64_t max_steps, double *theta) {
    int64_t d = n_features, n = (n_rows + BLOCK - 1) / BLOCK * BLOCK, size = d + 1;
    int64_t n_held = (d + 4) * n + size * LANES;
    double *room = malloc((size_t)(n_held + (4 + 2 * MEMORY) * size) * sizeof(double));
    if (room == NULL) return -1;
    climb c = {.family = family, .data = {.n = n, .d = d}, .gain = gain, .leash = leash};
    lay_out(&c.data, n_rows, Z, residual, weights, room);
    c.start = room + n_held;
    memcpy(c.start, theta, (size_t)size * sizeof(double));
    run(&c, max_steps, theta, c.start + size);
    free(room);
    return 0;
}
