/* Sums over the leaves of trees: products with the indicator matrix of the leaves.
 *
 * Rows are processed in blocks that stay in the cache for all trees. Sums over parts of the rows
 * are added up in order, so threads do not change them.
 */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

/* Rows per block; partial sums per leaf, because consecutive additions to one number must wait for
 * each other; and the number of leaves that one byte can distinguish. */
enum { BLOCK = 4096, SIDES = 4, NARROW = 256 };
/* Leaves whose partial sums are added up at once. */
enum { LEAVES = 4096 };

/* What the parts of the rows share. */
typedef struct {
    const fcg_forest *forest;
    int64_t n_vectors;
    const double *const *r; /* the vectors that are summed, */
    const double *h;        /* or, if h is not NULL, h (constant + A values) alone */
    double constant;
    const double *values;
    double *f;
    int64_t n_numbers, n_parts;
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

/* Add the leaf values of all trees to f, of the rows from start to stop. */
static void add_values(const fcg_forest *forest, const double *values, int64_t start, int64_t stop,
                       double *restrict f) {
    for (int64_t t = 0; t < forest->n_trees; t++) {
        const double *leaf_values = values + forest->first[t];
        const uint8_t *narrow = (const uint8_t *)(uintptr_t)forest->codes[t] + start;
        const uint16_t *wide = (const uint16_t *)(uintptr_t)forest->codes[t] + start;
        if (forest->is_wide[t])
            for (int64_t i = 0; i < stop - start; i++) f[i] += leaf_values[wide[i]];
        else
            for (int64_t i = 0; i < stop - start; i++) f[i] += leaf_values[narrow[i]];
    }
}

static void add_values_of_part(void *context, int64_t part) {
    const shared_sums *shared = context;
    int64_t start = part * fcg_rows_a_part(shared->forest->n_rows);
    for (int64_t end = end_of_part(shared->forest, part); start < end; start += BLOCK) {
        int64_t stop = start + BLOCK < end ? start + BLOCK : end;
        add_values(shared->forest, shared->values, start, stop, shared->f + start);
    }
}

void fcg_leaf_values(const fcg_forest *forest, const double *values, double *f) {
    shared_sums shared = {.forest = forest, .values = values, .f = f};
    fcg_share(n_parts_of(forest), add_values_of_part, &shared);
}

/* Add r over the n rows with non-zero r to the leaves of one tree. */
static void add_narrow(int64_t n, const int32_t *rows, const double *r, const uint8_t *codes,
                       int64_t n_leaves, double *sums) {
    double sides[SIDES][NARROW];
    int64_t a = 0;
    for (int side = 0; side < SIDES; side++)
        memset(sides[side], 0, (size_t)n_leaves * sizeof(double));
    for (; a + SIDES <= n; a += SIDES)
        for (int side = 0; side < SIDES; side++) sides[side][codes[rows[a + side]]] += r[a + side];
    for (; a < n; a++) sides[0][codes[rows[a]]] += r[a];
    for (int64_t leaf = 0; leaf < n_leaves; leaf++)
        sums[leaf] += (sides[0][leaf] + sides[1][leaf]) + (sides[2][leaf] + sides[3][leaf]);
}

/* Add r, of the n rows from start on, to the sums of the leaves; return its sum. */
static double add_block(const fcg_forest *forest, int64_t start, int64_t n, const double *r,
                        double *sums) {
    int32_t rows[BLOCK];
    double numbers[BLOCK], totals[SIDES] = {0.0};
    int64_t n_kept = 0;
    for (int64_t i = 0; i < n; i++) { /* typically half of the rows are zero */
        rows[n_kept] = (int32_t)i;
        numbers[n_kept] = r[i];
        n_kept += r[i] != 0.0;
    }
    for (int64_t a = 0; a < n_kept; a++) totals[a % SIDES] += numbers[a];
    for (int64_t t = 0; t < forest->n_trees; t++) {
        double *leaf_sums = sums + forest->first[t];
        int64_t n_leaves = forest->first[t + 1] - forest->first[t];
        const uint8_t *narrow = (const uint8_t *)(uintptr_t)forest->codes[t] + start;
        const uint16_t *wide = (const uint16_t *)(uintptr_t)forest->codes[t] + start;
        if (forest->is_wide[t])
            for (int64_t a = 0; a < n_kept; a++) leaf_sums[wide[rows[a]]] += numbers[a];
        else
            add_narrow(n_kept, rows, numbers, narrow, n_leaves, leaf_sums);
    }
    return (totals[0] + totals[1]) + (totals[2] + totals[3]);
}

/* Sum one part of the rows: for each vector its sum, then those of the leaves. */
static void sum_part(void *context, int64_t part) {
    const shared_sums *shared = context;
    const fcg_forest *forest = shared->forest;
    int64_t end = end_of_part(forest, part), n_numbers = 1 + n_leaves_of(forest);
    double *sums = shared->n_parts == 1 ? shared->sums
                                        : shared->partial + part * shared->n_numbers;
    double block[BLOCK];
    memset(sums, 0, (size_t)shared->n_numbers * sizeof(double));
    for (int64_t start = part * fcg_rows_a_part(forest->n_rows); start < end; start += BLOCK) {
        int64_t n = (start + BLOCK < end ? start + BLOCK : end) - start;
        if (shared->h) {
            for (int64_t i = 0; i < n; i++) block[i] = shared->constant;
            add_values(forest, shared->values, start, start + n, block);
            for (int64_t i = 0; i < n; i++) block[i] *= shared->h[start + i];
            sums[0] += add_block(forest, start, n, block, sums + 1);
        }
        for (int64_t v = 0; v < shared->n_vectors; v++)
            sums[v * n_numbers] += add_block(forest, start, n, shared->r[v] + start,
                                             sums + v * n_numbers + 1);
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

static int32_t sum_all(shared_sums *shared) {
    shared->n_parts = n_parts_of(shared->forest);
    if (shared->n_parts != 1) {
        size_t n = (size_t)(shared->n_parts * shared->n_numbers);
        shared->partial = malloc((n + 1) * sizeof(double));
        if (!shared->partial) return -1;
    }
    fcg_share(shared->n_parts, sum_part, shared);
    if (shared->n_parts == 0) memset(shared->sums, 0, (size_t)shared->n_numbers * sizeof(double));
    else if (shared->partial)
        fcg_share((shared->n_numbers + LEAVES - 1) / LEAVES, add_parts, shared);
    free(shared->partial);
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
                                  .h = h,
                                  .constant = constant,
                                  .values = values,
                                  .n_numbers = 1 + n_leaves_of(forest),
                                  .sums = sums});
}

/* The rows at some values, for a loss that is the square of a shortfall e = 1 - y f. */
typedef struct {
    int64_t n;
    int32_t is_hinge;
    const double *f, *y, *shares;
    double *losses, *slopes, *curvatures;
} row_terms;

static void set_terms(void *context, int64_t part) {
    const row_terms *to = context;
    int64_t size = fcg_rows_a_part(to->n), start = part * size;
    int64_t stop = start + size < to->n ? start + size : to->n;
    const double *restrict f = to->f, *restrict y = to->y, *restrict shares = to->shares;
    double *restrict losses = to->losses, *restrict slopes = to->slopes;
    double *restrict curvatures = to->curvatures;
    for (int64_t i = start; i < stop; i++) {
        double e = 1.0 - y[i] * f[i];
        int is_beyond = to->is_hinge && e <= 0.0; /* NaN propagates */
        e = is_beyond ? 0.0 : e;
        losses[i] = shares[i] * (e * e);
        slopes[i] = shares[i] * (-2.0 * y[i] * e);
        curvatures[i] = is_beyond ? 0.0 : 2.0 * shares[i];
    }
}

void fcg_terms(int64_t n, int32_t is_hinge, const double *f, const double *y, const double *shares,
               double *losses, double *slopes, double *curvatures) {
    int64_t size = fcg_rows_a_part(n);
    fcg_share((n + size - 1) / size, set_terms,
              &(row_terms){n, is_hinge, f, y, shares, losses, slopes, curvatures});
}
