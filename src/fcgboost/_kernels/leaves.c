/* Sums over the leaves of trees: products with the indicator matrix of the leaves.
 *
 * Rows are processed in blocks that stay in the cache for all trees. Sums over parts of the rows
 * are added up in order, so threads do not change them.
 */
#include "loss.h"
#include "pool.h"

#include <stdlib.h>
#include <string.h>

/* Rows per block; partial sums per leaf, because consecutive additions to one number must wait for
 * each other; the number of leaves that one byte can distinguish; and the most trees and vectors
 * that a loop over rows handles at once. */
enum { BLOCK = 4096, SIDES = 4, NARROW = 256, TREES = 4, VECTORS = 4 };
/* Leaves whose partial sums are added up at once, and trees that are worth another thread. */
enum { LEAVES = 4096, SHARED_TREES = 16 };

/* The rows at some values: losses, slopes and curvatures times the shares. */
typedef struct {
    int64_t n;
    double bend;
    const double *f, *y, *shares;
    double *losses, *slopes, *curvatures;
} row_terms;

/* What the parts of the rows share. */
typedef struct {
    const fcg_forest *forest;
    int64_t n_vectors;
    const double *const *r; /* the vectors that are summed, */
    const double *h;        /* or, if h is not NULL, h (constant + A values) alone, */
    const row_terms *terms; /* or, if this is not NULL, the terms at f, to which values are added */
    double constant;
    const double *values;
    double *f;
    int64_t n_numbers, n_parts;
    int64_t n_groups;       /* of trees: threads share those of a part where parts are few */
    double *products;       /* (n_rows,): then h (constant + A values), which groups share */
    double *partial, *sums; /* (n_parts, n_numbers), (n_numbers,) */
} shared_sums;

static int64_t n_leaves_of(const fcg_forest *forest) { return forest->first[forest->n_trees]; }

static int64_t n_parts_of(const fcg_forest *forest) {
    int64_t size = fcg_rows_a_part(forest->n_rows);
    return (forest->n_rows + size - 1) / size;
}

static int64_t end_of_part(const fcg_forest *forest, int64_t part) {
    int64_t end = (part + 1) * fcg_rows_a_part(forest->n_rows);
    return end < forest->n_rows ? end : forest->n_rows;
}

/* The codes of a tree from a row on, by their width. */
static const uint8_t *narrow_codes(const fcg_forest *forest, int64_t t, int64_t start) {
    return (const uint8_t *)(uintptr_t)forest->codes[t] + start;
}

static const uint16_t *wide_codes(const fcg_forest *forest, int64_t t, int64_t start) {
    return (const uint16_t *)(uintptr_t)forest->codes[t] + start;
}

/* Whether so many trees from t on have narrow codes. */
static int are_narrow(const fcg_forest *forest, int64_t t, int64_t n_trees) {
    if (t + n_trees > forest->n_trees) return 0;
    for (int64_t k = 0; k < n_trees; k++)
        if (forest->is_wide[t + k]) return 0;
    return 1;
}

/* Add the leaf values of all trees to f, of n rows from start on: the listed ones or, without a
 * list, all. Inlined, so that there is a loop for either. */
static inline void add_values(const fcg_forest *forest, const double *values, int64_t start,
                              int64_t n, const int32_t *restrict rows, double *restrict f) {
    for (int64_t t = 0; t < forest->n_trees; t++) {
        const double *v[TREES];
        const uint8_t *codes[TREES];
        if (are_narrow(forest, t, TREES)) {
            for (int k = 0; k < TREES; k++) {
                v[k] = values + forest->first[t + k];
                codes[k] = narrow_codes(forest, t + k, start);
            }
            for (int64_t a = 0; a < n; a++) {
                int64_t i = rows ? rows[a] : a;
                double sum = f[a];
                for (int k = 0; k < TREES; k++) sum += v[k][codes[k][i]];
                f[a] = sum;
            }
            t += TREES - 1;
        } else if (forest->is_wide[t]) {
            const uint16_t *wide = wide_codes(forest, t, start);
            for (int64_t a = 0; a < n; a++)
                f[a] += values[forest->first[t] + wide[rows ? rows[a] : a]];
        } else {
            const uint8_t *narrow = narrow_codes(forest, t, start);
            for (int64_t a = 0; a < n; a++)
                f[a] += values[forest->first[t] + narrow[rows ? rows[a] : a]];
        }
    }
}

static void add_values_of_part(void *context, int64_t part) {
    const shared_sums *shared = context;
    int64_t start = part * fcg_rows_a_part(shared->forest->n_rows);
    for (int64_t end = end_of_part(shared->forest, part); start < end; start += BLOCK) {
        int64_t n = (start + BLOCK < end ? start + BLOCK : end) - start;
        add_values(shared->forest, shared->values, start, n, NULL, shared->f + start);
    }
}

void fcg_leaf_values(const fcg_forest *forest, const double *values, double *f) {
    shared_sums shared = {.forest = forest, .values = values, .f = f};
    fcg_share(n_parts_of(forest), add_values_of_part, &shared);
}

/* List the rows where r is not zero, typically half of them. */
static int64_t list_rows(int64_t n, const double *r, int32_t *rows) {
    int64_t n_listed = 0;
    for (int64_t i = 0; i < n; i++) {
        rows[n_listed] = (int32_t)i;
        n_listed += r[i] != 0.0;
    }
    return n_listed;
}

static int have_same_zeros(int64_t n, const double *r, const double *other) {
    int differs = 0;
    for (int64_t i = 0; i < n; i++) differs |= (r[i] != 0.0) != (other[i] != 0.0);
    return !differs;
}

/* Two numbers that are added at once. */
typedef double two __attribute__((vector_size(16), aligned(8), may_alias));

/* Add one number, or an even number of them, to a cell. */
static inline void add_to(int width, double *cell, const double *numbers) {
    if (width == 1) *cell += *numbers;
    for (int w = 0; w + 1 < width; w += 2) *(two *)(cell + w) += *(const two *)(numbers + w);
}

/* Add the numbers of the n listed rows, `width` in each, to the sums over the leaves of some narrow
 * trees. Those of one of n_vectors vectors begin `stride` after those of the vector before. */
static inline void add_narrow(int n_trees, int width, int64_t n_vectors, const fcg_forest *forest,
                              int64_t t, int64_t start, int64_t n, const int32_t *restrict rows,
                              const double *restrict numbers, int64_t stride, double *sums) {
    double cells[VECTORS * SIDES * NARROW];
    const uint8_t *codes[TREES];
    int64_t a = 0, side_size = NARROW * width, size = SIDES * side_size;
    for (int k = 0; k < n_trees; k++) {
        codes[k] = narrow_codes(forest, t + k, start);
        int64_t n_leaves = forest->first[t + k + 1] - forest->first[t + k];
        for (int side = 0; side < SIDES; side++)
            memset(cells + k * size + side * side_size, 0,
                   (size_t)(n_leaves * width) * sizeof(double));
    }
    for (; a + SIDES <= n; a += SIDES)
        for (int side = 0; side < SIDES; side++)
            for (int k = 0; k < n_trees; k++)
                add_to(width,
                       cells + k * size + side * side_size + codes[k][rows[a + side]] * width,
                       numbers + (a + side) * width);
    for (; a < n; a++)
        for (int k = 0; k < n_trees; k++)
            add_to(width, cells + k * size + codes[k][rows[a]] * width, numbers + a * width);
    for (int k = 0; k < n_trees; k++) {
        double *leaf_sums = sums + forest->first[t + k];
        int64_t n_leaves = forest->first[t + k + 1] - forest->first[t + k];
        for (int64_t w = 0; w < n_vectors; w++, leaf_sums += stride)
            for (int64_t leaf = 0; leaf < n_leaves; leaf++) {
                const double *side = cells + k * size + leaf * width + w;
                leaf_sums[leaf] += (side[0] + side[side_size]) +
                                   (side[2 * side_size] + side[3 * side_size]);
            }
    }
}

/* Add the numbers of the n listed rows to the sum of each vector, if the first tree is among those
 * of the forest, and to those over the leaves of its trees. Inlined, so that there is a loop for
 * every width. */
static inline void add_numbers(int width, int64_t n_vectors, const fcg_forest *forest,
                               int64_t start, int64_t n, const int32_t *rows,
                               const double *numbers, int64_t stride, double *sums) {
    double totals[SIDES * VECTORS] = {0.0};
    int64_t a = 0;
    for (; a + SIDES <= n; a += SIDES)
        for (int side = 0; side < SIDES; side++)
            add_to(width, totals + side * width, numbers + (a + side) * width);
    for (; a < n; a++) add_to(width, totals + a % SIDES * width, numbers + a * width);
    for (int64_t w = 0; w < n_vectors && forest->first[0] == 0; w++)
        sums[w * stride] += (totals[w] + totals[width + w]) +
                            (totals[2 * width + w] + totals[3 * width + w]);
    for (int64_t t = 0; t < forest->n_trees; t++) {
        if (2 * width <= VECTORS && are_narrow(forest, t, 2)) {
            add_narrow(2, width, n_vectors, forest, t, start, n, rows, numbers, stride, sums + 1);
            t++;
        } else if (are_narrow(forest, t, 1)) {
            add_narrow(1, width, n_vectors, forest, t, start, n, rows, numbers, stride, sums + 1);
        } else {
            const uint16_t *wide = wide_codes(forest, t, start);
            for (int64_t w = 0; w < n_vectors; w++) {
                double *leaf_sums = sums + 1 + w * stride + forest->first[t];
                for (a = 0; a < n; a++) leaf_sums[wide[rows[a]]] += numbers[a * width + w];
            }
        }
    }
}

/* Write the listed numbers of some vectors, row by row and padded with zeros. */
static inline void pack(int width, int64_t n_vectors, const double *const *r, int64_t n,
                        const int32_t *rows, double *numbers) {
    static const double ZEROS[BLOCK];
    const double *from[VECTORS];
    for (int w = 0; w < width; w++) from[w] = w < n_vectors ? r[w] : ZEROS;
    for (int64_t a = 0; a < n; a++)
        for (int w = 0; w < width; w++) numbers[a * width + w] = from[w][rows[a]];
}

/* Add vectors over the n rows from start on; those that are zero at the same rows at once. */
static void add_vectors(const shared_sums *shared, const fcg_forest *forest, int64_t start,
                        int64_t n, const double *products, double *sums) {
    int64_t stride = 1 + n_leaves_of(shared->forest), n_vectors = 1;
    int32_t rows[BLOCK];
    double numbers[BLOCK * VECTORS];
    for (int64_t v = 0; v < shared->n_vectors; v += n_vectors, sums += n_vectors * stride) {
        int64_t most = shared->n_vectors - v;
        const double *r[VECTORS] = {products};
        for (int64_t w = 0; w < VECTORS && w < most && !products; w++)
            r[w] = shared->r[v + w] + start;
        int64_t n_listed = list_rows(n, r[0], rows);
        for (n_vectors = 1; n_vectors < VECTORS && n_vectors < most; n_vectors++)
            if (!have_same_zeros(n, r[0], r[n_vectors])) break;
        if (n_vectors == 1) {
            pack(1, 1, r, n_listed, rows, numbers);
            add_numbers(1, 1, forest, start, n_listed, rows, numbers, stride, sums);
        } else if (n_vectors == 2) {
            pack(2, 2, r, n_listed, rows, numbers);
            add_numbers(2, 2, forest, start, n_listed, rows, numbers, stride, sums);
        } else {
            pack(4, n_vectors, r, n_listed, rows, numbers);
            add_numbers(4, n_vectors, forest, start, n_listed, rows, numbers, stride, sums);
        }
    }
}

/* Write h (constant + A values) of the n rows from start on. */
static void set_products(const shared_sums *shared, int64_t start, int64_t n, double *products) {
    int32_t rows[BLOCK];
    double numbers[BLOCK];
    const double *h = shared->h + start;
    int64_t n_curved = list_rows(n, h, rows);
    for (int64_t a = 0; a < n_curved; a++) numbers[a] = shared->constant;
    add_values(shared->forest, shared->values, start, n_curved, rows, numbers);
    memset(products, 0, (size_t)n * sizeof(double));
    for (int64_t a = 0; a < n_curved; a++) products[rows[a]] = numbers[a] * h[rows[a]];
}

static void set_terms(const row_terms *to, int64_t start, int64_t stop) {
    const double *restrict f = to->f, *restrict y = to->y, *restrict shares = to->shares;
    double *restrict losses = to->losses, *restrict slopes = to->slopes;
    double *restrict curvatures = to->curvatures;
    for (int64_t i = start; i < stop; i++) {
        double r = fcg_shortfall(to->bend, y[i], f[i]), s = fcg_bent(to->bend, r);
        losses[i] = shares[i] * (s * (2.0 * r - s));
        slopes[i] = shares[i] * (-2.0 * s);
        curvatures[i] = shares[i] * fcg_curvature(to->bend, r);
    }
}

/* Compute what is summed over the n rows from start on. */
static void prepare(const shared_sums *shared, int64_t start, int64_t n, double *products) {
    if (shared->h) set_products(shared, start, n, products);
    if (!shared->terms) return;
    add_values(shared->forest, shared->values, start, n, NULL, shared->f + start);
    set_terms(shared->terms, start, start + n);
}

static void prepare_block(void *context, int64_t block) {
    const shared_sums *shared = context;
    int64_t start = block * BLOCK, n = shared->forest->n_rows - start;
    prepare(shared, start, n < BLOCK ? n : BLOCK, shared->h ? shared->products + start : NULL);
}

/* Sum one part of the rows over a group of trees: for each vector its sum, then those of the
 * leaves. */
static void sum_part(void *context, int64_t task) {
    const shared_sums *shared = context;
    const fcg_forest *all = shared->forest;
    int64_t part = task / shared->n_groups, group = task % shared->n_groups;
    int64_t end = end_of_part(all, part), stride = 1 + n_leaves_of(all);
    int64_t t = all->n_trees * group / shared->n_groups;
    fcg_forest forest = {.n_trees = all->n_trees * (group + 1) / shared->n_groups - t,
                         .codes = all->codes + t,
                         .is_wide = all->is_wide + t,
                         .first = all->first + t};
    double *sums = shared->n_parts == 1 ? shared->sums
                                        : shared->partial + part * shared->n_numbers;
    double block_products[BLOCK];
    int64_t first = t ? 1 + all->first[t] : 0;
    for (int64_t v = 0; v < shared->n_vectors; v++)
        memset(sums + v * stride + first, 0,
               (size_t)(1 + n_leaves_of(&forest) - first) * sizeof(double));
    for (int64_t start = part * fcg_rows_a_part(all->n_rows); start < end; start += BLOCK) {
        int64_t n = (start + BLOCK < end ? start + BLOCK : end) - start;
        double *products = shared->products ? shared->products + start : block_products;
        if (shared->n_groups == 1) prepare(shared, start, n, products);
        add_vectors(shared, &forest, start, n, shared->h ? products : NULL, sums);
    }
}

/* Add up the parts of some numbers, in order. */
static void add_parts(void *context, int64_t chunk) {
    const shared_sums *shared = context;
    int64_t first = chunk * LEAVES, n = shared->n_numbers - first;
    n = n < LEAVES ? n : LEAVES;
    double *sums = shared->sums + first;
    memcpy(sums, shared->partial + first, (size_t)n * sizeof(double));
    for (int64_t part = 1; part < shared->n_parts; part++) {
        const double *added = shared->partial + part * shared->n_numbers + first;
        for (int64_t k = 0; k < n; k++) sums[k] += added[k];
    }
}

/* Return into how many groups trees are divided, so that there is a part of a group for each
 * thread: sums over the leaves of a tree do not depend on those of others. */
static int64_t n_groups_of(const shared_sums *shared) {
    int64_t n_threads = fcg_n_threads(), most = shared->forest->n_trees / SHARED_TREES;
    int64_t n = shared->n_parts ? (n_threads + shared->n_parts - 1) / shared->n_parts : 1;
    n = n < most ? n : most;
    return n < 1 ? 1 : n;
}

static int32_t sum_all(shared_sums *shared) {
    int64_t n_rows = shared->forest->n_rows;
    shared->n_parts = n_parts_of(shared->forest);
    shared->n_groups = n_groups_of(shared);
    if (shared->h && shared->n_groups > 1) {
        shared->products = malloc((size_t)n_rows * sizeof(double));
        if (!shared->products) shared->n_groups = 1;
    }
    if (shared->n_parts != 1) {
        size_t n = (size_t)(shared->n_parts * shared->n_numbers);
        shared->partial = malloc((n + 1) * sizeof(double));
        if (!shared->partial) return free(shared->products), -1;
    }
    if (shared->n_groups > 1) fcg_share((n_rows + BLOCK - 1) / BLOCK, prepare_block, shared);
    fcg_share(shared->n_parts * shared->n_groups, sum_part, shared);
    if (shared->n_parts == 0) memset(shared->sums, 0, (size_t)shared->n_numbers * sizeof(double));
    else if (shared->partial)
        fcg_share((shared->n_numbers + LEAVES - 1) / LEAVES, add_parts, shared);
    free(shared->partial), free(shared->products);
    return 0;
}

int32_t fcg_leaf_sums(const fcg_forest *forest, int64_t n_vectors, const double *const *r,
                      double *sums) {
    return sum_all(&(shared_sums){.forest = forest,
                                  .n_vectors = n_vectors,
                                  .r = r,
                                  .n_numbers = n_vectors * (1 + n_leaves_of(forest)),
                                  .sums = sums});
}

int32_t fcg_leaf_products(const fcg_forest *forest, double constant, const double *values,
                          const double *h, double *sums) {
    return sum_all(&(shared_sums){.forest = forest,
                                  .n_vectors = 1,
                                  .h = h,
                                  .constant = constant,
                                  .values = values,
                                  .n_numbers = 1 + n_leaves_of(forest),
                                  .sums = sums});
}

int32_t fcg_leaf_terms(const fcg_forest *forest, double bend, const double *values,
                       const double *y, const double *shares, double *f, double *terms,
                       int64_t n_vectors, double *sums) {
    int64_t n = forest->n_rows;
    const double *r[] = {terms + (3 - n_vectors) * n, terms + (4 - n_vectors) * n, terms + 2 * n};
    row_terms there = {n, bend, f, y, shares, terms, terms + n, terms + 2 * n};
    return sum_all(&(shared_sums){.forest = forest,
                                  .n_vectors = n_vectors,
                                  .r = r,
                                  .terms = &there,
                                  .values = values,
                                  .f = f,
                                  .n_numbers = n_vectors * (1 + n_leaves_of(forest)),
                                  .sums = sums});
}

static void set_terms_of_part(void *context, int64_t part) {
    const row_terms *to = context;
    int64_t size = fcg_rows_a_part(to->n), start = part * size;
    set_terms(to, start, start + size < to->n ? start + size : to->n);
}

void fcg_terms(int64_t n, double bend, const double *f, const double *y, const double *shares,
               double *losses, double *slopes, double *curvatures) {
    int64_t size = fcg_rows_a_part(n);
    row_terms terms = {n, bend, f, y, shares, losses, slopes, curvatures};
    fcg_share((n + size - 1) / size, set_terms_of_part, &terms);
}
