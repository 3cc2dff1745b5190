/* Pairs of features that say something together but nothing apart, as in y = sign(x1 x2): no split
 * of the root shows them, so trees that choose the best split find them by chance alone.
 *
 * Features are cut into four groups of about equal weight, and some rows are added up in the
 * sixteen cells of each pair. If two levels of splits by a pair explain far more than the best
 * split, the tree begins with the split of theirs.
 */
#include "trees.h"

#include <math.h>
#include <string.h>

/* Groups of a feature, and the most rows and features that are looked at. */
enum { GROUPS = 4, CELLS = GROUPS * GROUPS, ROWS = 1024, FEATURES = 32 };
/* Two levels must explain this much, in squared standard errors: more than the best of many pairs
 * does by chance. They must also explain this many times as much as the best split. */
static const double CHANCE = 50.0, RATIO = 2.0;

/* A feature in groups. */
typedef struct {
    int64_t feature;
    int cuts[GROUPS - 1]; /* the last bin of each group but the last */
    uint8_t group[ROWS];  /* of each row */
} grouped;

/* The rows that are looked at, and their features. */
typedef struct {
    const growth *tree;
    int64_t n_rows, n;
    pair rows[ROWS];
    grouped features[FEATURES];
} view;

/* Cut a feature into groups by the sums of its bins, if it has at least two. */
static void cut(view *all, const pair *sums, int64_t feature, int32_t total) {
    const fcg_bins *bins = all->tree->bins;
    const uint8_t *codes = bins->codes + bins->column[feature];
    grouped *to = all->features + all->n;
    int64_t n = bins->n_bins[feature], below = 0;
    uint8_t groups[N_BINS], group = 0;
    memset(groups, GROUPS - 1, N_BINS);
    for (int64_t bin = 0; bin < n && group < GROUPS - 1; bin++) {
        groups[bin] = group;
        below += weight_of(sums[bin]);
        if (below * GROUPS >= (group + 1) * (int64_t)total) to->cuts[group++] = (int)bin;
    }
    if (group == 0 || below == total) return;
    to->feature = feature;
    for (int rest = group; rest < GROUPS - 1; rest++) to->cuts[rest] = (int)n;
    for (int64_t r = 0; r < all->n_rows; r++)
        to->group[r] = groups[codes[all->tree->order[r] * bins->n_columns]];
    all->n++;
}

/* What some rows are worth together: the squared sum of residuals divided by the weight. */
static double worth(const growth *tree, pair sum) {
    double residual = (double)(sum >> WEIGHT_BITS);
    return residual * residual / (weight_of(sum) + tree->smoothing);
}

/* The largest worth of the two sides of a line of groups. */
static double best_side(const growth *tree, const pair line[GROUPS]) {
    pair total = line[0] + line[1] + line[2] + line[3], left = 0;
    double best = worth(tree, total);
    for (int cut = 0; cut < GROUPS - 1; cut++) {
        left += line[cut];
        if (weight_of(left) < tree->min_leaf || weight_of(total - left) < tree->min_leaf) continue;
        best = fmax(best, worth(tree, left) + worth(tree, total - left));
    }
    return best;
}

/* The largest worth of two levels of splits of a pair's cells, the first one at a cut of the rows
 * of cells; -1 if there is none. */
static double two_levels(const growth *tree, const pair cells[CELLS], int *first) {
    double best = -1.0;
    pair above[GROUPS] = {0}, below[GROUPS] = {0};
    for (int at = 0; at < CELLS; at++) below[at % GROUPS] += cells[at];
    for (int cut = 0; cut < GROUPS - 1; cut++) {
        pair left = 0, right = 0;
        for (int k = 0; k < GROUPS; k++) {
            above[k] += cells[GROUPS * cut + k], below[k] -= cells[GROUPS * cut + k];
            left += above[k], right += below[k];
        }
        if (weight_of(left) < tree->min_leaf || weight_of(right) < tree->min_leaf) continue;
        double found = best_side(tree, above) + best_side(tree, below);
        if (found > best) best = found, *first = cut;
    }
    return best;
}

/* Choose rows, and features with a column of their own, others for other residuals if there are
 * many. */
static void choose(view *all, const tree_node *root) {
    const fcg_bins *bins = all->tree->bins;
    uint64_t word = (uint64_t)root->total * 0x9E3779B97F4A7C15u;
    int64_t start = bins->n_features > FEATURES ? (int64_t)(word >> 33) : 0;
    all->n_rows = root->stop < ROWS ? root->stop : ROWS;
    for (int64_t r = 0; r < all->n_rows; r++) all->rows[r] = all->tree->rows[all->tree->order[r]];
    for (int64_t k = 0; k < bins->n_features && all->n < FEATURES; k++) {
        int64_t j = (start + k) % bins->n_features;
        if (bins->is_category[j] || bins->default_bin[j] >= 0) continue;
        const pair *sums = root->histogram + bins->column[j] * N_BINS + bins->first[j];
        cut(all, sums, j, weight_of(root->total));
    }
}

/* A split, and what it and a next one are worth. */
typedef struct {
    double worth;
    int64_t feature, place;
} start;

/* Find the best two levels of splits by a pair, if they are better than those known. */
static void try_pair(const view *all, const grouped *a, const grouped *b, start *best) {
    pair cells[CELLS] = {0}, turned[CELLS];
    for (int64_t r = 0; r < all->n_rows; r++)
        cells[GROUPS * a->group[r] + b->group[r]] += all->rows[r];
    for (int at = 0; at < CELLS; at++) turned[at % GROUPS * GROUPS + at / GROUPS] = cells[at];
    for (int side = 0; side < 2; side++) {
        const grouped *first = side ? b : a;
        int cut = 0;
        double found = two_levels(all->tree, side ? turned : cells, &cut);
        if (found > best->worth) *best = (start){found, first->feature, first->cuts[cut]};
    }
}

void fcg_look_ahead(const growth *tree, tree_node *root) {
    view all = {.tree = tree};
    start best = {0.0, -1, 0};
    if (!root->histogram) return;
    choose(&all, root);
    for (int64_t a = 1; a < all.n; a++)
        for (int64_t b = 0; b < a; b++) try_pair(&all, all.features + a, all.features + b, &best);
    pair total = 0;
    double squares = 0.0;
    for (int64_t r = 0; r < all.n_rows; r++) {
        double residual = (double)(all.rows[r] >> WEIGHT_BITS);
        squares += residual * residual / fmax(1.0, weight_of(all.rows[r]));
        total += all.rows[r];
    }
    /* What these rows say, and what the best split is worth to as much weight. */
    double gain = best.worth - worth(tree, total), weight = weight_of(total);
    double split = root->feature < 0 ? 0.0 : root->score * weight / weight_of(root->total);
    if (best.feature >= 0 && gain * weight > CHANCE * squares && gain > RATIO * split)
        fcg_split_at(tree, root, best.feature, best.place);
}
