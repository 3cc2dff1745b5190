/* What the growth of a tree is made of: shared by trees.c and splits.c. */
#ifndef FCGBOOST_TREES_H
#define FCGBOOST_TREES_H

#include "kernels.h"

#include <math.h>

enum { N_BINS = 256, WEIGHT_BITS = 28 };

/* A sum of residuals, in the upper bits, and a sum of weights in the others, both in steps. */
typedef int64_t pair;

static inline int32_t weight_of(pair sum) { return (int32_t)(sum & ((1 << WEIGHT_BITS) - 1)); }

/* In units of 16 steps: what fits 32 bits is quick to turn into a float. */
static inline int32_t pull_of(pair sum) { return (int32_t)(sum >> 32); }

/* A node, and its best split; feature -1 if there is none, or none was looked for. */
typedef struct {
    int64_t start, stop, depth;
    pair total, left;
    double score; /* that of the best split; once it is found, less that of none */
    int64_t feature, place, is_missing_left, children; /* the number of the left child, or 0 */
    pair *histogram;             /* NULL if it is not kept */
    uint64_t goes_left[4];       /* a bit for every code of the feature's column */
} node;

/* What the growth of one tree needs. */
typedef struct {
    const fcg_bins *bins;
    const fcg_tree_rules *rules;
    double smoothing;    /* in steps of weights, as is the least weight of a leaf */
    int32_t min_leaf;
    int64_t n_pairs;     /* of a histogram */
    pair *rows;          /* of every row */
    int32_t *order;      /* rows, those of a node side by side */
    int32_t *right;      /* room for the rows of a node */
    node *nodes;
    int64_t n_nodes;
    pair *room;          /* for histograms; the first one, to work in, is empty in between */
    int64_t n_room;
    uint64_t *occupied;  /* (n_columns, 4): which codes of the columns rows of a node have */
} growth;

/* Return a growth that has what bins and rules say. */
static inline growth fcg_growth(const fcg_bins *bins, const fcg_tree_rules *rules) {
    double least = fmin(fmax(1.0, ceil(rules->min_leaf / rules->unit)), 0x1p29);
    return (growth){.bins = bins,
                    .rules = rules,
                    .smoothing = rules->smoothing / rules->unit,
                    .min_leaf = (int32_t)least,
                    .n_pairs = bins->n_columns * N_BINS};
}

/* Find the best split of a node from its sums by bin; of equal ones, that of the first feature.
 * `occupied` has a bit for every code of a column that some row has, unless it is NULL. */
void fcg_find_split(const growth *tree, node *own, const pair *histogram,
                    const uint64_t *occupied);

#endif
