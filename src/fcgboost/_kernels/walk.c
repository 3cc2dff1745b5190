/* Trees as rows of nodes: validation, and their values at rows. */
#include "walk.h"

/* Rows per block, whose inputs stay in the fastest cache for all trees, and rows that descend in
 * parallel, which hides the latency of memory. */
enum { BLOCK = 128, LANES = 16 };

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

/* Send a few rows down a tree in parallel; `at` are the nodes they reach. */
static void descend(const fcg_node *tree, int64_t depth, int64_t n, int64_t n_features,
                    const double *X, int64_t *at) {
    for (int64_t lane = 0; lane < n; lane++) at[lane] = 0;
    for (int64_t level = 0, n_moved = n; level < depth && n_moved > 0; level++) {
        n_moved = 0; /* in deep trees, few rows reach the bottom */
        for (int64_t lane = 0; lane < n; lane++) {
            int64_t next = next_node(tree, at[lane], X + lane * n_features);
            n_moved += next != at[lane];
            at[lane] = next;
        }
    }
}

void fcg_walk(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes, const int64_t *depths,
              int64_t n_rows, int64_t n_features, const double *X, double *values) {
    for (int64_t start = 0; start < n_rows; start += BLOCK) {
        int64_t stop = start + BLOCK < n_rows ? start + BLOCK : n_rows;
        for (int64_t t = 0; t < n_trees; t++) {
            const fcg_node *tree = nodes + t * n_nodes;
            for (int64_t first = start; first < stop; first += LANES) {
                int64_t n = stop - first < LANES ? stop - first : LANES, at[LANES];
                descend(tree, depths[t], n, n_features, X + first * n_features, at);
                for (int64_t lane = 0; lane < n; lane++)
                    values[(first + lane) * n_trees + t] = tree[at[lane]].value;
            }
        }
    }
}

void fcg_walk_to_leaves(int64_t depth, const fcg_node *tree, int64_t n_rows, int64_t n_features,
                        const double *X, const uint16_t *numbers, uint16_t *leaves) {
    for (int64_t first = 0; first < n_rows; first += LANES) {
        int64_t n = n_rows - first < LANES ? n_rows - first : LANES, at[LANES];
        descend(tree, depth, n, n_features, X + first * n_features, at);
        for (int64_t lane = 0; lane < n; lane++) leaves[first + lane] = numbers[at[lane]];
    }
}
