/* The state of a growing tree, shared by trees.c, splits.c and nodes.c. */
#ifndef FCGBOOST_TREES_H
#define FCGBOOST_TREES_H

#include "kernels.h"

#include <math.h>

enum { N_BINS = 256, WEIGHT_BITS = 28, FIELDS = 4 };

/* A sum of quantised residuals in the upper bits, and one of weights in the lower bits. */
typedef int64_t pair;

static inline int32_t weight_of(pair sum) { return (int32_t)(sum & ((1 << WEIGHT_BITS) - 1)); }

/* The sum of residuals in units of 16 steps: 32-bit integers convert quickly to float. */
static inline int32_t residual_of(pair sum) { return (int32_t)(sum >> 32); }

/* A node and its best split; feature is -1 if there is none, or before the search. */
typedef struct {
    int64_t start, stop, depth;
    pair total, left;
    double score;  /* of the best split; after the search, minus that without a split */
    double weight; /* of a leaf, not in units */
    int64_t feature, place, is_missing_left, children; /* left child, or 0 */
    pair *histogram;             /* NULL if it is not kept */
    uint64_t goes_left[4];       /* one bit for each code of the feature's column */
    int64_t n_threads;           /* that may work on it at once */
} tree_node;

/* The growth of one tree. */
typedef struct {
    const fcg_bins *bins;
    const fcg_tree_rules *rules;
    double smoothing;    /* in units of weight, as is min_leaf */
    int32_t min_leaf;
    int64_t n_pairs;     /* the size of a histogram */
    pair *rows;          /* the quantised residual and weight of each row */
    int32_t *order;      /* rows; those of a node are contiguous */
    int32_t *divided;    /* work space for the rows of a node that are divided */
    tree_node *nodes;
    int64_t n_nodes;
    pair *room;          /* for histograms */
    int64_t n_room;
    int64_t n_threads;   /* that may work on the tree at once */
    int64_t n_at_once;   /* nodes that may be in work at once */
} growth;

/* Return a growth with the constants that bins and rules determine. */
static inline growth fcg_growth(const fcg_bins *bins, const fcg_tree_rules *rules) {
    double least = fmin(fmax(1.0, ceil(rules->min_leaf / rules->unit)), 0x1p29);
    return (growth){.bins = bins,
                    .rules = rules,
                    .smoothing = rules->smoothing / rules->unit,
                    .min_leaf = (int32_t)least,
                    .n_pairs = bins->n_columns * N_BINS};
}

/* Quantise all rows, and list those with positive weight as the rows of the root. */
void fcg_set_rows(growth *tree, const double *residual, const double *weights);
/* Write the nodes, then the entries of category sets. Returns the number of entries. */
int64_t fcg_write_nodes(const growth *tree, double *nodes);
/* Find the best split of a node from its histogram; ties go to the first feature. Unless it is
 * NULL, `occupied` has one bit for each code of a column that occurs in some row. */
void fcg_find_split(const growth *tree, tree_node *node, const pair *histogram,
                    const uint64_t *occupied);

/* Split a node with a histogram by a feature at a bin, if both sides have enough weight. */
void fcg_split_at(const growth *tree, tree_node *node, int64_t feature, int64_t place);
/* Give the root, whose best split is known, another one if a pair of features asks for it. */
void fcg_look_ahead(const growth *tree, tree_node *root);

#endif
