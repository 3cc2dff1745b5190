/* The compiled loops of fcgboost: every function that Python calls.
 *
 * Arrays are C-ordered and belong to the caller. Nothing keeps state, starts a thread or needs
 * Python's lock. Sums run in an order that depends on neither the processor nor the compiler's
 * vector width, so every build gives the same bits (but for what BLAS and LAPACK add to newton.c).
 */
#ifndef FCGBOOST_KERNELS_H
#define FCGBOOST_KERNELS_H

#include <stdint.h>

#if defined(_WIN32)
#define FCG_API __declspec(dllexport)
#else
#define FCG_API __attribute__((visibility("default")))
#endif

/* library.c */

/* The hash of the sources that the library was built from. */
FCG_API const char *fcg_source_hash(void);
/* Whether the processor runs code for x86-64-v3. */
FCG_API int32_t fcg_has_v3(void);

/* rows.c */

/* Write a word per row that depends on its values alone: the mixed sum of its mixed entries, each
 * with the word of its column; zeros count nothing. */
FCG_API void fcg_fingerprint(int64_t n_rows, int64_t n_features, const double *X,
                             const uint64_t *columns, uint64_t *words);
typedef struct {
    uint64_t word;
    int64_t row;
} fcg_place;

/* Write where words stand in growing order, equal ones as they came; there is room for 2 n. */
FCG_API void fcg_order(int64_t n, const uint64_t *words, fcg_place *room, int64_t *order);
/* Write exp(-|(x - c) u|^2), of shape (n_rows, n_atoms); centers and units are rows. */
FCG_API void fcg_gauss_values(int64_t n_rows, int64_t n_features, const double *X, int64_t n_atoms,
                              const double *centers, const double *units, double *values);

/* newton.c */

/* Routines of BLAS and LAPACK, as Fortran calls them. */
typedef struct {
    void (*gemv)(char *, int *, int *, double *, const double *, int *, const double *, int *,
                 double *, double *, int *);
    void (*gemm)(char *, char *, int *, int *, int *, double *, const double *, int *,
                 const double *, int *, double *, double *, int *);
    void (*syrk)(char *, char *, int *, int *, double *, const double *, int *, double *, double *,
                 int *);
    void (*potrf)(char *, int *, double *, int *, int *);
    void (*potrs)(char *, int *, int *, double *, int *, double *, int *, int *);
    void (*pocon)(char *, int *, double *, int *, double *, double *, double *, int *, int *);
} fcg_blas;

/* Columns of one output, and the squared hinge at the last point that was looked at. */
typedef struct {
    int64_t m, k, room;       /* rows, columns, and columns that there is room for */
    const double *A;          /* (room, m): column after column */
    const double *y, *shares; /* (m,) */
    double *f, *g, *h;        /* (m,): values, slopes and curvatures, both times the shares */
    double *coef, *gradient;  /* (room,): the point, and A^T g */
    double *gram, *peak;      /* (room, room): A^T diag(h) A; (room,): how large its diagonal was */
    const fcg_blas *blas;
    double risk, objective, residual; /* the last two are set by fcg_newton */
    int64_t n_known; /* columns that gradient and gram hold; 0 before the first point */
    int64_t n_updates, n_moves;
} fcg_columns;

/* Go to a point. Returns 0, or -1 if there is no memory. */
FCG_API int32_t fcg_look(fcg_columns *c, const double *coef);
/* Minimise risk + sum(penalty coef^2) by Newton's method from `coef`, which is overwritten, until
 * the largest entry of the gradient is at most tol * scale, or the normal equations are not safe,
 * or no step gains. Returns the number of iterations, or -1 if there is no memory. */
FCG_API int32_t fcg_newton(fcg_columns *c, const double *penalty, const double *norms, double scale,
                           double tol, int64_t max_iter, double *coef);

/* step.c */

/* Minimise risk + l2 b^2 over the coefficient b of column j, and over a constant if there is one,
 * which is column 0, from values f where b = 0; the other coefficients stay. Written are the new
 * values, the slopes there, and what was added to the constant, to b, and the risk. */
FCG_API void fcg_step(const fcg_columns *c, int64_t j, int32_t has_constant, double l2, double *f,
                      double *g, double *added);

/* draw.c and refine.c: atoms that are drawn, and refined on a residual */

enum { FCG_RELU = 0, FCG_GAUSS = 1, FCG_BLOCK = 64 };

/* How atoms are searched. An atom is (w, b), or (c, log s): a vector without constraints. */
typedef struct {
    int64_t family;
    int64_t size, n_improved;  /* atoms that are drawn, and refined: as many, or fewer */
    int64_t n_rows, max_steps; /* rows that are looked at, and steps of BFGS, at most */
    double pull, pull_times_weight; /* the pull, and what it is at most times the weight of rows */
    int64_t max_features;      /* weights of a ReLU atom that are not zero, at most */
    double low, high;          /* the logarithms of the least and the largest width */
    int64_t memory, n_shorter; /* the constants of `selection/gain.py` */
    double rounding, increase, shorter, little, first_step, nudge, tie;
} fcg_search;

/* Sample at most n_rows of the rows that have a weight, in order, and n_points of these, distinct
 * where there are as many; row 0 if no row has a weight. Returns how many have one. */
FCG_API int64_t fcg_sample(int64_t n, const double *weights, int64_t n_rows, int64_t n_points,
                           uint64_t key, int64_t *rows, int64_t *points);

/* Draw search->size atoms: unit directions with hinges at points, or centres there. */
FCG_API void fcg_draw(const fcg_search *search, int64_t d, const double *points, uint64_t key,
                      double *atoms);

/* Sample rows, draw atoms there, and refine the best. Z has the shape (n_blocks, d, FCG_BLOCK),
 * and zeros behind the n rows. Written are the refined atoms, if max_steps > 0, and then those that
 * they were made of, as rows (w, b) of largest value 1, or (c, s). Gains are measured with a ridge,
 * a total weight, and with or without a constant. Returns 0, or -1 if there is no memory. */
FCG_API int32_t fcg_propose(const fcg_search *search, int64_t n, int64_t d, const double *Z,
                            const double *residual, const double *weights, double ridge,
                            double total_weight, int32_t is_centered, uint64_t key, double *atoms);

/* trees.c and splits.c */

/* Rows as the numbers of bins. Missing values are behind those of numbers. Features of which at
 * most one has another bin than its usual one in any row share a column: its code 0 is all the
 * usual bins, and the other ones of feature j have the codes from first[j] on. */
typedef struct {
    int64_t n_rows, n_columns, n_features;
    const uint8_t *codes;         /* (n_rows, n_columns) */
    const int64_t *column;        /* of every feature */
    const int64_t *first, *usual; /* 0 and -1 for a feature that has a column of its own */
    const int64_t *n_bins;        /* of a feature, that of missing values included */
    const int64_t *n_numbers;     /* bins of numbers or categories of a feature */
    const double *edges;          /* (n_features, 256), the threshold between a bin and the next */
    const uint8_t *is_category;
} fcg_bins;

/* Write how many of at most 255 growing thresholds are below every value; n_numbers for NaN. */
FCG_API void fcg_bin(int64_t n, const double *values, int64_t n_thresholds,
                     const double *thresholds, int64_t n_numbers, uint8_t *codes);

/* Write the sum of weights, the least and the largest one, how many there are, and whether all are
 * whole; those of zero do not count. */
FCG_API void fcg_weights(int64_t n, const double *weights, double *facts);
/* Return the weight of a step by such facts, and write whether it tells all weights exactly. */
FCG_API double fcg_weight_unit(const double *facts, int64_t *is_exact);

typedef struct {
    int64_t depth, max_leaves; /* no limit of leaves if 0: then the tree grows level by level */
    double min_leaf, smoothing, peak;
    double unit;      /* the weight of a step; 0: `fcg_grow_tree` finds it */
    int64_t is_exact; /* whether it tells all weights */
} fcg_tree_rules;

/* Grow a tree; nodes of four numbers, and behind them four more for every split by a feature of
 * more than 52 categories, are written to `nodes`, which has room for max_nodes of both, and the
 * number of the leaf that every row of some weight belongs to, in the order of nodes, to `leaves`
 * unless that is NULL. `room` holds n_room histograms, 256 numbers a column, at least one; with one
 * more for every leaf, larger siblings need not be added up. Returns how many of both there are, or
 * -1 if there is no memory. */
FCG_API int64_t fcg_grow_tree(const fcg_bins *bins, const fcg_tree_rules *rules,
                              const double *residual, const double *weights, int64_t n_room,
                              int64_t *room, int64_t max_nodes, double *nodes, uint16_t *leaves);

/* The best split of a node that is grown in rounds, and what becomes of its rows. */
typedef struct {
    int64_t feature, place, is_missing_left; /* feature -1 if there is no split */
    int64_t left;            /* the sums of the left side */
    double score;            /* less that of no split */
    uint64_t goes_left[4];   /* a bit for every code of the column */
    int64_t column;          /* that of the feature */
    int64_t children, added; /* the number of the left child; 0 or 1: that child is added up */
} fcg_split;

/* Find the best splits of n nodes from their totals and histograms; the last two fields are left
 * alone. */
FCG_API void fcg_find_splits(const fcg_bins *bins, const fcg_tree_rules *rules, int64_t n,
                             const int64_t *totals, const int64_t *histograms, fcg_split *splits);
/* Send rows to the children of their nodes, and add up one child of every split by bin. `slots` has
 * the number of a node's split, or -1; histograms are empty, one for every split. */
FCG_API void fcg_split_rows(const fcg_bins *bins, const int64_t *slots, const fcg_split *splits,
                            const int64_t *sums, int32_t *nodes, int64_t *histograms);

/* plan.c */

/* Write the nodes of a tree in its order, and where their left children stand there, or 0, and the
 * nodes that are to be split next as far as is known: the one that gains most first, or, where
 * leaves are not counted, level by level. `children` are the left children of nodes, 0 where rows
 * were not sent on yet; gains below 0 are of nodes that are not split. All arrays have room for
 * every node, `room` for three numbers each. Returns the number of nodes of the tree. */
FCG_API int64_t fcg_plan_tree(int64_t max_leaves, const double *gains, const int64_t *children,
                              void *room, int64_t *order, int64_t *lefts, int64_t *n_wanted,
                              int64_t *wanted);

/* leaves.c */

/* Trees by the leaves that rows belong to, for rows start, ..., stop - 1. */
typedef struct {
    int64_t n_trees, start, stop;
    const uint64_t *codes;   /* (n_trees,): where the numbers of leaves are, of one byte or two */
    const uint8_t *is_wide;  /* (n_trees,): whether they have two */
    const int64_t *first;    /* (n_trees + 1,): where the leaves of a tree begin, and the end */
} fcg_forest;

/* Add the values of the leaves of all trees to f, (n_rows,). */
FCG_API void fcg_leaf_values(const fcg_forest *forest, const double *values, double *f);
/* Add every row's number in r, (n_rows,), to the sums of its leaves. */
FCG_API void fcg_leaf_sums(const fcg_forest *forest, const double *r, double *sums);

/* walk.c */

/* Codes of categories, and how many of them one number holds. */
enum { FCG_CODES = 255, FCG_WORD = 52 };

/* A node of a tree, as a row of the dictionary has it: a leaf has feature -1 and its value; others
 * send rows to node `left` or the one behind it. Kind is a sum: 1, missing values go left; 2, the
 * value is a set of categories below 52, with a bit for every code that goes left; 4 w, those from
 * 52 on are in place w, in four numbers, each -2 less such bits for 52 codes. A code that has no
 * bit goes where missing values go. */
typedef struct {
    double feature, value, left, kind;
} fcg_node;

/* Set the depths of trees; `levels` is room for n_nodes numbers. Returns -1, or the number of the
 * first node that can be reached and sends rows nowhere, or where others go as well. */
FCG_API int64_t fcg_check_trees(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes,
                                int64_t n_features, int64_t *levels, int64_t *depths);
/* Write the values of trees that were checked at rows, of shape (n_rows, n_trees). */
FCG_API void fcg_walk(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes,
                      const int64_t *depths, int64_t n_rows, int64_t n_features, const double *X,
                      double *values);
/* Write the numbers of the leaves where rows end in one tree; `numbers` has one for every node. */
FCG_API void fcg_walk_to_leaves(int64_t depth, const fcg_node *tree, int64_t n_rows,
                                int64_t n_features, const double *X, const uint16_t *numbers,
                                uint16_t *leaves);

/* shapley.c: what players, each with some of the inputs, add to atoms on the way from rows of a
 * background to one row x, on average over all orders in which they may come */

/* Add to phi, of shape (n_trees, n_players), the Shapley values of trees that were checked, summed
 * over the background. `players` has one for every feature, `owners` is room for n_players zeros,
 * and `shares`, of shape (size, size), has i! j! / (i + j + 1)!, where size is more than the number
 * of different players on any way down. */
FCG_API void fcg_shapley_trees(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes,
                               int64_t n_background, int64_t n_features, const double *background,
                               const double *x, const int64_t *players, int64_t n_players,
                               int8_t *owners, int64_t size, const double *shares, double *phi);
/* Add to phi, of shape (n_players, n_atoms), the Shapley values of products over players, whose
 * factors are `own` or, of shape (n_background, n_players, n_atoms), `others`: an integral by a
 * rule of some points in [0, 1]. There is room for (n_players + 2, n_atoms). */
FCG_API void fcg_shapley_products(int64_t n_background, int64_t n_players, int64_t n_atoms,
                                  const double *own, const double *others, int64_t n_points,
                                  const double *points, const double *weights, double *room,
                                  double *phi);
/* Change sums z, of shape (n_walks, n_atoms), move by move: p > 0 adds what player p - 1 changes,
 * -p takes it back. That is gaps @ weights over its inputs first[p - 1], ..., first[p] - 1; gaps
 * have the shape (n_walks, n_inputs). Written are the sums before all moves and after each, of
 * shape (n_walks, n_moves + 1, n_atoms), or, of shape (.., n_outputs), profile(z) @ coef^T if
 * there are coefficients, (n_outputs, n_atoms). There is room for n_atoms numbers. */
enum { FCG_RAMP = 0, FCG_STEP = 1, FCG_SIGMOID = 2 };
FCG_API void fcg_shapley_walks(int64_t n_walks, int64_t n_moves, const int64_t *moves,
                               int64_t n_inputs, const int64_t *first, const double *gaps,
                               int64_t n_atoms, const double *weights, double *z, int64_t profile,
                               int64_t n_outputs, const double *coef, double *room,
                               double *values);

#endif
