/* Shapley values of trees and of products, and sums that change from player to player. */
#include "profiles.h"
#include "walk.h"

enum { LANES = 8 };

/* A tree, the row to explain, and a row of the background. */
typedef struct {
    const fcg_node *tree;
    const double *x, *other;
    const int64_t *players;
    int8_t *owners; /* whose inputs a player has: 1, of x; 2, of the other row; 0, undecided */
    int64_t size;
    const double *shares;
    double *phi;
} game;

/* The contribution of the leaves below a node to each player on the side of x, and of the other. */
typedef struct {
    double of_x, of_other;
} effects;

/* Descend with n players decided for x, and m for the other row. */
static effects visit(const game *g, int64_t i, int64_t n, int64_t m) {
    for (;;) {
        const fcg_node *node = g->tree + i;
        if (node->feature < 0.0) {
            double of_x = n ? g->shares[(n - 1) * g->size + m] : 0.0;
            double of_other = m ? g->shares[n * g->size + m - 1] : 0.0;
            return (effects){node->value * of_x, node->value * of_other};
        }
        int64_t to = next_node(g->tree, i, g->x), other = next_node(g->tree, i, g->other);
        int64_t player = g->players[(int64_t)node->feature];
        if (to == other || g->owners[player]) {
            i = g->owners[player] == 2 ? other : to;
            continue;
        }
        g->owners[player] = 1;
        effects with_x = visit(g, to, n + 1, m);
        g->owners[player] = 2;
        effects with_other = visit(g, other, n, m + 1);
        g->owners[player] = 0;
        g->phi[player] += with_x.of_x - with_other.of_other;
        return (effects){with_x.of_x + with_other.of_x, with_x.of_other + with_other.of_other};
    }
}

void fcg_shapley_trees(int64_t n_trees, int64_t n_nodes, const fcg_node *nodes,
                       int64_t n_background, int64_t n_features, const double *background,
                       const double *x, const int64_t *players, int64_t n_players, int8_t *owners,
                       int64_t size, const double *shares, double *phi) {
    for (int64_t t = 0; t < n_trees; t++)
        for (int64_t b = 0; b < n_background; b++) {
            game g = {nodes + t * n_nodes, x,    background + b * n_features, players, owners,
                      size,                shares, phi + t * n_players};
            visit(&g, 0, 0, 0);
        }
}

/* The Shapley value of a player is the integral over t in [0, 1] of the product over players of
 * other + t (factor - other), with this player's term replaced by its derivative. */
void fcg_shapley_products(int64_t n_background, int64_t n_players, int64_t n_atoms,
                          const double *factors, const double *background, int64_t n_points,
                          const double *points, const double *weights, double *room, double *phi) {
    double *before = room, *behind = room + n_atoms;
    for (int64_t b = 0; b < n_background; b++, background += n_players * n_atoms)
        for (int64_t k = 0; k < n_points; k++) {
            double t = points[k];
            for (int64_t a = 0; a < n_atoms; a++) {
                before[a] = weights[k];
                behind[n_players * n_atoms + a] = 1.0;
            }
            for (int64_t p = n_players - 1; p > 0; p--) {
                const double *factor = factors + p * n_atoms, *other = background + p * n_atoms;
                double *product = behind + p * n_atoms;
                for (int64_t a = 0; a < n_atoms; a++)
                    product[a] = product[n_atoms + a] * (other[a] + t * (factor[a] - other[a]));
            }
            for (int64_t p = 0; p < n_players; p++) {
                const double *factor = factors + p * n_atoms, *other = background + p * n_atoms;
                const double *product = behind + (p + 1) * n_atoms;
                double *sums = phi + p * n_atoms;
                for (int64_t a = 0; a < n_atoms; a++) {
                    double gap = factor[a] - other[a];
                    sums[a] += before[a] * gap * product[a];
                    before[a] *= other[a] + t * gap;
                }
            }
        }
}

/* Return an inner product, added up in the same order on every machine. */
static double dot(int64_t n, const double *x, const double *y) {
    double sums[LANES] = {0.0}, total = 0.0;
    int64_t a = 0;
    for (; a + LANES <= n; a += LANES)
        for (int64_t l = 0; l < LANES; l++) sums[l] += x[a + l] * y[a + l];
    for (int64_t l = 0; a < n; a++, l++) sums[l] += x[a] * y[a];
    for (int64_t l = 0; l < LANES; l++) total += sums[l];
    return total;
}

void fcg_shapley_walks(int64_t n_walks, int64_t n_moves, const int64_t *moves, int64_t n_inputs,
                       const int64_t *first, const double *gaps, int64_t n_atoms,
                       const double *weights, double *z, int64_t profile, int64_t n_outputs,
                       const double *coef, double *room, double *values) {
    for (int64_t i = 0; i < n_walks; i++, gaps += n_inputs, z += n_atoms)
        for (int64_t k = 0; k <= n_moves; k++, values += n_outputs) {
            if (k > 0) {
                int64_t move = *moves++, player = (move > 0 ? move : -move) - 1;
                for (int64_t j = first[player]; j < first[player + 1]; j++) {
                    const double *row = weights + j * n_atoms;
                    double gap = move > 0 ? gaps[j] : -gaps[j];
                    for (int64_t a = 0; a < n_atoms; a++) z[a] += gap * row[a];
                }
            }
            fcg_apply(profile, n_atoms, z, room);
            for (int64_t o = 0; o < n_outputs; o++)
                values[o] = dot(n_atoms, coef + o * n_atoms, room);
        }
}
