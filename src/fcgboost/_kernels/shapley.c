/* Shapley values of trees and of products, and sums that change from player to player. */
#include "pool.h"
#include "profiles.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = FCG_LANES, GROUP = FCG_GROUP };

void fcg_go_left(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes,
                 const fcg_branch *branches, int64_t n_background, int64_t n_features,
                 const double *background, uint64_t *lefts) {
    int64_t n_groups = (n_background + GROUP - 1) / GROUP;
    memset(lefts, 0, (size_t)(n_groups * n_trees * n_nodes) * sizeof(uint64_t));
    for (int64_t t = 0; t < n_trees; t++)
        for (int64_t i = 0; i < n_nodes; i++) {
            const fcg_node *tree = nodes + t * n_nodes;
            if (!(branches[t * n_nodes + i].how & FCG_SPLITS)) continue;
            for (int64_t b = 0; b < n_background; b++) {
                uint64_t is_left = next_node(tree, i, background + b * n_features) ==
                                   (int64_t)tree[i].left;
                lefts[(b / GROUP * n_trees + t) * n_nodes + i] |= is_left << b % GROUP;
            }
        }
}

/* A tree, the row x to explain, and a group of the background, whose rows are bits. A row of the
 * background and x agree on a path to a leaf if players who have inputs of x, and others with those
 * of that row, lead there. */
typedef struct {
    const fcg_node *tree;
    const double *x;
    const int64_t *players;
    const uint64_t *lefts; /* the rows that go left, for every node */
    uint64_t *owned;       /* for every player, the rows where the path needs inputs of x */
    int8_t *is_other;      /* for every player, whether it needs those of the other rows */
    int64_t *first, n_first, *second, n_second; /* these players */
    int64_t size;
    const double *shares;
    double *phi;
} game;

/* Add the contributions of a leaf; in the rows of class n, n players need inputs of x. */
static void add_leaf(const game *g, double value, uint64_t rows, const uint64_t *classes,
                     int64_t n_classes) {
    int64_t m = g->n_second;
    double total = 0.0;
    for (int64_t n = 0; m && n < n_classes && n + m <= g->size; n++)
        total += g->shares[n * g->size + m - 1] * __builtin_popcountll(classes[n] & rows);
    for (int64_t k = 0; k < m; k++) g->phi[g->second[k]] -= value * total;
    for (int64_t k = 0; k < g->n_first; k++) {
        uint64_t owned = g->owned[g->first[k]] & rows;
        double sum = 0.0;
        for (int64_t n = 1; owned && n < n_classes && n + m <= g->size; n++)
            sum += g->shares[(n - 1) * g->size + m] * __builtin_popcountll(classes[n] & owned);
        g->phi[g->first[k]] += value * sum;
    }
}

/* Descend with the rows for which some players lead to node i. */
static void visit(game *g, int64_t i, uint64_t rows, uint64_t *classes, int64_t n_classes) {
    while (rows) {
        const fcg_node *node = g->tree + i;
        if (node->feature < 0.0) {
            add_leaf(g, node->value, rows, classes, n_classes);
            return;
        }
        int64_t left = (int64_t)node->left, player = g->players[(int64_t)node->feature];
        uint64_t lefts = g->lefts[i];
        if (g->is_other[player]) {
            visit(g, left, rows & lefts, classes, n_classes);
            rows &= ~lefts;
            i = left + 1;
            continue;
        }
        int64_t to = next_node(g->tree, i, g->x);
        uint64_t owned = g->owned[player];
        uint64_t apart = rows & ~owned & (to == left ? ~lefts : lefts);
        i = to;
        if (!apart) continue;
        g->is_other[player] = 1;
        g->second[g->n_second++] = player;
        visit(g, 2 * left + 1 - to, apart, classes, n_classes);
        g->n_second--;
        g->is_other[player] = 0;
        /* With inputs of x, one more player is needed in these rows. */
        uint64_t *moved = classes + n_classes, before = 0;
        for (int64_t n = 0; n < n_classes; n++) {
            moved[n] = (classes[n] & ~apart) | before;
            before = classes[n] & apart;
        }
        moved[n_classes] = before;
        if (!owned) g->first[g->n_first++] = player;
        g->owned[player] = owned | apart;
        visit(g, to, rows, moved, n_classes + (before != 0));
        g->owned[player] = owned;
        if (!owned) g->n_first--;
        return;
    }
}

/* Trees whose values are added for some rows. */
typedef struct {
    int64_t n_trees, n_nodes, depth, n_background, n_features, n_players, size, n_outputs;
    const fcg_node *nodes;
    const uint64_t *lefts;
    const double *X, *shares, *coef;
    const int64_t *players;
    double *phi;
    int has_failed; /* for want of memory */
} tree_game;

static void add_trees(void *context, int64_t row) {
    tree_game *all = context;
    int64_t n_groups = (all->n_background + GROUP - 1) / GROUP, n_players = all->n_players;
    int64_t n_outputs = all->n_outputs;
    /* Classes of each level, what each player needs, players by what they need. */
    int64_t n_classes = (all->depth + 1) * (all->size + 2);
    uint64_t *room = calloc((size_t)(n_classes + 5 * n_players), sizeof(uint64_t));
    if (!room) {
        __atomic_store_n(&all->has_failed, 1, __ATOMIC_RELAXED);
        return;
    }
    game g = {.players = all->players, .size = all->size, .shares = all->shares};
    double *phi = all->phi + row * n_players * n_outputs;
    g.x = all->X + row * all->n_features;
    g.owned = room + n_classes;
    g.first = (int64_t *)(g.owned + n_players);
    g.second = g.first + n_players;
    g.phi = (double *)(g.second + n_players);
    g.is_other = (int8_t *)(g.phi + n_players);
    for (int64_t t = 0; t < all->n_trees; t++) {
        memset(g.phi, 0, (size_t)n_players * sizeof(double));
        g.tree = all->nodes + t * all->n_nodes;
        for (int64_t k = 0; k < n_groups; k++) {
            int64_t n = all->n_background - k * GROUP;
            g.lefts = all->lefts + (k * all->n_trees + t) * all->n_nodes;
            room[0] = n < GROUP ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
            visit(&g, 0, room[0], room, 1);
        }
        for (int64_t p = 0; p < n_players; p++)
            for (int64_t o = 0; o < n_outputs; o++)
                phi[p * n_outputs + o] += all->coef[t * n_outputs + o] * g.phi[p];
    }
    free(room);
}

int32_t fcg_shapley_trees(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes, int64_t depth,
                          int64_t n_background, const uint64_t *lefts, int64_t n_rows,
                          int64_t n_features, const double *X, const int64_t *players,
                          int64_t n_players, int64_t size, const double *shares,
                          int64_t n_outputs, const double *coef, double *phi) {
    tree_game all = {n_trees, n_nodes, depth, n_background, n_features, n_players, size, n_outputs,
                     nodes, lefts, X, shares, coef, players, phi, 0};
    fcg_share(n_rows, add_trees, &all);
    return all.has_failed ? -1 : 0;
}

/* Multiply products over players by the terms of one more, other + t (factor - other). */
static void multiply(int64_t n, double t, const double *restrict factor,
                     const double *restrict other, const double *restrict product,
                     double *restrict next) {
    for (int64_t a = 0; a < n; a++)
        next[a] = product[a] * (other[a] + t * (factor[a] - other[a]));
}

/* Add the derivative of the terms of a player, times those of the players before and behind; then
 * the player is one of those before. */
static void add_slopes(int64_t n, double t, const double *restrict factor,
                       const double *restrict other, const double *restrict behind,
                       double *restrict before, double *restrict sums) {
    for (int64_t a = 0; a < n; a++) {
        double gap = factor[a] - other[a];
        sums[a] += before[a] * gap * behind[a];
        before[a] *= other[a] + t * gap;
    }
}

/* The Shapley value of a player is the integral over t in [0, 1] of the product over players of
 * other + t (factor - other), with this player's term replaced by its derivative. */
void fcg_shapley_products(int64_t n_background, int64_t n_players, int64_t n_atoms,
                          const double *factors, const double *background, int64_t n_points,
                          const double *points, const double *weights, double *room, double *phi) {
    int64_t n = n_atoms;
    double *before = room, *behind = room + n;
    for (int64_t b = 0; b < n_background; b++, background += n_players * n)
        for (int64_t k = 0; k < n_points; k++) {
            double t = points[k];
            for (int64_t a = 0; a < n; a++) {
                before[a] = weights[k];
                behind[n_players * n + a] = 1.0;
            }
            for (int64_t p = n_players - 1; p > 0; p--)
                multiply(n, t, factors + p * n, background + p * n, behind + (p + 1) * n,
                         behind + p * n);
            for (int64_t p = 0; p < n_players; p++)
                add_slopes(n, t, factors + p * n, background + p * n, behind + (p + 1) * n, before,
                           phi + p * n);
        }
}

/* Move the sums z of atoms along a row, some at a time. */
static void move_along(int64_t n, double gap, const double *restrict row, double *restrict z) {
    for (int64_t a = 0; a < n; a += LANES)
        for (int64_t l = 0; l < LANES; l++) z[a + l] += gap * row[a + l];
}

/* Return an inner product, added up in the same order on every machine. */
static double dot(int64_t n, const double *restrict x, const double *restrict y) {
    double sums[LANES] = {0.0};
    for (int64_t a = 0; a < n; a += LANES)
        for (int64_t l = 0; l < LANES; l++) sums[l] += x[a + l] * y[a + l];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/* Walks, and how many of them are a part. */
enum { WALKS = 64 };
typedef struct {
    int64_t n_walks, n_moves, n_inputs, n_atoms, profile, n_outputs;
    const int64_t *moves, *first;
    const double *gaps, *weights, *coef;
    double *z, *room, *values;
} walking;

static void walk_part(void *context, int64_t part) {
    const walking *all = context;
    int64_t n = all->n_atoms, n_outputs = all->n_outputs, stop = (part + 1) * WALKS;
    double *room = all->room + part * n;
    stop = stop < all->n_walks ? stop : all->n_walks;
    for (int64_t i = part * WALKS; i < stop; i++) {
        const int64_t *moves = all->moves + i * all->n_moves;
        const double *gaps = all->gaps + i * all->n_inputs;
        double *z = all->z + i * n, *values = all->values + i * (all->n_moves + 1) * n_outputs;
        for (int64_t k = 0; k <= all->n_moves; k++, values += n_outputs) {
            if (k > 0) {
                int64_t move = *moves++, player = (move > 0 ? move : -move) - 1;
                for (int64_t j = all->first[player]; j < all->first[player + 1]; j++)
                    move_along(n, move > 0 ? gaps[j] : -gaps[j], all->weights + j * n, z);
            }
            fcg_apply(all->profile, n, z, room);
            for (int64_t o = 0; o < n_outputs; o++) values[o] = dot(n, all->coef + o * n, room);
        }
    }
}

void fcg_shapley_walks(int64_t n_walks, int64_t n_moves, const int64_t *moves, int64_t n_inputs,
                       const int64_t *first, const double *gaps, int64_t n_groups,
                       const double *weights, double *z, int64_t profile, int64_t n_outputs,
                       const double *coef, double *room, double *values) {
    walking all = {n_walks, n_moves, n_inputs, n_groups * LANES, profile, n_outputs, moves, first,
                   gaps, weights, coef, z, room, values};
    fcg_share((n_walks + WALKS - 1) / WALKS, walk_part, &all);
}
