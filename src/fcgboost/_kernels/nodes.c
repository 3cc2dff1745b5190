/* Rows in bins and in whole numbers, and the nodes of a tree in the layout of the dictionary. */
#include "pool.h"
#include "trees.h"

#include <float.h>
#include <string.h>

enum { MISSING_LEFT = 1, CATEGORIES = 2 };
/* The absolute residuals add up to less than this power of two, in quantisation steps. */
enum { RESIDUAL_BITS = 34 };
/* Weights that are not integers get STEPS_A_ROW units per row on average, but at least LEAST_STEPS
 * and at most WEIGHT_STEPS in total. */
static const double STEPS_A_ROW = 64.0, LEAST_STEPS = 0x1p17, WEIGHT_STEPS = 0x1p27;
static const double LEAF[FIELDS] = {-1.0, 0.0, 0.0, 0.0};

/* Rows that are coded. */
typedef struct {
    const fcg_bins *bins;
    const void *X;
    int32_t is_single;
    uint8_t *codes, *clashes;
} coding;

/* Read n values of a feature from a row on. */
static void read_values(const coding *all, int64_t feature, int64_t start, int64_t n,
                        double *values) {
    int64_t n_features = all->bins->n_features, at = start * n_features + feature;
    const double *doubles = (const double *)all->X + at;
    const float *singles = (const float *)all->X + at;
    if (all->is_single)
        for (int64_t i = 0; i < n; i++) values[i] = (double)singles[i * n_features];
    else
        for (int64_t i = 0; i < n; i++) values[i] = doubles[i * n_features];
}

/* Find the bins of n values: how many thresholds, padded to 255, are below them. Binary searches in
 * parallel hide each other's latency; the product avoids a branch. */
static void find_bins(int64_t n, const double *values, const double *thresholds,
                      int64_t n_numbers, int64_t *bin) {
    for (int64_t i = 0; i < n; i++) bin[i] = 0;
    for (int step = N_BINS / 2; step; step /= 2)
        for (int64_t i = 0; i < n; i++)
            bin[i] += step * (values[i] > thresholds[bin[i] + step - 1]);
    for (int64_t i = 0; i < n; i++) bin[i] = values[i] == values[i] ? bin[i] : n_numbers;
}

static void find_levels(int64_t n, const double *values, int64_t n_numbers, int64_t *bin) {
    for (int64_t i = 0; i < n; i++) {
        int is_code = values[i] >= 0.0 && values[i] < FCG_CODES && values[i] == floor(values[i]);
        bin[i] = is_code ? (int64_t)values[i] : n_numbers;
    }
}

/* Write the codes of n rows for the bins of a feature. */
static void write_codes(const coding *all, int64_t feature, int64_t start, int64_t n,
                        const int64_t *bin) {
    const fcg_bins *bins = all->bins;
    int64_t column = bins->column[feature], usual = bins->default_bin[feature], clash = 0;
    uint8_t *codes = all->codes + start * bins->n_columns + column;
    for (int64_t i = 0; i < n; i++, codes += bins->n_columns) {
        if (usual < 0) {
            *codes = (uint8_t)bin[i];
        } else if (bin[i] != usual) {
            clash |= *codes != 0;
            *codes = (uint8_t)(bins->first[feature] + bin[i] - (bin[i] > usual));
        }
    }
    if (clash) __atomic_store_n(all->clashes + column, 1, __ATOMIC_RELAXED);
}

/* Rows of a part: their values stay in the cache for all features. */
enum { CODED = 1024 };

static void code_part(void *context, int64_t part) {
    const coding *all = context;
    const fcg_bins *bins = all->bins;
    int64_t first = part * CODED, stop = first + CODED, bin[FCG_BLOCK];
    double thresholds[N_BINS], values[FCG_BLOCK];
    stop = stop < bins->n_rows ? stop : bins->n_rows;
    memset(all->codes + first * bins->n_columns, 0, (size_t)((stop - first) * bins->n_columns));
    for (int64_t j = 0; j < bins->n_features; j++) {
        int64_t n_numbers = bins->n_numbers[j];
        for (int64_t k = 0; k < N_BINS; k++)
            thresholds[k] = k < n_numbers - 1 ? bins->edges[j * N_BINS + k] : INFINITY;
        for (int64_t start = first; start < stop; start += FCG_BLOCK) {
            int64_t n = stop - start < FCG_BLOCK ? stop - start : FCG_BLOCK;
            read_values(all, j, start, n, values);
            if (bins->is_category[j]) find_levels(n, values, n_numbers, bin);
            else find_bins(n, values, thresholds, n_numbers, bin);
            write_codes(all, j, start, n, bin);
        }
    }
}

void fcg_code_rows(const fcg_bins *bins, int32_t is_single, const void *X, uint8_t *codes,
                   uint8_t *clashes) {
    coding all = {bins, X, is_single, codes, clashes};
    fcg_share((bins->n_rows + CODED - 1) / CODED, code_part, &all);
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

/* The weights of rows in parts: the inputs, and the results of each part. */
typedef struct {
    growth *tree;
    const double *residual, *weights;
    int64_t size, counts[64], starts[64];
    double steps, totals[64];
    pair sums[64];
} row_parts;

static void count_rows(void *context, int64_t part) {
    row_parts *all = context;
    int64_t start = part * all->size, stop = start + all->size, n = all->tree->bins->n_rows;
    int64_t count = 0;
    double total = 0.0;
    for (int64_t i = start; i < (stop < n ? stop : n); i++) {
        if (!(all->weights[i] > 0.0)) continue;
        total += fabs(all->residual[i]);
        count++;
    }
    all->counts[part] = count;
    all->totals[part] = total;
}

static void quantise_rows(void *context, int64_t part) {
    row_parts *all = context;
    growth *tree = all->tree;
    int64_t start = part * all->size, stop = start + all->size, n = tree->bins->n_rows;
    int64_t at = all->starts[part];
    pair sum = 0;
    for (int64_t i = start; i < (stop < n ? stop : n); i++) {
        if (!(all->weights[i] > 0.0)) continue;
        int64_t quantised = (int64_t)rint(all->residual[i] * all->steps);
        int64_t weight = (int64_t)rint(all->weights[i] / tree->rules->unit);
        tree->rows[i] = quantised * ((int64_t)1 << WEIGHT_BITS) + weight;
        sum += tree->rows[i];
        tree->order[at++] = (int32_t)i;
    }
    all->sums[part] = sum;
}

void fcg_set_rows(growth *tree, const double *residual, const double *weights) {
    int64_t n = tree->bins->n_rows, size = fcg_rows_a_part(n), n_parts = (n + size - 1) / size;
    row_parts all = {.tree = tree, .residual = residual, .weights = weights, .size = size};
    tree_node *root = tree->nodes;
    double total = 0.0;
    int exponent;
    fcg_share(n_parts, count_rows, &all);
    memset(root, 0, sizeof *root);
    root->feature = -1;
    for (int64_t part = 0; part < n_parts; part++) {
        all.starts[part] = root->stop;
        root->stop += all.counts[part];
        total += all.totals[part];
    }
    /* A power of two keeps round residuals exact. The factor keeps rounding of the sum, which is
     * often exactly 2, from deciding the exponent. */
    frexp(total * (1.0 + 0x1p-20), &exponent);
    all.steps = ldexp(1.0, RESIDUAL_BITS - exponent);
    fcg_share(n_parts, quantise_rows, &all);
    for (int64_t part = 0; part < n_parts; part++) root->total += all.sums[part];
    tree->n_nodes = 1;
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

/* Write a node. A leaf has its smoothed mean residual in quantisation steps, until it is scaled.
 * Returns the next free entry. */
static int64_t write_node(const growth *tree, const tree_node *node, double *row, double *nodes,
                          int64_t n) {
    const fcg_bins *bins = tree->bins;
    if (node->children) {
        write_split(tree, node, row);
        if (!bins->is_category[node->feature]) return n;
        return write_set(node, bins->n_numbers[node->feature] > FCG_WORD, row, nodes, n);
    }
    memcpy(row, LEAF, sizeof LEAF);
    row[1] = (double)(node->total >> WEIGHT_BITS) /
             fmax(node->weight + tree->rules->smoothing, DBL_MIN);
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

int64_t fcg_write_nodes(const growth *tree, double *nodes) {
    int64_t n = tree->n_nodes;
    for (int64_t k = 0; k < tree->n_nodes; k++)
        n = write_node(tree, tree->nodes + k, nodes + FIELDS * k, nodes, n);
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
                          .weight = weight_of(totals[order[k]]) * rules->unit,
                          .children = lefts[k],
                          .feature = split->feature,
                          .place = split->place,
                          .is_missing_left = split->is_missing_left};
        memcpy(node.goes_left, split->goes_left, sizeof node.goes_left);
        n_entries = write_node(&tree, &node, nodes + FIELDS * k, nodes, n_entries);
    }
    scale_leaves(rules->peak, n, nodes);
    return n_entries;
}

