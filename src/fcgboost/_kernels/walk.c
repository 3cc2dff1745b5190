/* Trees as rows of nodes: validation, and their values at rows. */
#include "pool.h"
#include "walk.h"

/* Rows per block, whose inputs stay in the fastest cache for all trees. */
enum { BLOCK = 128 };
/* From so many trees on a block is worth another thread; rows of one tree that are. */
enum { MANY = 16, PART = 2048 };

static int is_word(double x) { return x >= 0.0 && x < 0x1p52 && x == floor(x); }

/* Whether a node splits by an existing feature and sends rows to later nodes. */
static int is_sound(const fcg_node *tree, int64_t i, int64_t n_nodes, int64_t n_features) {
    const fcg_node *node = tree + i;
    double f = node->feature, v = node->value, l = node->left, kind = node->kind;
    if (!(f >= 0.0 && f < (double)n_features && f == floor(f) && v - v == 0.0)) return 0;
    if (!(f < 0x1p28 && l < 0x1p31)) return 0;
    if (!(l > (double)i && l + 1.0 < (double)n_nodes && l == floor(l))) return 0;
    if (kind == 0.0 || kind == 1.0) return 1;
    if (!(kind < 4.0 * (double)n_nodes && is_word(kind) && is_word(v))) return 0;
    const double *words = (const double *)(tree + ((int64_t)kind >> 2));
    for (int k = 0; kind >= 4.0 && k < 4; k++)
        if (!is_word(-2.0 - words[k])) return 0;
    return ((int64_t)kind & 2) == 2;
}

static fcg_branch branch_of(const fcg_node *node) {
    int64_t kind = (int64_t)node->kind;
    int32_t how = FCG_SPLITS + (kind & 1 ? 0 : FCG_MISSING) + (kind & 2 ? FCG_SET : 0);
    how += FCG_FEATURE * (int32_t)node->feature;
    return (fcg_branch){node->value, how, (int32_t)node->left};
}

int64_t fcg_check_trees(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes,
                        int64_t n_features, int64_t *levels, int64_t *depths,
                        fcg_branch *branches) {
    for (int64_t tree = 0; tree < n_trees; tree++, nodes += n_nodes, branches += n_nodes) {
        depths[tree] = 0;
        for (int64_t i = 1; i < n_nodes; i++) levels[i] = -1;
        levels[0] = 0;
        for (int64_t i = 0; i < n_nodes; i++) {
            branches[i] = (fcg_branch){nodes[i].value, 0, (int32_t)i};
            if (levels[i] < 0 || nodes[i].feature == -1.0) continue;
            if (!is_sound(nodes, i, n_nodes, n_features)) return tree * n_nodes + i;
            int64_t left = (int64_t)nodes[i].left;
            branches[i] = branch_of(nodes + i);
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
    const fcg_branch *branches;
    int64_t n_rows, n_features;
    int32_t is_single; /* the precision of X */
    const void *X;
    double *values;
    const uint16_t *numbers;
    uint16_t *leaves;
} walks;

/* Send n rows from the first one on down tree t. */
static void descend(const walks *all, int64_t t, int64_t first, int64_t n, int32_t *at) {
    const fcg_node *tree = all->nodes + t * all->n_nodes;
    const fcg_branch *branches = all->branches + t * all->n_nodes;
    int64_t d = all->n_features, place = first * d;
    const double *doubles = (const double *)all->X + place;
    const float *singles = (const float *)all->X + place;
    if (n < FCG_ABREAST && all->is_single)
        fcg_descend(tree, branches, (fcg_rows){singles, 1, d, 1}, n, at);
    else if (n < FCG_ABREAST) fcg_descend(tree, branches, (fcg_rows){doubles, 0, d, 1}, n, at);
    else if (all->is_single)
        fcg_descend(tree, branches, (fcg_rows){singles, 1, d, 1}, FCG_ABREAST, at);
    else fcg_descend(tree, branches, (fcg_rows){doubles, 0, d, 1}, FCG_ABREAST, at);
}

static void walk_block(void *context, int64_t block) {
    const walks *all = context;
    int64_t start = block * BLOCK, stop = start + BLOCK;
    stop = stop < all->n_rows ? stop : all->n_rows;
    for (int64_t t = 0; t < all->n_trees; t++) {
        const fcg_branch *branches = all->branches + t * all->n_nodes;
        for (int64_t first = start; first < stop; first += FCG_ABREAST) {
            int32_t at[FCG_ABREAST];
            int64_t n = stop - first < FCG_ABREAST ? stop - first : FCG_ABREAST;
            descend(all, t, first, n, at);
            for (int64_t lane = 0; lane < n; lane++)
                all->values[(first + lane) * all->n_trees + t] = branches[at[lane]].value;
        }
    }
}

void fcg_walk(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes, const fcg_branch *branches,
              int64_t n_rows, int64_t n_features, int32_t is_single, const void *X,
              double *values) {
    walks all = {.n_trees = n_trees, .n_nodes = n_nodes, .nodes = nodes, .branches = branches,
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
    for (int64_t first = start; first < stop; first += FCG_ABREAST) {
        int32_t at[FCG_ABREAST];
        int64_t n = stop - first < FCG_ABREAST ? stop - first : FCG_ABREAST;
        descend(all, 0, first, n, at);
        for (int64_t lane = 0; lane < n; lane++)
            all->leaves[first + lane] = all->numbers[at[lane]];
    }
}

void fcg_walk_to_leaves(int64_t n_nodes, const fcg_node *tree, const fcg_branch *branches,
                        int64_t n_rows, int64_t n_features, int32_t is_single, const void *X,
                        const uint16_t *numbers, uint16_t *leaves) {
    walks all = {.n_nodes = n_nodes, .nodes = tree, .branches = branches, .n_rows = n_rows,
                 .n_features = n_features, .is_single = is_single, .X = X, .numbers = numbers,
                 .leaves = leaves};
    fcg_share((n_rows + PART - 1) / PART, number_part, &all);
}
