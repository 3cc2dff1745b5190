/* The best split of a node: estimates in single precision say which ones are worth a look. */
#include "trees.h"

#include <math.h>
#include <string.h>

/* A split must raise the sum of squares by more than rounding does. */
static const double FLOOR = 1.0 + 0x1p-40;
/* So much of a score its estimate in float may be off. */
static const float DOUBT = 0x1p-16f;

/* Return the sums of the bins of a feature: those of its column, or, where it shares that, a copy
 * in which its usual bin has what the others leave. */
static const pair *bins_of(const fcg_bins *bins, const pair *histogram, pair total, int64_t j,
                           pair *copied) {
    const pair *column = histogram + bins->column[j] * N_BINS + bins->first[j];
    int64_t usual = bins->usual[j];
    if (usual < 0) return column;
    pair rest = total;
    for (int64_t bin = 0; bin < bins->n_bins[j]; bin++) {
        copied[bin] = bin == usual ? 0 : column[bin - (bin > usual)];
        rest -= copied[bin];
    }
    copied[usual] = rest;
    return copied;
}

/* Order codes by their means, equal ones as they are: first roughly, by shares of the range. */
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

/* Order the bins of a feature and add them up in that order; returns how many there are. Those that
 * are known to have no rows are left out, and so are levels of a category, which are in the order
 * of their mean residuals. */
static int rank_bins(const pair *own, int n, const uint64_t *occupied, int is_category,
                     double smoothing, int *ranks, pair *below) {
    int n_ranks = 0;
    if (is_category) {
        double means[N_BINS];
        for (int code = 0; code < n; code++) {
            if (weight_of(own[code]) == 0) continue;
            means[code] = (double)(own[code] >> WEIGHT_BITS) / (weight_of(own[code]) + smoothing);
            ranks[n_ranks++] = code;
        }
        sort_levels(n_ranks, means, ranks);
    } else if (occupied) {
        for (int word = 0; word < 4; word++) {
            /* Below the first bin may be missing values alone. */
            for (uint64_t rest = occupied[word] | (word == 0); rest; rest &= rest - 1) {
                int code = 64 * word + __builtin_ctzll(rest);
                if (code < n) ranks[n_ranks++] = code;
            }
        }
    } else {
        for (; n_ranks < n; n_ranks++) ranks[n_ranks] = n_ranks;
    }
    pair total = 0;
    for (int at = 0; at < n_ranks; at++) below[at] = total += own[ranks[at]];
    return n_ranks;
}

/* The sum of squares of two sides over their weights, smoothed, in steps; -1 for a side that has
 * too few rows. */
static double score_of(const growth *tree, pair left, pair total) {
    double a = (double)(left >> WEIGHT_BITS), c = (double)(total >> WEIGHT_BITS) - a;
    int32_t b = weight_of(left), d = weight_of(total) - b;
    if (b < tree->min_leaf || d < tree->min_leaf) return -1.0;
    return a * a / (b + tree->smoothing) + c * c / (d + tree->smoothing);
}

/* Estimate the scores of splits that put bins 0, ..., at and `more` to the left, in units of 256;
 * returns the largest. */
static float estimate(const growth *tree, const pair *below, int n, pair more, pair total,
                      float *scores) {
    int32_t pulls[N_BINS], weights[N_BINS], pull = pull_of(total), weight = weight_of(total);
    int32_t words[N_BINS], most = INT32_MIN;
    float smoothing = (float)tree->smoothing, largest;
    for (int at = 0; at < n; at++) {
        pulls[at] = pull_of(below[at] + more);
        weights[at] = weight_of(below[at] + more);
    }
    for (int at = 0; at < n; at++) {
        int32_t rest = weight - weights[at];
        float a = (float)pulls[at], c = (float)(pull - pulls[at]);
        float b = (float)weights[at] + smoothing, d = (float)rest + smoothing;
        float found = (a * a * d + c * c * b) / (b * d);
        scores[at] = (weights[at] >= tree->min_leaf) & (rest >= tree->min_leaf) ? found : -1.0f;
    }
    /* Of numbers of one sign, larger ones have larger bits; and -1 has less than any. */
    memcpy(words, scores, (size_t)n * sizeof *words);
    for (int at = 0; at < n; at++) most = words[at] > most ? words[at] : most;
    if (n == 0) return -1.0f;
    memcpy(&largest, &most, sizeof largest);
    return largest;
}

/* Note a split: which codes go left. Where no value is missing, those to come go with the
 * majority. */
static void take_split(const growth *tree, node *own, const int *ranks, int n_ranks, int best,
                       pair missing, int is_left) {
    const fcg_bins *bins = tree->bins;
    int64_t j = own->feature, usual = bins->usual[j];
    uint8_t bin_goes_left[N_BINS];
    if (weight_of(missing) == 0) is_left = 2 * weight_of(own->left) >= weight_of(own->total);
    own->is_missing_left = is_left;
    memset(bin_goes_left, is_left, N_BINS);
    own->place = ranks[best];
    if (bins->is_category[j])
        for (int at = 0; at < n_ranks; at++) bin_goes_left[ranks[at]] = at <= best;
    else
        for (int64_t bin = 0; bin < bins->n_numbers[j]; bin++)
            bin_goes_left[bin] = bin <= own->place;
    /* Codes of other features of the column are the usual bin of this one. */
    uint64_t others = (usual >= 0 ? bin_goes_left[usual] : is_left) ? ~(uint64_t)0 : 0;
    for (int word = 0; word < 4; word++) own->goes_left[word] = others;
    for (int64_t bin = 0; bin < bins->n_bins[j]; bin++) {
        if (bin == usual) continue;
        int64_t code = bins->first[j] + bin - (usual >= 0 && bin > usual);
        uint64_t bit = (uint64_t)1 << (code & 63);
        own->goes_left[code >> 6] &= ~bit;
        if (bin_goes_left[bin]) own->goes_left[code >> 6] |= bit;
    }
}

/* Improve the split of a node by one feature: estimates say which thresholds are worth a look. Of
 * equal ones the lowest wins, then missing values on the left. */
static void split_by(const growth *tree, node *own, const pair *sums, const uint64_t *occupied,
                     int64_t j) {
    const fcg_bins *bins = tree->bins;
    int n = (int)bins->n_numbers[j], ranks[N_BINS], best = -1, is_left = 0;
    pair below[N_BINS], missing = bins->n_bins[j] > n ? sums[n] : 0, total = own->total;
    float scores[2][N_BINS], most;
    int is_category = bins->is_category[j];
    int n_ranks = rank_bins(sums, n, occupied, is_category, tree->smoothing, ranks, below);
    int n_sides = weight_of(missing) > 0 ? 2 : 1;
    most = estimate(tree, below, n_ranks, 0, total, scores[0]);
    if (n_sides == 2) most = fmaxf(most, estimate(tree, below, n_ranks, missing, total, scores[1]));
    /* Residuals are off by a unit at most, and so are the scores by twice their roots. */
    float enough = fmaxf(most, (float)(own->score / 256.0));
    enough = enough * (1.0f - DOUBT) - 4.0f * sqrtf(fmaxf(enough, 0.0f));
    if (most < enough || most < 0.0f) return;
    for (int at = 0; at < n_ranks; at++) {
        for (int side = n_sides - 1; side >= 0; side--) {
            if (scores[side][at] < enough) continue;
            double score = score_of(tree, below[at] + (side ? missing : 0), total);
            if (score > own->score) own->score = score, best = at, is_left = side;
        }
    }
    if (best < 0) return;
    own->feature = j;
    own->left = below[best] + (is_left ? missing : 0);
    take_split(tree, own, ranks, n_ranks, best, missing, is_left);
}

void fcg_find_split(const growth *tree, node *own, const pair *histogram,
                    const uint64_t *occupied) {
    const fcg_bins *bins = tree->bins;
    pair copied[N_BINS];
    double pull = (double)(own->total >> WEIGHT_BITS);
    double none = pull * pull / (weight_of(own->total) + tree->smoothing);
    own->score = none * FLOOR;
    for (int64_t j = 0; j < bins->n_features; j++) {
        const uint64_t *known = bins->usual[j] < 0 && occupied ? occupied + 4 * bins->column[j] : 0;
        split_by(tree, own, bins_of(bins, histogram, own->total, j, copied), known, j);
    }
    own->score -= none;
}

void fcg_find_splits(const fcg_bins *bins, const fcg_tree_rules *rules, int64_t n,
                     const int64_t *totals, const int64_t *histograms, fcg_split *splits) {
    growth tree = fcg_growth(bins, rules);
    for (int64_t i = 0; i < n; i++) {
        node own = {.total = totals[i], .feature = -1};
        if (weight_of(own.total) >= 2 * tree.min_leaf)
            fcg_find_split(&tree, &own, histograms + i * tree.n_pairs, NULL);
        fcg_split *found = splits + i;
        found->feature = own.feature;
        found->place = own.place;
        found->is_missing_left = own.is_missing_left;
        found->left = own.left;
        found->score = own.score;
        found->column = own.feature < 0 ? 0 : bins->column[own.feature];
        memcpy(found->goes_left, own.goes_left, sizeof own.goes_left);
    }
}
