/* Trees, grown on binned rows: level by level, or the best split first.
 *
 * Residuals and weights are rounded to whole steps, and both sums of a bin are one whole number: a
 * bin costs one addition, no sum over rows is rounded, and the sums of a node are exactly those of
 * its parent less those of its sibling.
 */
#include "trees.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 4, MISSING_LEFT = 1, CATEGORIES = 2 };
/* Rows that are fetched before they are needed. */
enum { AHEAD = 16 };
/* Of so few rows sums are made sooner than empty histograms. */
enum { FEW = 256 };

/* The sizes of all residuals add up to fewer steps than that power of two. */
enum { RESIDUAL_BITS = 34 };
/* Weights that are not whole have so many steps a row on average, but together so many at least,
 * and at most. */
static const double STEPS_A_ROW = 64.0, LEAST_STEPS = 0x1p17, WEIGHT_STEPS = 0x1p27;
static const double LEAF[FIELDS] = {-1.0, 0.0, 0.0, 0.0};

void fcg_bin(int64_t n, const double *values, int64_t n_thresholds, const double *thresholds,
             int64_t n_numbers, uint8_t *codes) {
    double padded[N_BINS];
    for (int64_t k = 0; k < N_BINS; k++) padded[k] = k < n_thresholds ? thresholds[k] : INFINITY;
    /* Searches side by side need not wait for each other, and a product makes no branch. */
    for (; n > 0; n -= FCG_BLOCK, values += FCG_BLOCK, codes += FCG_BLOCK) {
        int64_t found[FCG_BLOCK] = {0}, size = n < FCG_BLOCK ? n : FCG_BLOCK;
        for (int step = N_BINS / 2; step; step /= 2)
            for (int64_t i = 0; i < size; i++)
                found[i] += step * (values[i] > padded[found[i] + step - 1]);
        for (int64_t i = 0; i < size; i++)
            codes[i] = (uint8_t)(values[i] == values[i] ? found[i] : n_numbers);
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

/* A step is 1 if all weights are whole, or what all of them are. */
double fcg_weight_unit(const double *facts, int64_t *is_exact) {
    double total = facts[0], first = facts[1];
    *is_exact = 1;
    if (facts[4] && total <= WEIGHT_STEPS) return 1.0;
    if (first == facts[2] && total <= WEIGHT_STEPS * first) return first;
    *is_exact = 0;
    return total / fmin(WEIGHT_STEPS, fmax(LEAST_STEPS, STEPS_A_ROW * facts[3]));
}

/* Set the sums of all rows, and the order of those that have a weight; returns their number. */
static int64_t set_rows(growth *tree, const double *residual, const double *weights) {
    int64_t n = tree->bins->n_rows, n_active = 0;
    int exponent;
    double total = 0.0;
    for (int64_t i = 0; i < n; i++) {
        if (!(weights[i] > 0.0)) continue;
        tree->order[n_active++] = (int32_t)i;
        total += fabs(residual[i]);
    }
    /* A power of two loses nothing of residuals that are even; no rounding of their sum, which is
     * often 2, decides which one. */
    frexp(total * (1.0 + 0x1p-20), &exponent);
    double steps = ldexp(1.0, RESIDUAL_BITS - exponent);
    for (int64_t k = 0; k < n_active; k++) {
        int64_t i = tree->order[k], pull = (int64_t)rint(residual[i] * steps);
        int64_t weight = (int64_t)rint(weights[i] / tree->rules->unit);
        tree->rows[i] = pull * ((int64_t)1 << WEIGHT_BITS) + weight;
    }
    return n_active;
}

static void clear(const growth *tree, pair *histogram) {
    memset(histogram, 0, (size_t)tree->n_pairs * sizeof(pair));
}

/* Add up the rows of a node by bin, for all columns; the histogram is empty. */
static void fill_histogram(const growth *tree, const node *own, pair *restrict histogram) {
    int64_t n_columns = tree->bins->n_columns;
    const uint8_t *codes = tree->bins->codes;
    for (int64_t i = own->start; i < own->stop; i++) {
        const uint8_t *row = codes + tree->order[i] * n_columns;
        pair value = tree->rows[tree->order[i]];
        /* Behind the last row there is room. */
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
        const fcg_split *own = splits + slot;
        const uint8_t *row = bins->codes + i * n_columns;
        uint8_t code = row[own->column];
        int right = !((own->goes_left[code >> 6] >> (code & 63)) & 1);
        nodes[i] = (int32_t)(own->children + right);
        if (right != own->added) continue;
        pair *column = histograms + slot * n_columns * N_BINS;
        for (int64_t j = 0; j < n_columns; j++, column += N_BINS) column[row[j]] += sums[i];
    }
}

/* Whether a node may be split. */
static int is_open(const growth *tree, const node *own) {
    return own->depth < tree->rules->depth && weight_of(own->total) >= 2 * tree->min_leaf;
}

/* Take room for the histogram of a node: none is kept where all of it is taken. */
static pair *take_room(growth *tree) {
    return tree->n_room > 1 ? tree->room + --tree->n_room * tree->n_pairs : NULL;
}

/* Find the split of a node of few rows: they have few bins, and leave the room to work in empty. */
static void open_small(growth *tree, node *own) {
    if (!is_open(tree, own)) return;
    int64_t n_columns = tree->bins->n_columns;
    memset(tree->occupied, 0, (size_t)(4 * n_columns) * sizeof(uint64_t));
    for (int64_t i = own->start; i < own->stop; i++) {
        const uint8_t *row = tree->bins->codes + tree->order[i] * n_columns;
        pair value = tree->rows[tree->order[i]];
        for (int64_t j = 0; j < n_columns; j++) {
            tree->room[j * N_BINS + row[j]] += value;
            tree->occupied[4 * j + (row[j] >> 6)] |= (uint64_t)1 << (row[j] & 63);
        }
    }
    fcg_find_split(tree, own, tree->room, tree->occupied);
    for (int64_t i = own->start; i < own->stop; i++) {
        const uint8_t *row = tree->bins->codes + tree->order[i] * n_columns;
        for (int64_t j = 0; j < n_columns; j++) tree->room[j * N_BINS + row[j]] = 0;
    }
}

/* Add a node up and find its split. */
static void open_node(growth *tree, node *own) {
    if (!own->histogram) own->histogram = take_room(tree);
    pair *histogram = own->histogram ? own->histogram : tree->room;
    clear(tree, histogram);
    fill_histogram(tree, own, histogram);
    fcg_find_split(tree, own, histogram, NULL);
    if (histogram == tree->room) clear(tree, histogram);
}

/* Open the children of a node, the smaller one by its rows, the other by what these leave. */
static void open_children(growth *tree, node *parent, node *first) {
    node *small = first + (first[1].stop - first[1].start < first->stop - first->start);
    node *large = small == first ? first + 1 : first;
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
    for (int64_t place = 0; place < tree->n_pairs; place++) above[place] -= less[place];
    if (is_open(tree, small)) fcg_find_split(tree, small, less, NULL);
    fcg_find_split(tree, large, above, NULL);
    if (less == tree->room) clear(tree, less);
}

/* Bring the rows of a node to its children, in their order. */
static void part_rows(growth *tree, const node *own, node *children) {
    const fcg_bins *bins = tree->bins;
    const uint8_t *codes = bins->codes + bins->column[own->feature];
    int64_t n_left = own->start, n_right = 0, n_columns = bins->n_columns;
    uint8_t is_left[N_BINS];
    for (int code = 0; code < N_BINS; code++)
        is_left[code] = (own->goes_left[code >> 6] >> (code & 63)) & 1;
    for (int64_t i = own->start; i < own->stop; i++) {
        int32_t row = tree->order[i];
        int64_t left = is_left[codes[row * n_columns]];
        tree->order[n_left] = row;
        tree->right[n_right] = row;
        n_left += left, n_right += 1 - left;
    }
    memcpy(tree->order + n_left, tree->right, (size_t)n_right * sizeof(int32_t));
    children[0].start = own->start;
    children[0].stop = children[1].start = n_left;
    children[1].stop = own->stop;
}

/* Split a node: its children stand side by side behind all others. */
static node *split(growth *tree, node *own) {
    node *children = tree->nodes + tree->n_nodes;
    memset(children, 0, 2 * sizeof(node));
    children[0].total = own->left;
    children[1].total = own->total - own->left;
    children[0].feature = children[1].feature = -1;
    children[0].depth = children[1].depth = own->depth + 1;
    part_rows(tree, own, children);
    own->children = tree->n_nodes;
    tree->n_nodes += 2;
    return children;
}

/* Return the number of the node that is split next, or that of nodes if there is none: the one
 * that gains most, or, where leaves are not counted, the first. */
static int64_t choose_node(const growth *tree, int64_t first) {
    int64_t best = tree->n_nodes;
    for (int64_t i = first; i < tree->n_nodes; i++) {
        const node *own = tree->nodes + i;
        if (own->feature < 0 || own->children) continue;
        if (tree->rules->max_leaves == 0) return i;
        if (best == tree->n_nodes || own->score > tree->nodes[best].score) best = i;
    }
    return best;
}

static void grow(growth *tree, int64_t n_active) {
    node *root = tree->nodes;
    int64_t n_leaves = 1, most = tree->rules->max_leaves, next = 0;
    memset(root, 0, sizeof *root);
    root->feature = -1;
    root->stop = n_active;
    for (int64_t i = 0; i < n_active; i++) root->total += tree->rows[tree->order[i]];
    tree->n_nodes = 1;
    clear(tree, tree->room);
    if (most != 1 && is_open(tree, root)) open_node(tree, root);
    while ((next = choose_node(tree, most ? 0 : next)) < tree->n_nodes) {
        node *own = tree->nodes + next, *children = split(tree, own);
        if (++n_leaves == most) break;
        open_children(tree, own, children);
    }
}

/* Write which categories go left: a number in the split, or, if there are many, four more in the
 * free place n; returns the next free one. */
static int64_t write_set(const node *own, int is_wide, double *row, double *nodes, int64_t n) {
    double words[1 + FIELDS] = {0.0}, *others = nodes + FIELDS * n;
    for (int code = 0; code < FCG_CODES; code++)
        if ((own->goes_left[code >> 6] >> (code & 63)) & 1)
            words[code / FCG_WORD] += ldexp(1.0, code % FCG_WORD);
    row[1] = words[0];
    if (!is_wide) return n;
    row[3] += 4.0 * (double)n;
    for (int k = 0; k < FIELDS; k++) others[k] = -2.0 - words[1 + k];
    return n + 1;
}

/* Write a split down, as the dictionary has it. */
static void write_split(const growth *tree, const node *own, double *row) {
    const fcg_bins *bins = tree->bins;
    int64_t left = own->children, j = own->feature;
    row[0] = (double)j;
    row[1] = bins->edges[j * N_BINS + own->place];
    row[2] = (double)left;
    row[3] = (double)(own->is_missing_left * MISSING_LEFT + bins->is_category[j] * CATEGORIES);
}

/* Write the nodes: leaves with their mean residuals, smoothed, the largest of them the peak, and
 * behind all what sets need; returns how many places that takes. */
static int64_t write_nodes(const growth *tree, const double *weights, double *nodes) {
    const fcg_bins *bins = tree->bins;
    double largest = 0.0;
    int64_t n = tree->n_nodes;
    for (int64_t k = 0; k < tree->n_nodes; k++) {
        const node *own = tree->nodes + k;
        double *row = nodes + FIELDS * k, weight = weight_of(own->total) * tree->rules->unit;
        if (own->children) {
            write_split(tree, own, row);
            if (bins->is_category[own->feature])
                n = write_set(own, bins->n_numbers[own->feature] > FCG_WORD, row, nodes, n);
            continue;
        }
        memcpy(row, LEAF, sizeof LEAF);
        if (!tree->rules->is_exact) {
            weight = 0.0;
            for (int64_t i = own->start; i < own->stop; i++) weight += weights[tree->order[i]];
        }
        weight = fmax(weight + tree->rules->smoothing, DBL_MIN);
        row[1] = (double)(own->total >> WEIGHT_BITS) / weight; /* in steps; the peak is to come */
        largest = fmax(largest, fabs(row[1]));
    }
    if (largest == 0.0) largest = 1.0;
    for (int64_t k = 0; k < tree->n_nodes; k++)
        if (nodes[FIELDS * k] == -1.0)
            nodes[FIELDS * k + 1] = nodes[FIELDS * k + 1] / largest * tree->rules->peak;
    return n;
}

/* Write the leaves of the rows that the tree was grown on, in the order of nodes. */
static void write_leaves(const growth *tree, uint16_t *leaves) {
    uint16_t number = 0;
    for (int64_t k = 0; k < tree->n_nodes; k++) {
        const node *own = tree->nodes + k;
        if (own->children) continue;
        for (int64_t i = own->start; i < own->stop; i++) leaves[tree->order[i]] = number;
        number++;
    }
}

int64_t fcg_grow_tree(const fcg_bins *bins, const fcg_tree_rules *rules, const double *residual,
                      const double *weights, int64_t n_room, int64_t *room, int64_t max_nodes,
                      double *nodes, uint16_t *leaves) {
    size_t n_rows = (size_t)bins->n_rows + AHEAD;
    fcg_tree_rules own = *rules;
    if (own.unit == 0.0) {
        double facts[5];
        fcg_weights(bins->n_rows, weights, facts);
        own.unit = fcg_weight_unit(facts, &own.is_exact);
    }
    growth tree = fcg_growth(bins, &own);
    tree.room = room;
    tree.n_room = n_room;
    tree.rows = malloc(n_rows * sizeof(pair));
    tree.order = calloc(n_rows, sizeof(int32_t));
    tree.right = malloc(n_rows * sizeof(int32_t));
    tree.nodes = malloc((size_t)(max_nodes + 2) * sizeof(node));
    tree.occupied = malloc((size_t)(4 * bins->n_columns + 1) * sizeof(uint64_t));
    int is_there = tree.rows && tree.order && tree.right && tree.nodes && tree.occupied;
    int64_t n_places = -1;
    if (is_there) {
        grow(&tree, set_rows(&tree, residual, weights));
        n_places = write_nodes(&tree, weights, nodes);
        if (leaves) write_leaves(&tree, leaves);
    }
    free(tree.rows), free(tree.order), free(tree.right), free(tree.nodes);
    free(tree.occupied);
    return n_places;
}
