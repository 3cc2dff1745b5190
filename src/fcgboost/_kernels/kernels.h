/* The compiled loops of fcgboost: every function that Python calls.
 *
 * header.py reads the declarations below, and checks every array by its type and size here.
 * Arrays are C-ordered and belong to the caller. No function needs Python's lock, and none but
 * those of pool.c keeps state or starts a thread. The order of summation depends neither on threads
 * nor on the processor or the compiler's vector width, so every build gives the same bits (except
 * where newton.c calls BLAS and LAPACK).
 */
#ifndef FCGBOOST_KERNELS_H
#define FCGBOOST_KERNELS_H

#include <stdint.h>

/* Sizes are products of counts of arrays that exist: they do not overflow in 64 bits. */
#if UINTPTR_MAX != UINT64_MAX
#error "fcgboost needs addresses of 64 bits."
#endif

#if defined(_WIN32)
#define FCG_API __declspec(dllexport)
#else
#define FCG_API __attribute__((visibility("default")))
#endif

/* library.c */

/* Return the hash of the sources from which the library was built. */
FCG_API const char *fcg_source_hash(void);
/* Return whether the processor can run code for x86-64-v3. */
FCG_API int32_t fcg_has_v3(void);

/* rows.c */

/* Write a hash per row of X, of single or double precision, that depends on its values alone: the
 * mixed sum of its entries, each mixed with the hash of its column; zeros contribute nothing. */
FCG_API void fcg_fingerprint(int64_t n_rows, int64_t n_features, int32_t is_single, const void *X,
                             const uint64_t columns[n_features], uint64_t hashes[n_rows]);
typedef struct {
    uint64_t hash;
    int64_t row;
} fcg_hashed_row;

/* Write the indices that sort hashes in ascending order, ties in their original order; `room` has
 * space for 2 n entries. */
FCG_API void fcg_order(int64_t n, const uint64_t hashes[n], fcg_hashed_row room[2 * n],
                       int64_t order[n]);
/* Copy n rows of X, of `size` bytes each. */
FCG_API void fcg_take_rows(int64_t n, int64_t size, const void *X, const int64_t rows[n],
                           void *taken);
/* Write exp(-|(x - c) u|^2), of shape (n_rows, n_atoms); centers and units are rows. */
FCG_API void fcg_gauss_values(int64_t n_rows, int64_t n_features,
                              const double X[n_rows * n_features], int64_t n_atoms,
                              const double centers[n_atoms * n_features],
                              const double units[n_atoms * n_features],
                              double values[n_rows * n_atoms]);

/* newton.c */

/* Routines of BLAS and LAPACK with Fortran's calling convention. */
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

/* The columns of one output, and the loss at the last point evaluated. */
typedef struct {
    int64_t m, k, room;       /* rows, columns, and the capacity for columns */
    double bend; /* the loss, as in loss.h */
    const double *A;          /* (room, m): one column after the other */
    const double *y, *shares; /* (m,) */
    double *f, *g, *h;        /* (m,): values, slopes and curvatures, both times the shares */
    double *coef, *gradient;  /* (room,): the point, and A^T g */
    double *gram, *peak;      /* (room, room): A^T diag(h) A; (room,): its largest diagonal */
    const fcg_blas *blas;
    double risk, objective, residual; /* the last two are set by fcg_newton */
    int64_t n_known; /* columns included in gradient and gram; 0 before the first point */
    int64_t n_updates, n_moves;
} fcg_columns;

/* Move to a point. Returns 0, or -1 if there is not enough memory. */
FCG_API int32_t fcg_look(fcg_columns *c, const double coef[c->k]);
/* Minimise risk + sum(penalty coef^2) by Newton's method from `coef`, which is overwritten, until
 * the largest entry of the gradient is at most tol * scale, the normal equations are
 * ill-conditioned, or no step lowers the objective. Returns the number of iterations, or -1 if
 * there is not enough memory. */
FCG_API int32_t fcg_newton(fcg_columns *c, const double penalty[c->k], const double norms[c->k],
                           double scale, double tol, int64_t max_iter, double coef[c->k]);

/* step.c */

/* Minimise risk + l2 b^2 over the coefficient b of column j and over the constant, column 0, if
 * there is one, starting at values f where b = 0; other coefficients stay. Updates the values f and
 * the slopes g, and writes to `added` the change of the constant, the change of b, and the risk. */
FCG_API void fcg_step(const fcg_columns *c, int64_t j, int32_t has_constant, double l2,
                      double f[c->m], double g[c->m], double added[3]);

/* draw.c and refine.c: atoms are drawn, and the best one is refined on a residual */

enum { FCG_RELU = 0, FCG_GAUSS = 1, FCG_BLOCK = 64 };

/* How atoms are searched. An atom is (w, b) or (c, log s): an unconstrained vector. */
typedef struct {
    int64_t family;
    int64_t size;              /* the number of atoms that are drawn; the best one is refined */
    int64_t n_rows, max_steps; /* the largest numbers of rows and of BFGS steps */
    /* the largest penalty for moving away from the start, alone and times the weight of the rows */
    double proximity, proximity_times_weight;
    int64_t max_features;      /* the largest number of non-zero weights of a ReLU atom */
    double low, high;          /* the logarithms of the smallest and the largest width */
    int64_t memory, n_shorter; /* the constants of `selection/gain.py` */
    double rounding, increase, shorter, little, first_step, nudge, tie;
} fcg_search;

/* Sample at most n_rows of the rows with positive weight, in order, and n_points of these, which
 * are distinct if there are enough; row 0 if no weight is positive. Returns the number of rows
 * with positive weight. */
FCG_API int64_t fcg_sample(int64_t n, const double weights[n], int64_t n_rows, int64_t n_points,
                           uint64_t key, int64_t rows[n_rows], int64_t points[n_points]);

/* Draw search->size atoms: unit directions with their hinges at the points, or centres there. */
FCG_API void fcg_draw(const fcg_search *search, int64_t d, const double points[search->size * d],
                      uint64_t key, double atoms[search->size * (d + 1)]);

/* Sample rows, draw atoms there, and refine the best one. Z has the shape (n_blocks, d, FCG_BLOCK),
 * padded with zeros after the n rows. Writes the refined atom, if max_steps > 0, then the original,
 * as rows (w, b) with largest value 1, or (c, s). Gains are measured with a ridge, a total weight,
 * and with or without a constant. Returns 0, or -1 if there is not enough memory. */
FCG_API int32_t fcg_propose(const fcg_search *search, int64_t n, int64_t d,
                            const double Z[(n + FCG_BLOCK - 1) / FCG_BLOCK * FCG_BLOCK * d],
                            const double residual[n], const double weights[n], double ridge,
                            double total_weight, int32_t is_centered, uint64_t key,
                            double atoms[(1 + (search->max_steps > 0)) * (d + 1)]);

/* nodes.c, trees.c and splits.c */

/* Binned rows. Missing values have the bin after those of numbers. Features may share a column if
 * no row is outside the default bins of two of them: code 0 then stands for the default bins of all
 * of them, and the other bins of feature j have the codes from first[j] on. */
typedef struct {
    int64_t n_rows, n_columns, n_features;
    const uint8_t *codes;         /* (n_rows, n_columns) */
    const int64_t *column;        /* the column of each feature */
    const int64_t *first, *default_bin; /* 0 and -1 for a feature with its own column */
    const int64_t *n_bins;        /* bins of each feature, including that of missing values */
    const int64_t *n_numbers;     /* bins of numbers or categories of each feature */
    const double *edges;          /* (n_features, 256): thresholds between consecutive bins */
    const uint8_t *is_category;
} fcg_bins;

/* Write the codes of rows X, (n_rows, n_features) of single or double precision, and for each
 * column, whether its features clash in some row. The bin of a number is the number of thresholds
 * below it; that of a category is the category. */
FCG_API void fcg_code_rows(const fcg_bins *bins, int32_t is_single, const void *X,
                           uint8_t codes[bins->n_rows * bins->n_columns],
                           uint8_t clashes[bins->n_columns]);

/* Write the sum, minimum, maximum and number of the weights, and whether all are integers; zeros
 * do not count. */
FCG_API void fcg_weights(int64_t n, const double weights[n], double facts[5]);
/* Return the unit of weight for such a summary, and write whether all weights are multiples of
 * it. */
FCG_API double fcg_weight_unit(const double facts[5], int64_t is_exact[1]);

typedef struct {
    int64_t depth, max_leaves; /* 0 leaves: no limit, and the tree grows level by level */
    double min_leaf, smoothing, peak;
    double unit;      /* the unit of weight; 0: `fcg_grow_tree` determines it */
    int64_t is_exact; /* whether all weights are multiples of it */
    int64_t looks_ahead; /* whether a pair of features may decide the first split */
} fcg_tree_rules;

/* Grow a tree. Writes to `nodes`, which has room for max_nodes entries of four numbers, the nodes,
 * then one entry for each split by a feature with more than 52 categories. Writes to `leaves` the
 * leaf number of each row with positive weight, leaves counted in the order of nodes, in leaf_size
 * bytes: 1, 2, or 0 for none. `room` has space for n_room >= 1 histograms of 256 numbers per
 * column; with one per leaf and one more, the histogram of the larger sibling is always obtained by
 * subtraction. Returns the number of entries, or -1 if there is not enough memory. */
FCG_API int64_t fcg_grow_tree(const fcg_bins *bins, const fcg_tree_rules *rules,
                              const double residual[bins->n_rows],
                              const double weights[bins->n_rows], int64_t n_room,
                              int64_t room[n_room * bins->n_columns * 256], int64_t max_nodes,
                              double nodes[4 * max_nodes], int64_t leaf_size, void *leaves);

/* The best split of a node of a tree grown in rounds, and where its rows go. */
typedef struct {
    int64_t feature, place, is_missing_left; /* feature is -1 if there is no split */
    int64_t left;            /* the sum of the left side */
    double score;            /* minus the score without a split */
    uint64_t goes_left[4];   /* one bit for each code of the column */
    int64_t column;          /* the column of the feature */
    int64_t children, added; /* the number of the left child; which child, 0 or 1, is summed */
} fcg_split;

/* Find the best splits of n nodes from their totals and histograms; the last two fields are not
 * written. */
FCG_API void fcg_find_splits(const fcg_bins *bins, const fcg_tree_rules *rules, int64_t n,
                             const int64_t totals[n],
                             const int64_t histograms[n * bins->n_columns * 256],
                             fcg_split splits[n]);
/* Send rows to the children of their nodes, and fill the histogram of one child per split. `slots`
 * has the index of each node's split, or -1; the histograms, one per split, are zero on entry. */
FCG_API void fcg_split_rows(const fcg_bins *bins, const int64_t slots[], const fcg_split splits[],
                            const int64_t sums[bins->n_rows], int32_t nodes[bins->n_rows],
                            int64_t histograms[]);
/* Write a tree grown in rounds, as `fcg_grow_tree` does: the order of its n nodes, the positions of
 * their left children there, and the totals and splits of all nodes. `nodes` has room for 2 n
 * entries. Returns the number of entries. */
FCG_API int64_t fcg_write_tree(const fcg_bins *bins, const fcg_tree_rules *rules, int64_t n,
                               const int64_t order[n], const int64_t lefts[n],
                               const int64_t totals[], const fcg_split splits[],
                               double nodes[8 * n]);

/* plan.c */

/* Plan a tree that grows best split first or, without a limit of leaves, level by level. Writes its
 * nodes in order, the positions of their left children there (0 for leaves), and the nodes to split
 * next as far as they are known. `children` are the left children of nodes, 0 if their rows have
 * not been split yet; nodes with a negative gain are not split. All arrays have room for every
 * node, `room` for three numbers per node. Returns the number of nodes of the tree. */
FCG_API int64_t fcg_plan_tree(int64_t max_leaves, const double gains[], const int64_t children[],
                              void *room, int64_t order[], int64_t lefts[], int64_t n_wanted[1],
                              int64_t wanted[]);

/* pool.c */

/* Start threads that help other functions of the library, so that at least n_threads work at
 * once. */
FCG_API void fcg_open_pool(int64_t n_threads);
/* End these threads. */
FCG_API void fcg_close_pool(void);

/* leaves.c */

/* Trees stored as the leaf numbers of rows. */
typedef struct {
    int64_t n_trees, n_rows, n_leaves;
    const uint64_t *codes;   /* (n_trees,): addresses of leaf numbers of one or two bytes */
    const uint8_t *is_wide;  /* (n_trees,): whether they have two bytes */
    const int64_t *first;    /* (n_trees + 1,): the first leaf of each tree, and the end */
} fcg_forest;

/* Add the leaf values of all trees to f, of shape (n_rows,). */
FCG_API void fcg_leaf_values(const fcg_forest *forest, const double values[forest->n_leaves],
                             double f[forest->n_rows]);
/* Write the sum of each of n_vectors vectors r over all rows, followed by those over the leaves.
 * Returns 0, or -1 if there is not enough memory. */
FCG_API int32_t fcg_leaf_sums(const fcg_forest *forest, int64_t n_vectors,
                              const double *const r[n_vectors],
                              double sums[n_vectors * (1 + forest->n_leaves)]);
/* The same for one vector, h (constant + A values), where A v adds the leaf values of all trees. */
FCG_API int32_t fcg_leaf_products(const fcg_forest *forest, double constant,
                                  const double values[forest->n_leaves],
                                  const double h[forest->n_rows],
                                  double sums[1 + forest->n_leaves]);
/* Write the losses at values f, their slopes and curvatures, all times the shares; `bend` names the
 * loss as in loss.h. */
FCG_API void fcg_terms(int64_t n, double bend, const double f[n], const double y[n],
                       const double shares[n], double losses[n], double slopes[n],
                       double curvatures[n]);
/* Add leaf values to f, write the losses, slopes and curvatures there, (3, n_rows), as fcg_terms
 * does, and the sums of the last n_vectors of them, 2 or 3, as fcg_leaf_sums does. */
FCG_API int32_t fcg_leaf_terms(const fcg_forest *forest, double bend,
                               const double values[forest->n_leaves],
                               const double y[forest->n_rows], const double shares[forest->n_rows],
                               double f[forest->n_rows], double terms[3 * forest->n_rows],
                               int64_t n_vectors, double sums[n_vectors * (1 + forest->n_leaves)]);

/* walk.c */

/* The number of category codes, and how many of them one number holds. */
enum { FCG_CODES = 255, FCG_WORD = 52 };

/* A node of a tree, as in a row of the dictionary. A leaf has feature -1 and its value; other nodes
 * send rows to node `left` or to the one after it. Kind is a sum: 1, missing values go left; 2, the
 * value is a set of categories, one bit for each code below 52 that goes left; 4 w, codes from 52
 * on are in entry w, as four numbers, each -2 minus the bits of 52 codes. A code without a bit goes
 * where missing values go. */
typedef struct {
    double feature, value, left, kind;
} fcg_node;

/* The same node as rows descend from it. A leaf has its own number as left. How another one splits
 * is a sum: SPLITS; MISSING, missing values go right; SET, it has a set of categories; and FEATURE
 * times the feature. */
enum { FCG_SPLITS = 1, FCG_MISSING = 2, FCG_SET = 4, FCG_FEATURE = 8 };
typedef struct {
    double value;
    int32_t how, left;
} fcg_branch;

/* Write the depths of trees, and their nodes as branches; `levels` is work space for n_nodes
 * numbers. Returns -1, or the number of the first reachable node that sends rows to no valid node,
 * or to one with another parent. */
FCG_API int64_t fcg_check_trees(int64_t n_trees, int64_t n_nodes,
                                const fcg_node nodes[n_trees * n_nodes], int64_t n_features,
                                int64_t levels[n_nodes], int64_t depths[n_trees],
                                fcg_branch branches[n_trees * n_nodes]);
/* Write the values of checked trees at rows of single or double precision, of shape (n_rows,
 * n_trees). */
FCG_API void fcg_walk(int64_t n_trees, int64_t n_nodes, const fcg_node nodes[n_trees * n_nodes],
                      const fcg_branch branches[n_trees * n_nodes], int64_t n_rows,
                      int64_t n_features, int32_t is_single, const void *X,
                      double values[n_rows * n_trees]);
/* Write the leaf number of each row in one tree; `numbers` has one for each node. */
FCG_API void fcg_walk_to_leaves(int64_t n_nodes, const fcg_node tree[n_nodes],
                                const fcg_branch branches[n_nodes], int64_t n_rows,
                                int64_t n_features, int32_t is_single, const void *X,
                                const uint16_t numbers[n_nodes], uint16_t leaves[n_rows]);

/* sum.c */

/* What turns numbers z into values: max(0, z), 1 if z > 0, 1 / (1 + exp(-z)), exp(-z). The values
 * of trees are those of their leaves. */
enum { FCG_RAMP = 0, FCG_STEP = 1, FCG_SIGMOID = 2, FCG_BELL = 3, FCG_TREE = 4, FCG_LANES = 8 };

/* Atoms of one profile over some of the inputs. Limits, atoms and coefficients are places in the
 * numbers of the sum. Limits are what stands for missing inputs, and the lowest and the highest
 * values that inputs are clipped to; place -1 is none. Atoms are in groups of LANES, the last one
 * padded: for each input, and then for the constant, the weights of the group; of bells, for each
 * input, the centres, and then the factors of the differences that z is the sum of squares of. For
 * trees `atoms` is the place of their first node. Coefficients of atoms that only pad are 0; they
 * have the shape (n_outputs, n_groups * LANES). */
typedef struct {
    int64_t profile, n_atoms, first_input, n_inputs, limits, atoms, n_nodes, coef;
} fcg_part;
/* A sum of the atoms of all parts, times their coefficients, and of an intercept per output. */
typedef struct {
    int64_t n_features, n_outputs, n_parts;
    const fcg_part *parts;
    const double *numbers, *intercept;
    const fcg_node *nodes;
    const fcg_branch *branches;
} fcg_sum;

/* Write the sum at rows of single or double precision, of shape (n_rows, n_outputs). Returns 0, or
 * -1 if there is not enough memory. */
FCG_API int32_t fcg_add_up(const fcg_sum *sum, int64_t n_rows, int32_t is_single, const void *X,
                           double values[n_rows * sum->n_outputs]);

/* shapley.c: players own some of the inputs each; their Shapley values are what they add to atoms
 * on the way from the rows of a background to one row x, averaged over all orders of players */

/* Write which rows of the background each node of checked trees sends left: one bit per row, in
 * groups of GROUP rows, of shape (n_groups, n_trees, n_nodes). */
enum { FCG_GROUP = 64 };
FCG_API void fcg_go_left(int64_t n_trees, int64_t n_nodes, const fcg_node nodes[n_trees * n_nodes],
                         const fcg_branch branches[n_trees * n_nodes], int64_t n_background,
                         int64_t n_features,
                         const double background[n_background * n_features],
                         uint64_t lefts[(n_background + 63) / 64 * n_trees * n_nodes]);
/* Add to phi, of shape (n_rows, n_players, n_outputs), the Shapley values of checked trees of at
 * most some depth, times their coefficients, for the rows of X, summed over the background.
 * `players` has the player of each feature, and `shares`, of shape (size, size), has
 * i! j! / (i + j + 1)!; size is no less than the number of different players on any path from the
 * root. Returns 0, or -1 if there is not enough memory. */
FCG_API int32_t fcg_shapley_trees(
    int64_t n_trees, int64_t n_nodes, const fcg_node nodes[n_trees * n_nodes], int64_t depth,
    int64_t n_background, const uint64_t lefts[(n_background + 63) / 64 * n_trees * n_nodes],
    int64_t n_rows, int64_t n_features, const double X[n_rows * n_features],
    const int64_t players[n_features], int64_t n_players, int64_t size,
    const double shares[size * size], int64_t n_outputs, const double coef[n_trees * n_outputs],
    double phi[n_rows * n_players * n_outputs]);
/* Add to phi, of shape (n_players, n_atoms), the Shapley values of products over players. The
 * products are of `factors` for x and of `background`, of shape (n_background, n_players, n_atoms),
 * for the other rows. The values are integrals over [0, 1], computed by a quadrature rule; `room`
 * has the shape (n_players + 2, n_atoms). */
FCG_API void fcg_shapley_products(int64_t n_background, int64_t n_players, int64_t n_atoms,
                                  const double factors[n_players * n_atoms],
                                  const double background[n_background * n_players * n_atoms],
                                  int64_t n_points, const double points[n_points],
                                  const double weights[n_points],
                                  double room[(n_players + 2) * n_atoms],
                                  double phi[n_players * n_atoms]);
/* Update sums z, of shape (n_walks, n_groups * LANES), move by move: p > 0 adds what player
 * p - 1 changes, -p takes it back. The change is gaps @ weights over inputs first[p - 1], ...,
 * first[p] - 1; gaps have the shape (n_walks, n_inputs). Writes profile(z) @ coef^T before all
 * moves and after each, of shape (n_walks, n_moves + 1, n_outputs); coefficients have the shape
 * (n_outputs, n_groups * LANES), and are 0 for atoms that pad the last group. */
FCG_API void fcg_shapley_walks(int64_t n_walks, int64_t n_moves,
                               const int64_t moves[n_walks * n_moves], int64_t n_inputs,
                               const int64_t first[], const double gaps[n_walks * n_inputs],
                               int64_t n_groups, const double weights[n_inputs * n_groups * 8],
                               double z[n_walks * n_groups * 8], int64_t profile,
                               int64_t n_outputs, const double coef[n_outputs * n_groups * 8],
                               double room[(n_walks + 63) / 64 * n_groups * 8],
                               double values[n_walks * (n_moves + 1) * n_outputs]);

#endif
