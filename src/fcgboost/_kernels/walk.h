/* One step down a tree: shared by walk.c and shapley.c. */
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

static inline int64_t next_node(const fcg_node *tree, int64_t i, const double *row) {
    const fcg_node *node = tree + i;
    return node->feature < 0.0 ? i : child_of(tree, node, row[(int64_t)node->feature]);
}

#endif
