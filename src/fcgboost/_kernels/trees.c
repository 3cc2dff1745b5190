/* Trees grown on binned rows, level by level or best split first.
 *
 * Residuals and weights are quantised, and both sums of a bin share one integer: a row costs one
 * addition per bin, sums over rows are exact, and the sums of a node are exactly those of its
 * parent minus those of its sibling.
 */
#include "trees.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 4, MISSING_LEFT = 1, CATEGORIES = 2 };
/* How many rows ahead memory is prefetched. */
enum { AHEAD = 16 };
/* Up to this many rows, clearing a histogram costs more than filling it. */
enum { FEW = 256 };

/* The absolute residuals add up to less than this power of two, in quantisation steps. */
enum { RESIDUAL_BITS = 34 };
/* Weights that are not integers get STEPS_A_ROW units per row on average, but at least LEAST_STEPS
 * and at most WEIGHT_STEPS in total. */
static const double STEPS_A_ROW = 64.0, LEAST_STEPS = 0x1p17, WEIGHT_STEPS = 0x1p27;
static const double LEAF[FIELDS] = {-1.0, 0.0, 0.0, 0.0};

void fcg_bin(int64_t n, const double *values, int64_t n_thresholds, const double *thresholds,
             int64_t n_numbers, uint8_t *codes) {
    double padded[N_BINS];
    for (int64_t k = 0; k < N_BINS; k++) padded[k] = k < n_thresholds ? thresholds[k] : INFINITY;
    /* Binary searches in parallel hide each other's latency; the product avoids a branch. */
    for (; n > 0; n -= FCG_BLOCK, values += FCG_BLOCK, codes += FCG_BLOCK) {
        int64_t bin[FCG_BLOCK] = {0}, size = n < FCG_BLOCK ? n : FCG_BLOCK;
        for (int step = N_BINS / 2; step; step /= 2)
            for (int64_t i = 0; i < size; i++)
                bin[i] += step * (values[i] > padded[bin[i] + step - 1]);
        for (int64_t i = 0; i < size; i++)
            codes[i] = (uint8_t)(values[i] == values[i] ? bin[i] : n_numbers);
    }
}

void fcg_weights(int64_t n, const double *weights, double *facts) {
    double total = 0.0, least = INFINITY, largest = 0.0;
    int64_t count = 0, is_whole = 1;
    for (int64_t i = 0; i < n; i++) {
        if (!(weights[i] > 0.0)) continue;
        total += weights[i];
        least = fmin(least, weights[i]);
        largest = fmax(largest, weights[i]);
        is_whole &= weights[i] == floor(weights[i]);
        count++;
    }
    facts[0] = total, facts[1] = least, facts[2] = largest;
    facts[3] = (double)count, facts[4] = (double)is_whole;
}

/* The unit is 1 if all weights are integers, or their common value. */
double fcg_weight_unit(const double *facts, int64_t *is_exact) {
    double total = facts[0], first = facts[1];
    *is_exact = 1;
    if (facts[4] && total <= WEIGHT_STEPS) return 1.0;
    if (first == facts[2] && total <= WEIGHT_STEPS * first) return first;
    *is_exact = 0;
    return total / fmin(WEIGHT_STEPS, fmax(LEAST_STEPS, STEPS_A_ROW * facts[3]));
}

/* Quantise all rows, and list those with positive weight; returns their number. */
static int64_t set_rows(growth *tree, const double *residual, const double *weights) {
    int64_t n = tree->bins->n_rows, n_active = 0;
    int exponent;
    double total = 0.0;
    for (int64_t i = 0; i < n; i++) {
        if (!(weights[i] > 0.0)) continue;
        tree->order[n_active++] = (int32_t)i;
        total += fabs(residual[i]);
    }
    /* A power of two keeps round residuals exact. The factor keeps rounding of the sum, which is
     * often exactly 2, from deciding the exponent. */
    frexp(total * (1.0 + 0x1p-20), &exponent);
    double steps = ldexp(1.0, RESIDUAL_BITS - exponent);
    for (int64_t k = 0; k < n_active; k++) {
        int64_t i = tree->order[k], quantized = (int64_t)rint(residual[i] * steps);
        int64_t weight = (int64_t)rint(weights[i] / tree->rules->unit);
        tree->rows[i] = quantized * ((int64_t)1 << WEIGHT_BITS) + weight;
    }
    return n_active;
}

static void clear(const growth *tree, pair *histogram) {
    memset(histogram, 0, (size_t)tree->n_pairs * sizeof(pair));
}

/* Add the rows of a node to a histogram of all columns, which is zero on entry. */
static void fill_histogram(const growth *tree, const tree_node *node, pair *restrict histogram) {
    int64_t n_columns = tree->bins->n_columns;
    const uint8_t *codes = tree->bins->codes;
    for (int64_t i = node->start; i < node->stop; i++) {
        const uint8_t *row = codes + tree->order[i] * n_columns;
        pair value = tree->rows[tree->order[i]];
        /* The arrays extend AHEAD entries beyond the last row. */
        __builtin_prefetch(codes + tree->order[i + AHEAD] * n_columns);
        __builtin_prefetch(tree->rows + tree->order[i + AHEAD]);
        pair *column = histogram;
        int64_t j = 0;
        for (; j + 4 <= n_columns; j += 4, column += 4 * N_BINS) {
            column[row[j]] += value;
            column[N_BINS + row[j + 1]] += value;
            column[2 * N_BINS + row[j + 2]] += value;
            column[3 * N_BINS + row[j + 3]] += value;
        }
        for (; j < n_columns; j++, column += N_BINS) column[row[j]] += value;
    }
}

void fcg_split_rows(const fcg_bins *bins, const int64_t *slots, const fcg_split *splits,
                    const int64_t *sums, int32_t *nodes, int64_t *histograms) {
    int64_t n_columns = bins->n_columns;
    for (int64_t i = 0; i < bins->n_rows; i++) {
        int64_t slot = slots[nodes[i]];
        if (slot < 0) continue;
        const fcg_split *split = splits + slot;
        const uint8_t *row = bins->codes + i * n_columns;
        uint8_t code = row[split->column];
        int right = !((split->goes_left[code >> 6] >> (code & 63)) & 1);
        nodes[i] = (int32_t)(split->children + right);
        if (right != split->added) continue;
        pair *column = histograms + slot * n_columns * N_BINS;
        for (int64_t j = 0; j < n_columns; j++, column += N_BINS) column[row[j]] += sums[i];
    }
}

/* Whether a node is large enough to be split. */
static int is_open(const growth *tree, const tree_node *node) {
    return node->depth < tree->rules->depth && weight_of(node->total) >= 2 * tree->min_leaf;
}

/* Return space for the histogram of a node; NULL if there is none left. */
static pair *take_room(growth *tree) {
    return tree->n_room > 1 ? tree->room + --tree->n_room * tree->n_pairs : NULL;
}

/* Find the split of a node with few rows: only their bins are visited, and cleared afterwards. */
static void open_small(growth *tree, tree_node *node) {
    if (!is_open(tree, node)) return;
    int64_t n_columns = tree->bins->n_columns;
    memset(tree->occupied, 0, (size_t)(4 * n_columns) * sizeof(uint64_t));
    for (int64_t i = node->start; i < node->stop; i++) {
        const uint8_t *row = tree->bins->codes + tree->order[i] * n_columns;
        pair value = tree->rows[tree->order[i]];
        for (int64_t j = 0; j < n_columns; j++) {
            tree->room[j * N_BINS + row[j]] += value;
            tree->occupied[4 * j + (row[j] >> 6)] |= (uint64_t)1 << (row[j] & 63);
        }
    }
    fcg_find_split(tree, node, tree->room, tree->occupied);
    for (int64_t i = node->start; i < node->stop; i++) {
        const uint8_t *row = tree->bins->codes + tree->order[i] * n_columns;
        for (int64_t j = 0; j < n_columns; j++) tree->room[j * N_BINS + row[j]] = 0;
    }
}

/* Fill the histogram of a node and find its split. */
static void open_node(growth *tree, tree_node *node) {
    if (!node->histogram) node->histogram = take_room(tree);
    pair *histogram = node->histogram ? node->histogram : tree->room;
    clear(tree, histogram);
    fill_histogram(tree, node, histogram);
    fcg_find_split(tree, node, histogram, NULL);
    if (histogram == tree->room) clear(tree, histogram);
}

/* Find the splits of two children: the histogram of the smaller one is filled from its rows, that
 * of the larger one obtained by subtraction. */
static void open_children(growth *tree, tree_node *parent, tree_node *first) {
    tree_node *small = first + (first[1].stop - first[1].start < first->stop - first->start);
    tree_node *large = small == first ? first + 1 : first;
    pair *above = parent->histogram;
    parent->histogram = NULL;
    if (parent->stop - parent->start <= FEW) {
        open_small(tree, first);
        open_small(tree, first + 1);
        return;
    }
    if (!is_open(tree, large)) {
        if (is_open(tree, small)) small->histogram = above, open_node(tree, small);
        return;
    }
    if (!above) {
        if (is_open(tree, small)) open_node(tree, small);
        open_node(tree, large);
        return;
    }
    small->histogram = is_open(tree, small) ? take_room(tree) : NULL;
    pair *less = small->histogram ? small->histogram : tree->room;
    clear(tree, less);
    fill_histogram(tree, small, less);
    large->histogram = above;
    for (int64_t k = 0; k < tree->n_pairs; k++) above[k] -= less[k];
    if (is_open(tree, small)) fcg_find_split(tree, small, less, NULL);
    fcg_find_split(tree, large, above, NULL);
    if (less == tree->room) clear(tree, less);
}

/* Divide the rows of a node among its children, keeping their order. */
static void part_rows(growth *tree, const tree_node *node, tree_node *children) {
    const fcg_bins *bins = tree->bins;
    const uint8_t *codes = bins->codes + bins->column[node->feature];
    int64_t n_left = node->start, n_right = 0, n_columns = bins->n_columns;
    uint8_t is_left[N_BINS];
    for (int code = 0; code < N_BINS; code++)
        is_left[code] = (node->goes_left[code >> 6] >> (code & 63)) & 1;
    for (int64_t i = node->start; i < node->stop; i++) {
        int32_t row = tree->order[i];
        int64_t left = is_left[codes[row * n_columns]];
        tree->order[n_left] = row;
        tree->right[n_right] = row;
        n_left += left, n_right += 1 - left;
    }
    memcpy(tree->order + n_left, tree->right, (size_t)n_right * sizeof(int32_t));
    children[0].start = node->start;
    children[0].stop = children[1].start = n_left;
    children[1].stop = node->stop;
}

/* Split a node; its two children are appended to the nodes. */
static tree_node *split(growth *tree, tree_node *node) {
    tree_node *children = tree->nodes + tree->n_nodes;
    memset(children, 0, 2 * sizeof(tree_node));
    children[0].total = node->left;
    children[1].total = node->total - node->left;
    children[0].feature = children[1].feature = -1;
    children[0].depth = children[1].depth = node->depth + 1;
    part_rows(tree, node, children);
    node->children = tree->n_nodes;
    tree->n_nodes += 2;
    return children;
}

/* Return the node to split next: the one with the largest gain or, without a limit of leaves, the
 * first. If there is none, return the number of nodes. */
static int64_t choose_node(const growth *tree, int64_t first) {
    int64_t best = tree->n_nodes;
    for (int64_t i = first; i < tree->n_nodes; i++) {
        const tree_node *node = tree->nodes + i;
        if (node->feature < 0 || node->children) continue;
        if (tree->rules->max_leaves == 0) return i;
        if (best == tree->n_nodes || node->score > tree->nodes[best].score) best = i;
    }
    return best;
}

static void grow(growth *tree, int64_t n_active) {
    tree_node *root = tree->nodes;
    int64_t n_leaves = 1, most = tree->rules->max_leaves, next = 0;
    memset(root, 0, sizeof *root);
    root->feature = -1;
    root->stop = n_active;
    for (int64_t i = 0; i < n_active; i++) root->total += tree->rows[tree->order[i]];
    tree->n_nodes = 1;
    clear(tree, tree->room);
    if (most != 1 && is_open(tree, root)) open_node(tree, root);
    while ((next = choose_node(tree, most ? 0 : next)) < tree->n_nodes) {
        tree_node *node = tree->nodes + next, *children = split(tree, node);
        if (++n_leaves == most) break;
        open_children(tree, node, children);
    }
}

/* Write the categories that go left: one number in the split itself and, if there are many, four
 * more in the free entry n. Returns the next free entry. */
static int64_t write_set(const tree_node *node, int is_wide, double *row, double *nodes,
                         int64_t n) {
    double words[1 + FIELDS] = {0.0}, *extension = nodes + FIELDS * n;
    for (int code = 0; code < FCG_CODES; code++)
        if ((node->goes_left[code >> 6] >> (code & 63)) & 1)
            words[code / FCG_WORD] += ldexp(1.0, code % FCG_WORD);
    row[1] = words[0];
    if (!is_wide) return n;
    row[3] += 4.0 * (double)n;
    for (int k = 0; k < FIELDS; k++) extension[k] = -2.0 - words[1 + k];
    return n + 1;
}

/* Write a split in the layout of the dictionary. */
static void write_split(const growth *tree, const tree_node *node, double *row) {
    const fcg_bins *bins = tree->bins;
    int64_t left = node->children, j = node->feature;
    row[0] = (double)j;
    row[1] = bins->edges[j * N_BINS + node->place];
    row[2] = (double)left;
    row[3] = (double)(node->is_missing_left * MISSING_LEFT + bins->is_category[j] * CATEGORIES);
}

/* Write a node. A leaf has its smoothed mean residual in quantisation steps, until it is scaled;
 * without `weights`, those in units are used. Returns the next free entry. */
static int64_t write_node(const growth *tree, const tree_node *node, const double *weights,
                          double *row, double *nodes, int64_t n) {
    const fcg_bins *bins = tree->bins;
    double weight = weight_of(node->total) * tree->rules->unit;
    if (node->children) {
        write_split(tree, node, row);
        if (!bins->is_category[node->feature]) return n;
        return write_set(node, bins->n_numbers[node->feature] > FCG_WORD, row, nodes, n);
    }
    memcpy(row, LEAF, sizeof LEAF);
    if (weights && !tree->rules->is_exact) {
        weight = 0.0;
        for (int64_t i = node->start; i < node->stop; i++) weight += weights[tree->order[i]];
    }
    weight = fmax(weight + tree->rules->smoothing, DBL_MIN);
    row[1] = (double)(node->total >> WEIGHT_BITS) / weight;
    return n;
}

/* Scale the leaves so that the largest value is the peak. */
static void scale_leaves(double peak, int64_t n, double *nodes) {
    double largest = 0.0;
    for (double *row = nodes; row < nodes + FIELDS * n; row += FIELDS)
        if (row[0] == -1.0) largest = fmax(largest, fabs(row[1]));
    if (largest == 0.0) largest = 1.0;
    for (double *row = nodes; row < nodes + FIELDS * n; row += FIELDS)
        if (row[0] == -1.0) row[1] = row[1] / largest * peak;
}

/* Write the nodes, then the entries of category sets. Returns the number of entries. */
static int64_t write_nodes(const growth *tree, const double *weights, double *nodes) {
    int64_t n = tree->n_nodes;
    for (int64_t k = 0; k < tree->n_nodes; k++)
        n = write_node(tree, tree->nodes + k, weights, nodes + FIELDS * k, nodes, n);
    scale_leaves(tree->rules->peak, tree->n_nodes, nodes);
    return n;
}

int64_t fcg_write_tree(const fcg_bins *bins, const fcg_tree_rules *rules, int64_t n,
                       const int64_t *order, const int64_t *lefts, const int64_t *totals,
                       const fcg_split *splits, double *nodes) {
    growth tree = fcg_growth(bins, rules);
    int64_t n_entries = n;
    for (int64_t k = 0; k < n; k++) {
        const fcg_split *split = splits + order[k];
        tree_node node = {.total = totals[order[k]],
                          .children = lefts[k],
                          .feature = split->feature,
                          .place = split->place,
                          .is_missing_left = split->is_missing_left};
        memcpy(node.goes_left, split->goes_left, sizeof node.goes_left);
        n_entries = write_node(&tree, &node, NULL, nodes + FIELDS * k, nodes, n_entries);
    }
    scale_leaves(rules->peak, n, nodes);
    return n_entries;
}

/* Write the leaf numbers of the rows, leaves counted in the order of nodes. */
static void write_leaves(const growth *tree, uint16_t *leaves) {
    uint16_t number = 0;
    for (int64_t k = 0; k < tree->n_nodes; k++) {
        const tree_node *node = tree->nodes + k;
        if (node->children) continue;
        for (int64_t i = node->start; i < node->stop; i++) leaves[tree->order[i]] = number;
        number++;
    }
}

int64_t fcg_grow_tree(const fcg_bins *bins, const fcg_tree_rules *rules, const double *residual,
                      const double *weights, int64_t n_room, int64_t *room, int64_t max_nodes,
                      double *nodes, uint16_t *leaves) {
    size_t n_rows = (size_t)bins->n_rows + AHEAD;
    fcg_tree_rules settled_rules = *rules;
    if (settled_rules.unit == 0.0) {
        double facts[5];
        fcg_weights(bins->n_rows, weights, facts);
        settled_rules.unit = fcg_weight_unit(facts, &settled_rules.is_exact);
    }
    growth tree = fcg_growth(bins, &settled_rules);
    tree.room = room;
    tree.n_room = n_room;
    tree.rows = malloc(n_rows * sizeof(pair));
    tree.order = calloc(n_rows, sizeof(int32_t));
    tree.right = malloc(n_rows * sizeof(int32_t));
    tree.nodes = malloc((size_t)(max_nodes + 2) * sizeof(tree_node));
    tree.occupied = malloc((size_t)(4 * bins->n_columns + 1) * sizeof(uint64_t));
    int is_allocated = tree.rows && tree.order && tree.right && tree.nodes && tree.occupied;
    int64_t n_entries = -1;
    if (is_allocated) {
        grow(&tree, set_rows(&tree, residual, weights));
        n_entries = write_nodes(&tree, weights, nodes);
        if (leaves) write_leaves(&tree, leaves);
    }
    free(tree.rows), free(tree.order), free(tree.right), free(tree.nodes);
    free(tree.occupied);
    return n_entries;
}
