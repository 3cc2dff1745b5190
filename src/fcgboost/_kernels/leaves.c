/* Sums over the leaves of trees: products with the indicator matrix of the leaves.
 *
 * Rows are processed in blocks that stay in the cache for all trees.
 */
#include "kernels.h"

#include <string.h>

/* Rows per block; partial sums per leaf, because consecutive additions to one number must wait for
 * each other; and the number of leaves that one byte can distinguish. */
enum { BLOCK = 2048, SIDES = 4, NARROW = 256 };

static int64_t end_of_block(const fcg_forest *forest, int64_t start) {
    return start + BLOCK < forest->stop ? start + BLOCK : forest->stop;
}

void fcg_leaf_values(const fcg_forest *forest, const double *values, double *restrict f) {
    for (int64_t start = forest->start; start < forest->stop; start += BLOCK) {
        int64_t stop = end_of_block(forest, start);
        for (int64_t t = 0; t < forest->n_trees; t++) {
            const double *leaf_values = values + forest->first[t];
            const uint8_t *narrow = (const uint8_t *)(uintptr_t)forest->codes[t];
            const uint16_t *wide = (const uint16_t *)(uintptr_t)forest->codes[t];
            if (forest->is_wide[t])
                for (int64_t i = start; i < stop; i++) f[i] += leaf_values[wide[i]];
            else
                for (int64_t i = start; i < stop; i++) f[i] += leaf_values[narrow[i]];
        }
    }
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

void fcg_leaf_sums(const fcg_forest *forest, const double *r, double *sums) {
    int32_t rows[BLOCK];
    double residuals[BLOCK];
    for (int64_t start = forest->start; start < forest->stop; start += BLOCK) {
        int64_t stop = end_of_block(forest, start), n = 0;
        for (int64_t i = start; i < stop; i++) { /* typically half of the rows are zero */
            rows[n] = (int32_t)(i - start);
            residuals[n] = r[i];
            n += r[i] != 0.0;
        }
        for (int64_t t = 0; t < forest->n_trees; t++) {
            double *leaf_sums = sums + forest->first[t];
            const uint8_t *narrow = (const uint8_t *)(uintptr_t)forest->codes[t] + start;
            const uint16_t *wide = (const uint16_t *)(uintptr_t)forest->codes[t] + start;
            if (forest->is_wide[t])
                for (int64_t a = 0; a < n; a++) leaf_sums[wide[rows[a]]] += residuals[a];
            else
                add_narrow(n, rows, residuals, narrow, forest->first[t + 1] - forest->first[t],
                           leaf_sums);
        }
    }
}
