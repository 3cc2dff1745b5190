/* Steps down a tree: shared by walk.c, sum.c and shapley.c. */
#ifndef FCGBOOST_WALK_H
#define FCGBOOST_WALK_H

#include "kernels.h"

#include <math.h>

/* Return the word of a set that contains a code: the value, or one of four further words. */
static inline int64_t word_of(const fcg_node *node, const fcg_node *words, int64_t code) {
    if (code < FCG_WORD) return (int64_t)node->value;
    return -2 - (int64_t)((const double *)words)[code / FCG_WORD - 1];
}

/* Return the child of a node to which the value x of its feature leads. */
static inline int64_t child_of(const fcg_node *tree, const fcg_node *node, double x) {
    int64_t kind = (int64_t)node->kind, words = kind >> 2, is_right = !(kind & 1);
    if (!(kind & 2)) is_right = (x > node->value) | ((x != x) & is_right);
    else if (x >= 0.0 && x < (words ? FCG_CODES : FCG_WORD) && x == floor(x))
        is_right = !((word_of(node, tree + words, (int64_t)x) >> ((int64_t)x % FCG_WORD)) & 1);
    return (int64_t)node->left + is_right;
}

/* The same out of line: sets are rare, and what is long is not unrolled. */
static __attribute__((noinline)) int32_t child_by_set(const fcg_node *tree, int32_t at, double x) {
    return (int32_t)child_of(tree, tree + at, x);
}

/* Rows that descend abreast, which hides the latency of memory; more do not fit into registers. */
enum { FCG_ABREAST = 8 };

/* Rows of numbers: what lies between rows, and between features. */
typedef struct {
    const void *X;
    int32_t is_single; /* the precision */
    int64_t row, feature;
} fcg_rows;

/* Send n rows down a tree; `at` are the leaves they reach. With constants for n and for what lies
 * between numbers, loops are unrolled. */
static inline __attribute__((always_inline)) void fcg_descend(const fcg_node *tree,
                                                              const fcg_branch *branches,
                                                              fcg_rows rows, int64_t n,
                                                              int32_t *at) {
    const double *doubles = rows.X;
    const float *singles = rows.X;
    for (int64_t lane = 0; lane < n; lane++) at[lane] = 0;
    for (uint32_t bits = FCG_SPLITS; bits & FCG_SPLITS;) {
        bits = 0;
#pragma GCC unroll 8
        for (int64_t lane = 0; lane < n; lane++) {
            const fcg_branch *branch = branches + at[lane];
            uint32_t how = (uint32_t)branch->how;
            int64_t entry = lane * rows.row + how / FCG_FEATURE * rows.feature;
            double x = rows.is_single ? singles[entry] : doubles[entry];
            uint32_t is_right = (x > branch->value) | ((x != x) & (how / FCG_MISSING));
            int32_t child = branch->left + (int32_t)(is_right & how & FCG_SPLITS);
            if (how & FCG_SET) child = child_by_set(tree, at[lane], x);
            at[lane] = child;
            bits |= how;
        }
    }
}

static inline int64_t next_node(const fcg_node *tree, int64_t i, const double *row) {
    const fcg_node *node = tree + i;
    return node->feature < 0.0 ? i : child_of(tree, node, row[(int64_t)node->feature]);
}

#endif
