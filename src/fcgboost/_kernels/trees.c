/* Trees: grown level by level on binned rows, and walked along. Residuals are rounded to whole
 * steps, so that with whole weights no sum over rows is rounded, and the sums of a node are exactly
 * those of its parent less those of its sibling. */
#include "kernels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_BINS = 256, N_CODES = 52, FIELDS = 4, MISSING_LEFT = 1, CATEGORIES = 2 };

/* The largest residual is so many steps: with weights of 2^30 units, sums stay below 2^53. */
static const double RESIDUAL_STEPS = 4194304.0;
/* A split must raise the sum of squares by more than rounding does. */
static const double FLOOR = 1.0 + 0x1p-40;
/* A node before it is split. */
static const double LEAF[FIELDS] = {-1.0, 0.0, 0.0, 0.0};

/* Sums of residuals and of weights. */
typedef struct {
    double pull, weight;
} sums;

/* A node whose rows are at hand: its number in the tree, its rows, and its best split. */
typedef struct {
    int64_t number, start, stop;
    sums total, left;
    double score;
    int64_t feature, place;
    uint8_t is_missing_left;
    uint8_t goes_left[N_BINS];
} open_node;

/* What the growth of one tree needs. */
typedef struct {
    const fcg_bins *bins;
    const fcg_tree_rules *rules;
    int64_t n_bins;
    sums *rows;                 /* of every row */
    sums *members;              /* of the rows of one node, side by side */
    sums *totals;               /* of every node of the tree */
    int32_t *order, *new_order; /* rows, those of a node side by side */
    open_node *level, *next;
    int64_t n_level;
    sums *room;                        /* for histograms: those of two levels, or of one node */
    int64_t n_room;                    /* how many histograms */
    sums *histograms, *new_histograms; /* of the level above, NULL if not kept, and of this one */
} growth;

/* Set the sums of all rows, and the order of those that have a residual; returns their number. */
static int64_t row_sums(const fcg_bins *bins, const double *residual, const double *weights,
                        growth *tree) {
    int64_t n_active = 0;
    double largest = 0.0;
    for (int64_t i = 0; i < bins->n_rows; i++) {
        int is_active = residual[i] != 0.0 && weights[i] > 0.0;
        double pull = is_active ? residual[i] / weights[i] : 0.0;
        tree->rows[i].pull = pull;
        tree->rows[i].weight = weights[i];
        largest = fmax(largest, fabs(pull));
        if (is_active) tree->order[n_active++] = (int32_t)i;
    }
    if (largest == 0.0) largest = 1.0;
    for (int64_t i = 0; i < bins->n_rows; i++)
        tree->rows[i].pull = rint(tree->rows[i].pull / largest * RESIDUAL_STEPS) * weights[i];
    return n_active;
}

/* Add up residuals and weights of a node by bin, for all features. */
static void fill_histogram(const growth *tree, const open_node *node, sums *histogram) {
    const fcg_bins *bins = tree->bins;
    const int32_t *order = tree->order + node->start;
    int64_t n = node->stop - node->start;
    for (int64_t i = 0; i < n; i++) tree->members[i] = tree->rows[order[i]];
    memset(histogram, 0, (size_t)tree->n_bins * sizeof(sums));
    for (int64_t j = 0; j < bins->n_features; j++) {
        sums *own = histogram + bins->offsets[j];
        const uint8_t *codes = bins->codes + j * bins->n_rows;
        for (int64_t i = 0; i < n; i++) {
            sums *bin = own + codes[order[i]];
            bin->pull += tree->members[i].pull;
            bin->weight += tree->members[i].weight;
        }
    }
}

/* Order the bins of a feature and add them up in that order; returns how many there are. Levels of
 * a category are in the order of their mean residuals, and those without rows are left out. */
static int64_t rank_bins(const sums *own, int64_t n, int is_category, double smoothing,
                         int64_t *ranks, sums *below) {
    int64_t n_ranks = n;
    if (is_category) {
        double means[N_BINS];
        n_ranks = 0;
        for (int64_t code = 0; code < n; code++) {
            if (own[code].weight <= 0.0) continue;
            means[code] = own[code].pull / (own[code].weight + smoothing);
            int64_t at = n_ranks++;
            for (; at > 0 && means[ranks[at - 1]] > means[code]; at--) ranks[at] = ranks[at - 1];
            ranks[at] = code;
        }
    } else {
        for (int64_t code = 0; code < n; code++) ranks[code] = code;
    }
    sums total = {0.0, 0.0};
    for (int64_t at = 0; at < n_ranks; at++) {
        total.pull += own[ranks[at]].pull;
        total.weight += own[ranks[at]].weight;
        below[at] = total;
    }
    return n_ranks;
}

/* Score the splits of a feature that put bins 0, ..., at and `more` to the left; -1 where a side
 * has too few rows. */
static void score_splits(const fcg_tree_rules *rules, const sums *below, int64_t n_ranks,
                         sums more, sums total, double *restrict scores) {
    for (int64_t at = 0; at < n_ranks; at++) {
        double a = below[at].pull + more.pull, b = below[at].weight + more.weight;
        double c = total.pull - a, d = total.weight - b;
        double found = a * a / (b + rules->smoothing) + c * c / (d + rules->smoothing);
        scores[at] = b >= rules->min_leaf && d >= rules->min_leaf ? found : -1.0;
    }
}

/* Improve the split of a node by one feature. Of equal ones the lowest threshold wins, then
 * missing values on the left. */
static void split_by(const growth *tree, open_node *node, const sums *own, int64_t j) {
    const fcg_bins *bins = tree->bins;
    int64_t n = bins->n_numbers[j], ranks[N_BINS], best = -1;
    int is_left = 0, is_category = bins->is_category[j];
    sums below[N_BINS], nothing = {0.0, 0.0}, missing = nothing;
    double left_scores[N_BINS], right_scores[N_BINS];
    if (bins->offsets[j + 1] - bins->offsets[j] > n) missing = own[n];
    int64_t n_ranks = rank_bins(own, n, is_category, tree->rules->smoothing, ranks, below);
    score_splits(tree->rules, below, n_ranks, nothing, node->total, right_scores);
    if (missing.weight > 0.0)
        score_splits(tree->rules, below, n_ranks, missing, node->total, left_scores);
    for (int64_t at = 0; at < n_ranks; at++) {
        if (missing.weight > 0.0 && left_scores[at] > node->score)
            node->score = left_scores[at], best = at, is_left = 1;
        if (right_scores[at] > node->score) node->score = right_scores[at], best = at, is_left = 0;
    }
    if (best < 0) return;
    node->feature = j;
    node->place = best;
    node->left.pull = below[best].pull + (is_left ? missing.pull : 0.0);
    node->left.weight = below[best].weight + (is_left ? missing.weight : 0.0);
    /* Where no value is missing, those to come go with the majority. */
    if (missing.weight == 0.0) is_left = 2.0 * node->left.weight >= node->total.weight;
    node->is_missing_left = (uint8_t)is_left;
    memset(node->goes_left, is_left, N_BINS);
    for (int64_t at = 0; at < n_ranks; at++) node->goes_left[ranks[at]] = at <= best;
}

/* Find the best split of a node; feature -1 if there is none. */
static void split_node(const growth *tree, open_node *node, const sums *histogram) {
    const fcg_bins *bins = tree->bins;
    sums total = node->total;
    node->score = total.pull * total.pull / (total.weight + tree->rules->smoothing) * FLOOR;
    node->feature = -1;
    if (total.weight < 2.0 * tree->rules->min_leaf) return;
    for (int64_t j = 0; j < bins->n_features; j++)
        split_by(tree, node, histogram + bins->offsets[j], j);
}

/* Split the nodes of a level. Behind the root siblings stand side by side: where the sums of the
 * level above are kept, those of the larger one are what the smaller one leaves of the parent's. */
static void split_level(growth *tree, const int64_t *parent_of) {
    const sums *parents = tree->histograms;
    int64_t step = parents != NULL ? 2 : 1;
    for (int64_t k = 0; k < tree->n_level; k += step) {
        open_node *first = tree->level + k;
        int is_kept = tree->new_histograms != NULL;
        sums *own = is_kept ? tree->new_histograms + k * tree->n_bins : tree->room;
        if (parents == NULL) {
            fill_histogram(tree, first, own);
            split_node(tree, first, own);
            continue;
        }
        int second_is_small = first[1].stop - first[1].start < first->stop - first->start;
        sums *small = own + (second_is_small ? tree->n_bins : 0);
        sums *large = own + (second_is_small ? 0 : tree->n_bins);
        const sums *above = parents + parent_of[k / 2] * tree->n_bins;
        fill_histogram(tree, first + second_is_small, small);
        for (int64_t place = 0; place < tree->n_bins; place++) {
            large[place].pull = above[place].pull - small[place].pull;
            large[place].weight = above[place].weight - small[place].weight;
        }
        split_node(tree, first, own);
        split_node(tree, first + 1, own + tree->n_bins);
    }
}

/* Write a split down, and its children as leaves; returns the number of the left one. */
static int64_t write_split(growth *tree, const open_node *node, double *nodes, int64_t *n_nodes) {
    const fcg_bins *bins = tree->bins;
    int64_t left = *n_nodes;
    int is_category = bins->is_category[node->feature];
    double value = bins->edges[node->feature * N_BINS + node->place];
    if (is_category) {
        value = 0.0;
        for (int code = 0; code < N_CODES; code++)
            value += node->goes_left[code] ? ldexp(1.0, code) : 0.0;
    }
    double *row = nodes + FIELDS * node->number;
    row[0] = (double)node->feature;
    row[1] = value;
    row[2] = (double)left;
    row[3] = node->is_missing_left * MISSING_LEFT + is_category * CATEGORIES;
    for (int64_t child = left; child < left + 2; child++)
        memcpy(nodes + FIELDS * child, LEAF, sizeof LEAF);
    tree->totals[left] = node->left;
    tree->totals[left + 1].pull = node->total.pull - node->left.pull;
    tree->totals[left + 1].weight = node->total.weight - node->left.weight;
    *n_nodes += 2;
    return left;
}

/* Bring the rows of a node to its children: to the left from the front, others from the back. */
static void part_rows(growth *tree, const open_node *node, int64_t at, open_node *children) {
    const uint8_t *codes = tree->bins->codes + node->feature * tree->bins->n_rows;
    int64_t left = at, right = at + node->stop - node->start;
    children[0].start = left;
    children[1].stop = right;
    for (int64_t i = node->start; i < node->stop; i++) {
        int32_t row = tree->order[i];
        int64_t is_left = node->goes_left[codes[row]];
        right -= 1 - is_left;
        tree->new_order[is_left ? left : right] = row;
        left += is_left;
    }
    children[0].stop = children[1].start = left;
}

/* Open the children of a level's splits, siblings together where one of them can be split; returns
 * how many nodes there are. */
static int64_t open_children(growth *tree, double *nodes, int64_t *n_nodes, int is_last,
                             int64_t *parent_of) {
    int64_t n_next = 0, at = 0;
    double enough = 2.0 * tree->rules->min_leaf;
    for (int64_t k = 0; k < tree->n_level; k++) {
        const open_node *node = tree->level + k;
        if (node->feature < 0) continue;
        int64_t left = write_split(tree, node, nodes, n_nodes);
        const sums *totals = tree->totals + left;
        if (is_last || !(totals[0].weight >= enough || totals[1].weight >= enough)) continue;
        open_node *children = tree->next + n_next;
        part_rows(tree, node, at, children);
        at = children[1].stop;
        for (int side = 0; side < 2; side++) {
            children[side].number = left + side;
            children[side].total = totals[side];
        }
        parent_of[n_next / 2] = k;
        n_next += 2;
    }
    return n_next;
}

/* Set the values of the leaves, the largest to the peak. */
static void set_leaves(const growth *tree, int64_t n_nodes, double *nodes) {
    double largest = 0.0;
    for (int64_t k = 0; k < n_nodes; k++) {
        if (nodes[FIELDS * k] != -1.0) continue;
        double weight = fmax(tree->totals[k].weight + tree->rules->smoothing, DBL_MIN);
        nodes[FIELDS * k + 1] = tree->totals[k].pull / weight;
        largest = fmax(largest, fabs(nodes[FIELDS * k + 1]));
    }
    if (largest == 0.0) largest = 1.0;
    for (int64_t k = 0; k < n_nodes; k++)
        if (nodes[FIELDS * k] == -1.0)
            nodes[FIELDS * k + 1] = nodes[FIELDS * k + 1] / largest * tree->rules->peak;
}

/* Find room for the sums of a level beside those of the level above: at the other end. None of
 * them are kept where there is not enough. */
static void find_room(growth *tree, int64_t n_above) {
    int is_first = tree->histograms != tree->room;
    int fits = tree->n_level + (tree->histograms ? n_above : 0) <= tree->n_room;
    sums *end = tree->room + (tree->n_room - tree->n_level) * tree->n_bins;
    tree->new_histograms = fits ? (is_first ? tree->room : end) : NULL;
    if (!fits) tree->histograms = NULL;
}

static void add_root(growth *tree, int64_t n_active) {
    sums total = {0.0, 0.0};
    for (int64_t i = 0; i < n_active; i++) {
        total.pull += tree->rows[tree->order[i]].pull;
        total.weight += tree->rows[tree->order[i]].weight;
    }
    tree->totals[0] = tree->level[0].total = total;
    tree->level[0].number = tree->level[0].start = 0;
    tree->level[0].stop = n_active;
    tree->n_level = 1;
}

static int64_t grow(growth *tree, int64_t n_active, double *nodes, int64_t *parent_of) {
    int64_t n_nodes = 1, n_above = 0;
    memcpy(nodes, LEAF, sizeof LEAF);
    add_root(tree, n_active);
    for (int64_t depth = 1; depth <= tree->rules->depth && tree->n_level > 0; depth++) {
        find_room(tree, n_above);
        split_level(tree, parent_of);
        tree->histograms = tree->new_histograms;
        n_above = tree->n_level;
        int is_last = depth == tree->rules->depth;
        tree->n_level = open_children(tree, nodes, &n_nodes, is_last, parent_of);
        open_node *level = tree->level;
        tree->level = tree->next, tree->next = level;
        int32_t *order = tree->order;
        tree->order = tree->new_order, tree->new_order = order;
    }
    set_leaves(tree, n_nodes, nodes);
    return n_nodes;
}

int64_t fcg_grow_tree(const fcg_bins *bins, const fcg_tree_rules *rules, const double *residual,
                      const double *weights, int64_t n_room, double *room, int64_t max_nodes,
                      double *nodes) {
    size_t n_rows = (size_t)bins->n_rows + 1, n_open = (size_t)max_nodes / 2 + 2;
    growth tree = {.bins = bins, .rules = rules, .n_bins = bins->offsets[bins->n_features]};
    tree.room = (sums *)room;
    tree.n_room = n_room;
    tree.rows = malloc(n_rows * sizeof(sums));
    tree.members = malloc(n_rows * sizeof(sums));
    tree.totals = malloc((size_t)max_nodes * sizeof(sums));
    tree.order = malloc(n_rows * sizeof(int32_t));
    tree.new_order = malloc(n_rows * sizeof(int32_t));
    tree.level = malloc(n_open * sizeof(open_node));
    tree.next = malloc(n_open * sizeof(open_node));
    int64_t n_nodes = -1, *parent_of = malloc(n_open * sizeof(int64_t));
    if (tree.rows && tree.members && tree.totals && tree.order && tree.new_order && tree.level &&
        tree.next && parent_of)
        n_nodes = grow(&tree, row_sums(bins, residual, weights, &tree), nodes, parent_of);
    free(tree.rows), free(tree.members), free(tree.totals), free(parent_of);
    free(tree.order), free(tree.new_order), free(tree.level), free(tree.next);
    return n_nodes;
}

/* Rows whose inputs stay in the fastest cache while trees pass by, and rows that walk side by side:
 * each step waits for the memory, and the others go on meanwhile. */
enum { BLOCK = 128, LANES = 16 };

static int64_t next_node(const fcg_node *tree, int64_t i, const double *row) {
    const fcg_node *node = tree + i;
    if (node->feature < 0.0) return i;
    double x = row[(int64_t)node->feature];
    int kind = (int)node->kind, is_right = !(kind & 1);
    if (!(kind & 2)) is_right = (x > node->value) | ((x != x) & is_right);
    else if (x >= 0.0 && x < N_CODES && x == floor(x))
        is_right = (((int64_t)node->value >> (int64_t)x) & 1) == 0;
    return (int64_t)node->left + is_right;
}

/* Whether a node sends rows by one of the features to later nodes. */
static int is_sound(const fcg_node *node, int64_t i, int64_t n_nodes, int64_t n_features) {
    double f = node->feature, v = node->value, l = node->left, kind = node->kind;
    if (!(f >= 0.0 && f < (double)n_features && f == floor(f) && v - v == 0.0)) return 0;
    if (!(l > (double)i && l + 1.0 < (double)n_nodes && l == floor(l))) return 0;
    if (kind == 0.0 || kind == 1.0) return 1;
    return (kind == 2.0 || kind == 3.0) && v >= 0.0 && v < 4503599627370496.0 && v == floor(v);
}

int64_t fcg_check_trees(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes,
                        int64_t n_features, int64_t *levels, int64_t *depths) {
    for (int64_t tree = 0; tree < n_trees; tree++, nodes += n_nodes) {
        depths[tree] = 0;
        for (int64_t i = 1; i < n_nodes; i++) levels[i] = -1;
        levels[0] = 0;
        for (int64_t i = 0; i < n_nodes; i++) {
            if (levels[i] < 0 || nodes[i].feature == -1.0) continue;
            if (!is_sound(nodes + i, i, n_nodes, n_features)) return tree * n_nodes + i;
            int64_t left = (int64_t)nodes[i].left;
            if (levels[left] >= 0 || levels[left + 1] >= 0) return tree * n_nodes + i;
            levels[left] = levels[left + 1] = levels[i] + 1;
            if (depths[tree] <= levels[i]) depths[tree] = levels[i] + 1;
        }
    }
    return -1;
}

void fcg_walk(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes, const int64_t *depths,
              int64_t n_rows, int64_t n_features, const double *X, double *values) {
    for (int64_t start = 0; start < n_rows; start += BLOCK) {
        int64_t stop = start + BLOCK < n_rows ? start + BLOCK : n_rows;
        for (int64_t t = 0; t < n_trees; t++) {
            const fcg_node *tree = nodes + t * n_nodes;
            for (int64_t first = start; first < stop; first += LANES) {
                int64_t n = stop - first < LANES ? stop - first : LANES, at[LANES] = {0};
                for (int64_t depth = 0; depth < depths[t]; depth++)
                    for (int64_t lane = 0; lane < n; lane++)
                        at[lane] = next_node(tree, at[lane], X + (first + lane) * n_features);
                for (int64_t lane = 0; lane < n; lane++)
                    values[(first + lane) * n_trees + t] = tree[at[lane]].value;
            }
        }
    }
}
