/* Atoms drawn and refined on a residual.
 *
 * The formulas are those of `selection/learned.py`, which serves any family. Rows are stored in
 * blocks, feature by feature, so that loops over the rows of a block become vector instructions.
 * Sums over rows are split into LANES partial sums, always in the same order. Threads share the
 * rows in parts that their number fixes, and the sums of parts are added up in order.
 */
#include "exp.h"
#include "pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = FCG_BLOCK, LANES = 4 };
/* The most parts of the rows, and their least rows. */
enum { PARTS = 64, LEAST_ROWS = 1 << 11 };

/* As many numbers as a register of newer processors holds. */
typedef double vector __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

/* Rows, padded to whole blocks by rows without weight. */
typedef struct {
    int64_t n, d;
    double *Z;                  /* (n / BLOCK, d, BLOCK) */
    double *residual, *weights; /* (n,) */
    double *radii;              /* |z|^2, (n,) */
    double *values;             /* the values of the atom, (n,) */
    double *sums;               /* partial sums, (n_parts, d + 2, LANES) */
    double active;              /* the sum of the weights */
} rows;

/* Return the rows of a part, which has whole blocks. */
static int64_t rows_a_part(int64_t n) {
    int64_t size = (n + PARTS * BLOCK - 1) / (PARTS * BLOCK) * BLOCK;
    return size < LEAST_ROWS ? LEAST_ROWS : size;
}

static int64_t n_parts_of(int64_t n) { return (n + rows_a_part(n) - 1) / rows_a_part(n); }

static int64_t end_of_part(int64_t n, int64_t part) {
    int64_t end = (part + 1) * rows_a_part(n);
    return end < n ? end : n;
}

/* Add the sums of all parts to those of the first. */
static void add_parts(int64_t n_parts, int64_t n_sums, double *sums) {
    for (int64_t part = 1; part < n_parts; part++)
        for (int64_t i = 0; i < n_sums; i++) sums[i] += sums[part * n_sums + i];
}

/* The data that atoms are refined on, and the start of the refinement. */
typedef struct {
    const fcg_search *search;
    rows data;
    double ridge, total_weight;
    int32_t is_centered; /* whether a constant is fitted */
    double *start;       /* (d + 1,) */
    double hold;         /* the penalty for moving away from it; the last entry is free */
} problem;

/* Sums over the rows of residual times value, of values, and of their squares. */
typedef struct {
    double dot, first, square;
} look_sums;

/* The same as partial sums. */
typedef struct {
    double dots[LANES], firsts[LANES], squares[LANES];
} parts;

static double total_of(const double *s) { return (s[0] + s[1]) + (s[2] + s[3]); }

/* Add the products of two blocks to partial sums. */
static inline void add_products(const double *a, const double *b, double *sum) {
    vector total = *(vector *)sum;
    for (int i = 0; i < BLOCK; i += LANES) total += *(vector *)(a + i) * *(vector *)(b + i);
    *(vector *)sum = total;
}

/* Compute the inner products of weights and the rows of a block, as many at once as registers
 * hold. */
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

/* Compute the values of an atom in a block: max(<w, z> + b, 0), or exp(-|z - c|^2 / 2 s^2) with
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
        double square = radii[i] - 2.0 * values[i] + length; /* negative by rounding at most */
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

/* The square root of the gain; 0 for an atom that vanishes. */
static double score_of(const problem *p, look_sums s) {
    double size = size_of(p, s), least = p->search->rounding * s.square / p->total_weight;
    return size > least ? fabs(s.dot) / sqrt(size) : 0.0;
}

/* Compute the values of an atom in a block, and add them to its sums. */
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

/* What the parts of the rows share: some atoms, one after the other, and their sums. */
typedef struct {
    const problem *p;
    const double *atoms;
    int64_t n_atoms;
    parts *sums; /* (n_parts, n_atoms) */
} shared_atoms;

/* Compute the sums of atoms; the values of a single one are kept. */
static void look_at_part(void *context, int64_t part) {
    const shared_atoms *all = context;
    const rows *data = &all->p->data;
    parts *sums = all->sums + part * all->n_atoms;
    double values[BLOCK];
    memset(sums, 0, (size_t)all->n_atoms * sizeof(parts));
    for (int64_t at = part * rows_a_part(data->n); at < end_of_part(data->n, part); at += BLOCK)
        for (int64_t k = 0; k < all->n_atoms; k++)
            add_block(all->p, all->atoms + k * (data->d + 1), at / BLOCK,
                      all->n_atoms == 1 ? data->values + at : values, sums + k);
}

/* Compute the sums of atoms, those of the first part being those of all. */
static void look_at(const problem *p, int64_t n_atoms, const double *atoms, parts *sums) {
    fcg_share(n_parts_of(p->data.n), look_at_part, &(shared_atoms){p, atoms, n_atoms, sums});
    add_parts(n_parts_of(p->data.n), n_atoms * 3 * LANES, (double *)sums);
}

/* Compute the values of an atom and its sums. Returns its height: the logarithm of the gain minus
 * the penalty for moving away from the start. */
static double look(const problem *p, const double *theta, look_sums *s) {
    parts sums[PARTS];
    double proximity = 0.0;
    look_at(p, 1, theta, sums);
    *s = totals_of(sums);
    double score = score_of(p, *s);
    if (!(score > 0.0)) return -INFINITY;
    for (int64_t j = 0; j < p->data.d; j++) {
        double away = theta[j] - p->start[j];
        proximity += p->hold * away * away;
    }
    return 2.0 * log(score) - proximity;
}

/* What the derivatives of the log gain are made of. */
typedef struct {
    const problem *p;
    double along, across, mean;
} derivatives;

/* Add up the derivatives in each value times (z, 1, |z|^2). */
static void add_derivatives(void *context, int64_t part) {
    const derivatives *all = context;
    const rows *data = &all->p->data;
    int64_t d = data->d;
    double slopes[BLOCK], ones[BLOCK], *sums = data->sums + part * (d + 2) * LANES;
    int is_gauss = all->p->search->family == FCG_GAUSS;
    for (int i = 0; i < BLOCK; i++) ones[i] = 1.0;
    for (int64_t i = 0; i < (d + 2) * LANES; i++) sums[i] = 0.0;
    for (int64_t at = part * rows_a_part(data->n); at < end_of_part(data->n, part); at += BLOCK) {
        const double *restrict g = data->values + at, *restrict r = data->residual + at;
        const double *restrict w = data->weights + at, *Z = data->Z + at * d;
        for (int i = 0; i < BLOCK; i++) {
            double slope = r[i] * all->along - w[i] * (g[i] - all->mean) * all->across;
            slope = is_gauss ? slope * g[i] : slope;
            /* Where a ReLU atom is zero it has no slope, and a Gauss atom hardly has one. */
            slopes[i] = g[i] > 0.0 ? slope : 0.0;
        }
        for (int64_t j = 0; j < d; j++) add_products(slopes, Z + j * BLOCK, sums + j * LANES);
        add_products(slopes, ones, sums + d * LANES);
        if (is_gauss) add_products(slopes, data->radii + at, sums + (d + 1) * LANES);
    }
}

/* Compute the gradient of the log gain with respect to (w, b): sums of the derivatives in each
 * value times (z, 1). Returns the sum of these derivatives times |z|^2. */
static double set_derivatives(const problem *p, look_sums s, double *slope) {
    const rows *data = &p->data;
    int64_t d = data->d, n_parts = n_parts_of(data->n);
    double along = 2.0 / (s.dot != 0.0 ? s.dot : 1.0);
    double across = 2.0 / (p->total_weight * size_of(p, s));
    derivatives all = {p, along, across, p->is_centered ? s.first / data->active : 0.0};
    fcg_share(n_parts, add_derivatives, &all);
    add_parts(n_parts, (d + 2) * LANES, data->sums);
    for (int64_t j = 0; j <= d; j++) slope[j] = total_of(data->sums + j * LANES);
    return total_of(data->sums + (d + 1) * LANES);
}

/* Compute the gradient of the height. */
static void set_slope(const problem *p, const double *theta, look_sums s, double *slope) {
    int64_t d = p->data.d;
    double spread = set_derivatives(p, s, slope);
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

/* The last moves, the changes of the slope, and their inner products, as a ring buffer. */
typedef struct {
    double *moved, *bent;       /* (memory, d + 1) */
    double *curvature, *shares; /* (memory,); the latter is work space */
} moves;

/* Compute the BFGS direction, the approximate inverse curvature times the slope, from the last of k
 * moves. Returns its inner product with the slope. */
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

/* Move theta uphill; `room` has space for 3 + 2 memory vectors and 2 memory numbers. */
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
        /* Not farther than the norm of the atom. */
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

/* The offset of a row's first feature in the blocks. */
static int64_t offset_of(int64_t row, int64_t d) { return row / BLOCK * BLOCK * d + row % BLOCK; }

/* Sampled rows that are copied, and where they come from. */
typedef struct {
    rows *data;
    int64_t n_rows;
    const int64_t *numbers;
    const double *Z, *residual, *weights;
} sampling;

static void lay_out_part(void *context, int64_t part) {
    const sampling *all = context;
    const rows *data = all->data;
    int64_t d = data->d;
    for (int64_t i = part * rows_a_part(data->n); i < end_of_part(data->n, part); i++) {
        int is_there = i < all->n_rows;
        int64_t number = all->numbers[is_there ? i : 0];
        const double *source = all->Z + offset_of(number, d);
        double *target = data->Z + offset_of(i, d), square = 0.0;
        for (int64_t j = 0; j < d * BLOCK; j += BLOCK) {
            target[j] = is_there ? source[j] : 0.0;
            square += target[j] * target[j];
        }
        data->radii[i] = square;
        data->residual[i] = is_there ? all->residual[number] : 0.0;
        data->weights[i] = is_there ? all->weights[number] : 0.0;
    }
}

/* Copy the sampled rows into blocks, followed by their residuals, weights and squared norms. */
static void lay_out(rows *data, int64_t n_rows, const int64_t *numbers, const double *Z,
                    const double *residual, const double *weights, double *room) {
    int64_t n = data->n, d = data->d;
    data->Z = room, data->residual = room + d * n, data->weights = data->residual + n;
    data->radii = data->weights + n, data->values = data->radii + n, data->sums = data->values + n;
    fcg_share(n_parts_of(n), lay_out_part,
              &(sampling){data, n_rows, numbers, Z, residual, weights});
    for (int64_t i = 0; i < n_rows; i++) data->active += data->weights[i];
}

/* Return the first candidate within the tie tolerance of the best score. */
static int64_t first_best(const problem *p, const double *scores) {
    double best = -1.0;
    int64_t k = 0;
    for (int64_t i = 0; i < p->search->size; i++) best = scores[i] > best ? scores[i] : best;
    while (k < p->search->size - 1 && !(scores[k] >= (1.0 - p->search->tie) * best)) k++;
    return k;
}

/* Refine an atom; if the result is not finite, keep the original. */
static void refine(problem *p, const double *drawn, double *theta, double *room) {
    int64_t d = p->data.d, size = d + 1;
    double square = dot(d, drawn, drawn), most = p->search->proximity_times_weight / p->data.active;
    double proximity = most < p->search->proximity ? most : p->search->proximity;
    p->hold = proximity / (square > 0.0 ? square : 1.0);
    memcpy(theta, drawn, (size_t)size * sizeof(double));
    /* If the hinge lies exactly at a row, rounding would decide whether the row has a slope. */
    theta[d] += p->search->nudge * sqrt(dot(size, drawn, drawn));
    memcpy(p->start, theta, (size_t)size * sizeof(double));
    move_uphill(p, theta, room);
    for (int64_t j = 0; j < size; j++)
        if (!isfinite(theta[j])) memcpy(theta, drawn, (size_t)size * sizeof(double));
}

/* An atom, and its largest value in each part of the rows. */
typedef struct {
    int64_t n, d;
    const double *Z, *atom;
    double largest[PARTS];
} heights;

static void set_largest(void *context, int64_t part) {
    heights *all = context;
    int64_t d = all->d, end = end_of_part(all->n, part);
    double largest = 0.0, values[BLOCK];
    for (int64_t at = part * rows_a_part(all->n); at < end; at += BLOCK) {
        int64_t n_rows = end - at < BLOCK ? end - at : BLOCK;
        set_projections(d, all->atom, all->Z + at * d, values);
        for (int64_t i = 0; i < n_rows; i++) largest = fmax(largest, values[i] + all->atom[d]);
    }
    all->largest[part] = largest;
}

/* Divide (w, b) by its largest value at n rows, unless that is rounding. */
static void scale(int64_t n, int64_t d, const double *Z, double least, double *atom) {
    heights all = {.n = n, .d = d, .Z = Z, .atom = atom};
    double largest = 0.0;
    fcg_share(n_parts_of(n), set_largest, &all);
    for (int part = 0; part < PARTS; part++) largest = fmax(largest, all.largest[part]);
    for (int64_t j = 0; j <= d && largest > least; j++) atom[j] /= largest;
}

/* One number more than needed: malloc(0) may return NULL. */
static double *new_numbers(int64_t n) { return malloc((size_t)(n + 1) * sizeof(double)); }
static int64_t *new_indices(int64_t n) { return malloc((size_t)(n + 1) * sizeof(int64_t)); }

/* The memory of one proposal. */
typedef struct {
    double *rows;           /* the sampled rows, as `lay_out` arranges them */
    double *start;          /* (d + 1,): the atom before refinement */
    double *search;         /* for `move_uphill` */
    double *points, *drawn; /* (size, d): where atoms are drawn; (size, d + 1): these atoms */
    double *scores;         /* (size,) */
    parts *sums;            /* (n_parts, size) */
    int64_t *sampled, *at;  /* the indices of the sampled rows and of the points */
} workspace;

static void free_workspace(workspace *w) {
    free(w->rows), free(w->start), free(w->search), free(w->points), free(w->drawn);
    free(w->scores), free(w->sums), free(w->sampled), free(w->at);
}

/* Return whether there is enough memory; if not, nothing is kept. */
static int make_workspace(const fcg_search *search, int64_t d, int64_t max_rows, workspace *w) {
    int64_t n_drawn = search->size, n_padded = (max_rows + BLOCK - 1) / BLOCK * BLOCK;
    w->rows = new_numbers((d + 4) * n_padded + n_parts_of(n_padded) * (d + 2) * LANES);
    w->start = new_numbers(d + 1);
    w->search = new_numbers((3 + 2 * search->memory) * (d + 1) + 2 * search->memory);
    w->points = new_numbers(n_drawn * d);
    w->drawn = new_numbers(n_drawn * (d + 1));
    w->scores = new_numbers(n_drawn);
    w->sums = malloc((size_t)(n_parts_of(n_padded) * n_drawn + 1) * sizeof(parts));
    w->sampled = new_indices(max_rows);
    w->at = new_indices(n_drawn);
    if (w->rows && w->start && w->search && w->points && w->drawn && w->scores && w->sums &&
        w->sampled && w->at)
        return 1;
    free_workspace(w);
    return 0;
}

int32_t fcg_propose(const fcg_search *search, int64_t n, int64_t d, const double *Z,
                    const double *residual, const double *weights, double ridge,
                    double total_weight, int32_t is_centered, uint64_t key, double *atoms) {
    workspace w;
    int64_t max_rows = n < search->n_rows ? n : search->n_rows, size = d + 1;
    if (!make_workspace(search, d, max_rows, &w)) return -1;
    int64_t n_active = fcg_sample(n, weights, max_rows, search->size, key, w.sampled, w.at);
    int64_t n_rows = n_active > max_rows ? max_rows : n_active > 0 ? n_active : 1;
    double share = n_active > max_rows ? (double)max_rows / (double)n_active : 1.0;
    problem p = {.search = search,
                 .data = {.n = (n_rows + BLOCK - 1) / BLOCK * BLOCK, .d = d},
                 .ridge = ridge,
                 .total_weight = share * total_weight,
                 .is_centered = is_centered,
                 .start = w.start};
    lay_out(&p.data, n_rows, w.sampled, Z, residual, weights, w.rows);
    for (int64_t k = 0; k < search->size; k++)
        for (int64_t j = 0; j < d; j++)
            w.points[k * d + j] = Z[offset_of(w.at[k], d) + j * BLOCK];
    fcg_draw(search, d, w.points, key, w.drawn);
    look_at(&p, search->size, w.drawn, w.sums);
    for (int64_t k = 0; k < search->size; k++) w.scores[k] = score_of(&p, totals_of(w.sums + k));
    double *original = atoms + (search->max_steps > 0 ? size : 0);
    memcpy(original, w.drawn + first_best(&p, w.scores) * size, (size_t)size * sizeof(double));
    if (search->max_steps > 0) refine(&p, original, atoms, w.search);
    for (double *atom = atoms; atom <= original; atom += size)
        if (search->family == FCG_GAUSS) atom[d] = exp(atom[d]);
        else scale(n, d, Z, search->rounding, atom);
    free_workspace(&w);
    return 0;
}
