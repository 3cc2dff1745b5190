/* The compiled loops of fcgboost: every function that Python calls.
 *
 * Arrays are C-ordered and belong to the caller. Nothing keeps state, starts a thread or needs
 * Python's lock. Sums run in an order that depends on neither the processor nor the compiler's
 * vector width, so every build gives the same bits (screen.c excepted, whose sums are estimates).
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

/* The losses of the squared hinge, and their slopes and curvatures times the rows' shares. */
FCG_API void fcg_squared_hinge(int64_t n, const double *y, const double *shares, const double *f,
                               double *values, double *slopes, double *curvatures);
/* How far slopes are from those that a constant curvature would have led to. */
FCG_API void fcg_unforeseen(int64_t n, double length, const double *g, const double *h,
                            const double *along, const double *new_g, const double *new_h,
                            double *rest);

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

/* trees.c */

/* Rows as the numbers of bins, feature by feature; missing values are behind those of numbers. */
typedef struct {
    int64_t n_rows, n_features;
    const uint8_t *codes;       /* (n_features, n_rows) */
    const int64_t *n_numbers;   /* bins of numbers or categories of a feature */
    const int64_t *offsets;     /* where the bins of a feature begin, all in one line */
    const double *edges;        /* (n_features, 256), the threshold between a bin and the next */
    const uint8_t *is_category;
} fcg_bins;

typedef struct {
    int64_t depth;
    double min_leaf, smoothing, peak;
} fcg_tree_rules;

/* Grow a tree level by level; nodes of four numbers are written to `nodes`, which has room for
 * max_nodes. `room` holds n_room histograms of all bins, two numbers each, at least one; with those
 * of two levels of nodes, larger siblings need not be added up. Returns how many nodes there are,
 * or -1 if there is no memory. */
FCG_API int64_t fcg_grow_tree(const fcg_bins *bins, const fcg_tree_rules *rules,
                              const double *residual, const double *weights, int64_t n_room,
                              double *room, int64_t max_nodes, double *nodes);

/* Nodes of several trees in one table, in which a leaf sends every row to itself. */
typedef struct {
    int64_t n_trees;
    const int64_t *feature, *left;
    const double *threshold, *leaf;
    const int64_t *mask;
    const uint8_t *is_missing_right, *is_category;
    const int64_t *roots, *depths;
    int32_t has_categories;
} fcg_forest;

/* Write the values of trees at rows, of shape (n_rows, n_trees). */
FCG_API void fcg_walk(const fcg_forest *forest, int64_t n_rows, int64_t n_features,
                      const double *X, double *values);

/* screen.c */

/* Add to dots and sizes, of shape (n, n_outputs), what Gauss atoms 2^(factor |z - c|^2) and the
 * residuals give; float32 over blocks of rows. Returns 0, or -1 if there is no memory. */
FCG_API int32_t fcg_gauss_dots(int64_t n_rows, int64_t n_features, const float *Z, int64_t n,
                               const float *centers, const float *factors, int64_t n_outputs,
                               const float *R, double *dots, double *sizes);
/* Add to dots the products of stored columns start, ..., start + n - 1 with a residual, over some
 * rows, whose number is a multiple of 8. Returns 0, or -1 if there is no memory. */
FCG_API int32_t fcg_stored_dots(int64_t n_columns, const float *G, int64_t n_rows,
                                const int64_t *rows, const float *r, int64_t start, int64_t n,
                                double *dots);

#endif
