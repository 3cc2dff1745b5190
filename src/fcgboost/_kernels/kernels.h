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
    double risk;
    int64_t n_known; /* columns that gradient and gram hold; 0 before the first point */
    int64_t n_updates, n_moves;
} fcg_columns;

/* Go to a point. Returns 0, or -1 if there is no memory. */
FCG_API int32_t fcg_look(fcg_columns *c, const double *coef);
/* Minimise risk + sum(penalty coef^2) by Newton's method from `coef`, which is overwritten, until
 * the largest entry of the gradient is at most tol * scale, or the normal equations are not safe,
 * or no step gains. Returns the number of iterations, or -1 if there is no memory. */
FCG_API int32_t fcg_newton(fcg_columns *c, const double *penalty, const double *norms, double scale,
                           double tol, int64_t max_iter, double *coef, double *objective,
                           double *residual);

/* refine.c */

enum { FCG_RELU = 0, FCG_GAUSS = 1 };

/* What gains are measured with: the ridge, the total weight, and whether a constant is fitted. */
typedef struct {
    double ridge, total_weight;
    int32_t is_centered;
} fcg_gain;

/* Climb from theta along the gradient of the logarithm of the gain, by limited-memory BFGS; theta
 * is overwritten by where the climb ends. A leash says how strongly every entry is held where it
 * started. Returns 0, or -1 if there is no memory. */
FCG_API int32_t fcg_refine(int32_t family, int64_t n_rows, int64_t n_features, const double *Z,
                           const double *residual, const double *weights, const fcg_gain *gain,
                           const double *leash, int64_t max_steps, double *theta);

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

/* Add to dots, of shape (n, n_outputs), the products of Gauss atoms 2^(factor |z - c|^2) with the
 * residuals; float32 over blocks of rows. Returns 0, or -1 if there is no memory. */
FCG_API int32_t fcg_gauss_dots(int64_t n_rows, int64_t n_features, const float *Z, int64_t n,
                               const float *centers, const float *factors, int64_t n_outputs,
                               const float *R, double *dots);
/* Add to dots the products of stored columns start, ..., start + n - 1 with a residual, over some
 * rows, whose number is a multiple of 8. Returns 0, or -1 if there is no memory. */
FCG_API int32_t fcg_stored_dots(int64_t n_columns, const float *G, int64_t n_rows,
                                const int64_t *rows, const float *r, int64_t start, int64_t n,
                                double *dots);

#endif
