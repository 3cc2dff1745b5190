/* Sums over trees by the leaves that rows belong to: products with a matrix of ones and zeros.
 *
 * Rows go by in blocks that stay in the cache while all trees pass.
 */
#include "kernels.h"

#include <string.h>

/* Rows of a block; sums that are made side by side, because each addition waits for the one before
 * it in the same place; and leaves that one byte tells apart. */
enum { BLOCK = 2048, SIDES = 4, NARROW = 256 };

static int64_t end_of_block(const fcg_forest *forest, int64_t start) {
    return start + BLOCK < forest->stop ? start + BLOCK : forest->stop;
}

void fcg_leaf_values(const fcg_forest *forest, const double *values, double *restrict f) {
    for (int64_t start = forest->start; start < forest->stop; start += BLOCK) {
        int64_t stop = end_of_block(forest, start);
        for (int64_t t = 0; t < forest->n_trees; t++) {
            const double *own = values + forest->first[t];
            const uint8_t *narrow = (const uint8_t *)(uintptr_t)forest->codes[t];
            const uint16_t *wide = (const uint16_t *)(uintptr_t)forest->codes[t];
            if (forest->is_wide[t])
                for (int64_t i = start; i < stop; i++) f[i] += own[wide[i]];
            else
                for (int64_t i = start; i < stop; i++) f[i] += own[narrow[i]];
        }
    }
}

/* Add up a tree's leaves over rows that have a number, n of them. */
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

void fcg_leaf_sums(const fcg_forest *forest, const double *r, double *sums) {
    int32_t rows[BLOCK];
    double some[BLOCK];
    for (int64_t start = forest->start; start < forest->stop; start += BLOCK) {
        int64_t stop = end_of_block(forest, start), n = 0;
        for (int64_t i = start; i < stop; i++) { /* of most sums half the rows are zero */
            rows[n] = (int32_t)(i - start);
            some[n] = r[i];
            n += r[i] != 0.0;
        }
        for (int64_t t = 0; t < forest->n_trees; t++) {
            double *own = sums + forest->first[t];
            const uint8_t *narrow = (const uint8_t *)(uintptr_t)forest->codes[t] + start;
            const uint16_t *wide = (const uint16_t *)(uintptr_t)forest->codes[t] + start;
            if (forest->is_wide[t])
                for (int64_t a = 0; a < n; a++) own[wide[rows[a]]] += some[a];
            else
                add_narrow(n, rows, some, narrow, forest->first[t + 1] - forest->first[t], own);
        }
    }
}
