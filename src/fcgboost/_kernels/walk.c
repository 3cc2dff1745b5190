/* Trees as rows of nodes: validation, and their values at rows. */
#include "pool.h"
#include "walk.h"

/* Rows per block, whose inputs stay in the fastest cache for all trees, and rows that descend in
 * parallel, which hides the latency of memory. */
enum { BLOCK = 128, LANES = 16 };
/* From so many trees on a block is worth another thread; rows of one tree that are. */
enum { MANY = 16, PART = 2048 };

static int is_word(double x) { return x >= 0.0 && x < 0x1p52 && x == floor(x); }

/* Whether a node splits by an existing feature and sends rows to later nodes. */
static int is_sound(const fcg_node *tree, int64_t i, int64_t n_nodes, int64_t n_features) {
    const fcg_node *node = tree + i;
    double f = node->feature, v = node->value, l = node->left, kind = node->kind;
    if (!(f >= 0.0 && f < (double)n_features && f == floor(f) && v - v == 0.0)) return 0;
    if (!(l > (double)i && l + 1.0 < (double)n_nodes && l == floor(l))) return 0;
    if (kind == 0.0 || kind == 1.0) return 1;
    if (!(kind < 4.0 * (double)n_nodes && is_word(kind) && is_word(v))) return 0;
    const double *words = (const double *)(tree + ((int64_t)kind >> 2));
    for (int k = 0; kind >= 4.0 && k < 4; k++)
        if (!is_word(-2.0 - words[k])) return 0;
    return ((int64_t)kind & 2) == 2;
}

int64_t fcg_check_trees(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes,
                        int64_t n_features, int64_t *levels, int64_t *depths) {
    for (int64_t tree = 0; tree < n_trees; tree++, nodes += n_nodes) {
        depths[tree] = 0;
        for (int64_t i = 1; i < n_nodes; i++) levels[i] = -1;
        levels[0] = 0;
        for (int64_t i = 0; i < n_nodes; i++) {
            if (levels[i] < 0 || nodes[i].feature == -1.0) continue;
            if (!is_sound(nodes, i, n_nodes, n_features)) return tree * n_nodes + i;
            int64_t left = (int64_t)nodes[i].left;
            if (levels[left] >= 0 || levels[left + 1] >= 0) return tree * n_nodes + i;
            levels[left] = levels[left + 1] = levels[i] + 1;
            if (depths[tree] <= levels[i]) depths[tree] = levels[i] + 1;
        }
    }
    return -1;
}

/* Trees, rows, and what is written: the values of all trees, or the leaf numbers of one. */
typedef struct {
    int64_t n_trees, n_nodes;
    const fcg_node *nodes;
    const int64_t *depths;
    int64_t n_rows, n_features;
    int32_t is_single; /* the precision of X */
    const void *X;
    double *values;
    const uint16_t *numbers;
    uint16_t *leaves;
} walks;

/* Send n rows from the first one on down a tree in parallel; `at` are the nodes they reach. */
static void descend(const walks *all, const fcg_node *tree, int64_t depth, int64_t first,
                    int64_t n, int64_t *at) {
    const double *doubles = all->X;
    const float *singles = all->X;
    for (int64_t lane = 0; lane < n; lane++) at[lane] = 0;
    for (int64_t level = 0, n_moved = n; level < depth && n_moved > 0; level++) {
        n_moved = 0; /* in deep trees, few rows reach the bottom */
        for (int64_t lane = 0; lane < n; lane++) {
            const fcg_node *node = tree + at[lane];
            if (node->feature < 0.0) continue;
            int64_t entry = (first + lane) * all->n_features + (int64_t)node->feature;
            at[lane] = child_of(tree, node, all->is_single ? singles[entry] : doubles[entry]);
            n_moved++;
        }
    }
}

static void walk_block(void *context, int64_t block) {
    const walks *all = context;
    int64_t start = block * BLOCK, stop = start + BLOCK;
    stop = stop < all->n_rows ? stop : all->n_rows;
    for (int64_t t = 0; t < all->n_trees; t++) {
        const fcg_node *tree = all->nodes + t * all->n_nodes;
        for (int64_t first = start; first < stop; first += LANES) {
            int64_t n = stop - first < LANES ? stop - first : LANES, at[LANES];
            descend(all, tree, all->depths[t], first, n, at);
            for (int64_t lane = 0; lane < n; lane++)
                all->values[(first + lane) * all->n_trees + t] = tree[at[lane]].value;
        }
    }
}

void fcg_walk(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes, const int64_t *depths,
              int64_t n_rows, int64_t n_features, int32_t is_single, const void *X,
              double *values) {
    walks all = {.n_trees = n_trees, .n_nodes = n_nodes, .nodes = nodes, .depths = depths,
                 .n_rows = n_rows, .n_features = n_features, .is_single = is_single, .X = X,
                 .values = values};
    int64_t n_blocks = (n_rows + BLOCK - 1) / BLOCK;
    if (n_trees >= MANY) fcg_share(n_blocks, walk_block, &all);
    else
        for (int64_t block = 0; block < n_blocks; block++) walk_block(&all, block);
}

static void number_part(void *context, int64_t part) {
    const walks *all = context;
    int64_t start = part * PART, stop = start + PART < all->n_rows ? start + PART : all->n_rows;
    for (int64_t first = start; first < stop; first += LANES) {
        int64_t n = stop - first < LANES ? stop - first : LANES, at[LANES];
        descend(all, all->nodes, all->depths[0], first, n, at);
        for (int64_t lane = 0; lane < n; lane++)
            all->leaves[first + lane] = all->numbers[at[lane]];
    }
}

void fcg_walk_to_leaves(int64_t depth, const fcg_node *tree, int64_t n_rows, int64_t n_features,
                        int32_t is_single, const void *X, const uint16_t *numbers,
                        uint16_t *leaves) {
    walks all = {.nodes = tree, .depths = &depth, .n_rows = n_rows, .n_features = n_features,
                 .is_single = is_single, .X = X, .numbers = numbers, .leaves = leaves};
    fcg_share((n_rows + PART - 1) / PART, number_part, &all);
}
