/* The best split of a node: estimates in single precision decide which ones are scored exactly. */
#include "trees.h"

#include <math.h>
#include <string.h>

/* A split must raise the score by more than rounding. */
static const double FLOOR = 1.0 + 0x1p-40;
/* Relative error of a score estimated in float. */
static const float DOUBT = 0x1p-16f;

/* Return the sums of a feature's bins: those of its column or, if the column is shared, a copy in
 * which the default bin has the total minus all others. */
static const pair *bins_of(const fcg_bins *bins, const pair *histogram, pair total, int64_t j,
                           pair *copied) {
    const pair *column = histogram + bins->column[j] * N_BINS + bins->first[j];
    int64_t default_bin = bins->default_bin[j];
    if (default_bin < 0) return column;
    pair rest = total;
    for (int64_t bin = 0; bin < bins->n_bins[j]; bin++) {
        copied[bin] = bin == default_bin ? 0 : column[bin - (bin > default_bin)];
        rest -= copied[bin];
    }
    copied[default_bin] = rest;
    return copied;
}

/* Sort codes by their means, stably: a bucket sort over the range, then an insertion sort. */
static void sort_levels(int n, const double *means, int *codes) {
    int shares[N_BINS], ends[N_BINS + 1] = {0}, rough[N_BINS];
    double low = INFINITY, high = -INFINITY;
    for (int at = 0; at < n; at++) {
        double mean = means[codes[at]];
        low = mean < low ? mean : low, high = mean > high ? mean : high;
    }
    for (int at = 0; at < n; at++) {
        shares[at] = high > low ? (int)((means[codes[at]] - low) / (high - low) * (n - 1)) : 0;
        ends[shares[at] + 1]++;
    }
    for (int share = 1; share < n; share++) ends[share] += ends[share - 1];
    for (int at = 0; at < n; at++) rough[ends[shares[at]]++] = codes[at];
    for (int k = 0; k < n; k++) {
        int at = k;
        for (; at > 0 && means[codes[at - 1]] > means[rough[k]]; at--) codes[at] = codes[at - 1];
        codes[at] = rough[k];
    }
}

/* Rank the bins of a feature and compute cumulative sums in that order; returns their number. Bins
 * known to be empty are left out. Categories are ordered by their mean residuals. */
static int rank_bins(const pair *sums, int n, const uint64_t *occupied, int is_category,
                     double smoothing, int *ranks, pair *below) {
    int n_ranks = 0;
    if (is_category) {
        double means[N_BINS];
        for (int code = 0; code < n; code++) {
            if (weight_of(sums[code]) == 0) continue;
            means[code] = (double)(sums[code] >> WEIGHT_BITS) / (weight_of(sums[code]) + smoothing);
            ranks[n_ranks++] = code;
        }
        sort_levels(n_ranks, means, ranks);
    } else if (occupied) {
        for (int word = 0; word < 4; word++) {
            /* The first bin counts even if empty: missing values alone may go left. */
            for (uint64_t rest = occupied[word] | (word == 0); rest; rest &= rest - 1) {
                int code = 64 * word + __builtin_ctzll(rest);
                if (code < n) ranks[n_ranks++] = code;
            }
        }
    } else {
        for (; n_ranks < n; n_ranks++) ranks[n_ranks] = n_ranks;
    }
    pair total = 0;
    for (int at = 0; at < n_ranks; at++) below[at] = total += sums[ranks[at]];
    return n_ranks;
}

/* The sum over both sides of the squared residual sum divided by the smoothed weight; -1 if a side
 * has too little weight. */
static double score_of(const growth *tree, pair left, pair total) {
    double a = (double)(left >> WEIGHT_BITS), c = (double)(total >> WEIGHT_BITS) - a;
    int32_t b = weight_of(left), d = weight_of(total) - b;
    if (b < tree->min_leaf || d < tree->min_leaf) return -1.0;
    return a * a / (b + tree->smoothing) + c * c / (d + tree->smoothing);
}

/* Estimate the scores of splits that send bins 0, ..., at and `extra` left, in units of 256.
 * Returns the largest. */
static float estimate(const growth *tree, const pair *below, int n, pair extra, pair total,
                      float *scores) {
    int32_t residual_sums[N_BINS], weights[N_BINS];
    int32_t residual_sum = residual_of(total), weight = weight_of(total);
    int32_t bits[N_BINS], largest_bits = INT32_MIN;
    float smoothing = (float)tree->smoothing, largest;
    for (int at = 0; at < n; at++) {
        residual_sums[at] = residual_of(below[at] + extra);
        weights[at] = weight_of(below[at] + extra);
    }
    for (int at = 0; at < n; at++) {
        int32_t rest = weight - weights[at];
        float a = (float)residual_sums[at], c = (float)(residual_sum - residual_sums[at]);
        float b = (float)weights[at] + smoothing, d = (float)rest + smoothing;
        float score = (a * a * d + c * c * b) / (b * d);
        scores[at] = (weights[at] >= tree->min_leaf) & (rest >= tree->min_leaf) ? score : -1.0f;
    }
    /* Non-negative floats compare like their bit patterns; -1.0f compares below all. */
    memcpy(bits, scores, (size_t)n * sizeof *bits);
    for (int at = 0; at < n; at++) largest_bits = bits[at] > largest_bits ? bits[at] : largest_bits;
    if (n == 0) return -1.0f;
    memcpy(&largest, &largest_bits, sizeof largest);
    return largest;
}

/* Record which codes go left. If training has no missing values, those of later rows go with the
 * majority. */
static void take_split(const growth *tree, tree_node *node, const int *ranks, int n_ranks, int best,
                       pair missing, int is_left) {
    const fcg_bins *bins = tree->bins;
    int64_t j = node->feature, default_bin = bins->default_bin[j];
    uint8_t bin_goes_left[N_BINS];
    if (weight_of(missing) == 0) is_left = 2 * weight_of(node->left) >= weight_of(node->total);
    node->is_missing_left = is_left;
    memset(bin_goes_left, is_left, N_BINS);
    node->place = ranks[best];
    if (bins->is_category[j])
        for (int at = 0; at < n_ranks; at++) bin_goes_left[ranks[at]] = at <= best;
    else
        for (int64_t bin = 0; bin < bins->n_numbers[j]; bin++)
            bin_goes_left[bin] = bin <= node->place;
    /* Codes of other features of the column are the default bin of this one. */
    uint64_t fill = (default_bin >= 0 ? bin_goes_left[default_bin] : is_left) ? ~(uint64_t)0 : 0;
    for (int word = 0; word < 4; word++) node->goes_left[word] = fill;
    for (int64_t bin = 0; bin < bins->n_bins[j]; bin++) {
        if (bin == default_bin) continue;
        int64_t code = bins->first[j] + bin - (default_bin >= 0 && bin > default_bin);
        uint64_t bit = (uint64_t)1 << (code & 63);
        node->goes_left[code >> 6] &= ~bit;
        if (bin_goes_left[bin]) node->goes_left[code >> 6] |= bit;
    }
}

/* Improve the split of a node by one feature, at any of n places from the first one on; estimates
 * exclude most thresholds. Ties go to the lowest threshold, then to missing values on the left. */
static void split_by(const growth *tree, tree_node *node, const pair *sums,
                     const uint64_t *occupied, int64_t j, int first, int n_places) {
    const fcg_bins *bins = tree->bins;
    int n = (int)bins->n_numbers[j], ranks[N_BINS], best = -1, is_left = 0;
    pair below[N_BINS], missing = bins->n_bins[j] > n ? sums[n] : 0, total = node->total;
    float scores[2][N_BINS], most;
    int is_category = bins->is_category[j];
    int n_ranks = rank_bins(sums, n, occupied, is_category, tree->smoothing, ranks, below);
    int n_sides = weight_of(missing) > 0 ? 2 : 1;
    n_places = n_places < n_ranks - first ? n_places : n_ranks - first;
    most = estimate(tree, below + first, n_places, 0, total, scores[0]);
    if (n_sides == 2)
        most = fmaxf(most, estimate(tree, below + first, n_places, missing, total, scores[1]));
    /* Residual sums are truncated by at most one unit, which changes a score by at most twice its
     * square root. */
    float enough = fmaxf(most, (float)(node->score / 256.0));
    enough = enough * (1.0f - DOUBT) - 4.0f * sqrtf(fmaxf(enough, 0.0f));
    if (most < enough || most < 0.0f) return;
    for (int at = 0; at < n_places; at++) {
        for (int side = n_sides - 1; side >= 0; side--) {
            if (scores[side][at] < enough) continue;
            double score = score_of(tree, below[first + at] + (side ? missing : 0), total);
            if (score > node->score) node->score = score, best = first + at, is_left = side;
        }
    }
    if (best < 0) return;
    node->feature = j;
    node->left = below[best] + (is_left ? missing : 0);
    take_split(tree, node, ranks, n_ranks, best, missing, is_left);
}

void fcg_find_split(const growth *tree, tree_node *node, const pair *histogram,
                    const uint64_t *occupied) {
    const fcg_bins *bins = tree->bins;
    pair copied[N_BINS];
    double residual_sum = (double)(node->total >> WEIGHT_BITS);
    double none = residual_sum * residual_sum / (weight_of(node->total) + tree->smoothing);
    node->score = none * FLOOR;
    for (int64_t j = 0; j < bins->n_features; j++) {
        int has_own_column = bins->default_bin[j] < 0;
        const uint64_t *codes = has_own_column && occupied ? occupied + 4 * bins->column[j] : 0;
        const pair *sums = bins_of(bins, histogram, node->total, j, copied);
        split_by(tree, node, sums, codes, j, 0, N_BINS);
    }
    node->score -= none;
}

void fcg_split_at(const growth *tree, tree_node *node, int64_t feature, int64_t place) {
    pair copied[N_BINS];
    tree_node other = *node;
    other.score = -0.5; /* any split is better */
    const pair *sums = bins_of(tree->bins, node->histogram, node->total, feature, copied);
    split_by(tree, &other, sums, NULL, feature, (int)place, 1);
    if (other.score > -0.5) *node = other;
}

void fcg_find_splits(const fcg_bins *bins, const fcg_tree_rules *rules, int64_t n,
                     const int64_t *totals, const int64_t *histograms, fcg_split *splits) {
    growth tree = fcg_growth(bins, rules);
    for (int64_t i = 0; i < n; i++) {
        tree_node node = {.total = totals[i], .feature = -1};
        if (weight_of(node.total) >= 2 * tree.min_leaf)
            fcg_find_split(&tree, &node, histograms + i * tree.n_pairs, NULL);
        fcg_split *split = splits + i;
        split->feature = node.feature;
        split->place = node.place;
        split->is_missing_left = node.is_missing_left;
        split->left = node.left;
        split->score = node.score;
        split->column = node.feature < 0 ? 0 : bins->column[node.feature];
        memcpy(split->goes_left, node.goes_left, sizeof node.goes_left);
    }
}

void fcg_split_rows(const fcg_bins *bins, const int64_t *slots, const fcg_split *splits,
                    const int64_t *sums, int32_t *nodes, int64_t *histograms) {
    int64_t n_columns = bins->n_columns;
    for (int64_t i = 0; i < bins->n_rows; i++) {
        int64_t place = slots[nodes[i]];
        if (place < 0) continue;
        const fcg_split *split = splits + place;
        const uint8_t *row = bins->codes + i * n_columns;
        uint8_t code = row[split->column];
        int right = !((split->goes_left[code >> 6] >> (code & 63)) & 1);
        nodes[i] = (int32_t)(split->children + right);
        if (right != split->added) continue;
        pair *column = histograms + place * n_columns * N_BINS;
        for (int64_t j = 0; j < n_columns; j++, column += N_BINS) column[row[j]] += sums[i];
    }
}
