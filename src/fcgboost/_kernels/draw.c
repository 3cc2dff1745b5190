/* Random rows and atoms. Every number depends only on a key and a counter (splitmix64). */
#include "kernels.h"

#include <math.h>
#include <string.h>

static const uint64_t GOLDEN = 0x9E3779B97F4A7C15u;

static uint64_t mix(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

/* The initial state of a stream of numbers. */
static uint64_t stream(uint64_t key, int64_t number) {
    return mix(mix(key) + ((uint64_t)number + 1) * GOLDEN);
}

/* The next number, uniform in [0, 1). */
static double next(uint64_t *state) {
    *state += GOLDEN;
    return (double)(mix(*state) >> 11) * 0x1p-53;
}

/* The next number, normal (Box and Muller). */
static double next_normal(uint64_t *state) {
    double length = sqrt(-2.0 * log(1.0 - next(state)));
    return length * cos(6.283185307179586 * next(state));
}

/* Whether the next item is chosen (Knuth, TAOCP 2, section 3.4.2, Algorithm S). */
static int is_chosen(int64_t n_left, int64_t n_wanted, uint64_t *state) {
    return n_wanted >= n_left || (double)n_left * next(state) < (double)n_wanted;
}

int64_t fcg_sample(int64_t n, const double *weights, int64_t n_rows, int64_t n_points,
                   uint64_t key, int64_t *rows, int64_t *points) {
    uint64_t state = stream(key, 0);
    int64_t n_active = 0, n_sampled = 0, n_seen = 0, k = 0;
    for (int64_t i = 0; i < n; i++) n_active += weights[i] > 0.0;
    int64_t n_wanted = n_active < n_rows ? n_active : n_rows;
    for (int64_t i = 0; n_sampled < n_wanted; i++)
        if (weights[i] > 0.0 && is_chosen(n_active - n_seen++, n_wanted - n_sampled, &state))
            rows[n_sampled++] = i;
    if (n_sampled == 0) rows[n_sampled++] = 0;
    state = stream(key, 1);
    if (n_sampled < n_points)
        for (; k < n_points; k++) points[k] = rows[(int64_t)((double)n_sampled * next(&state))];
    for (int64_t i = 0; k < n_points; i++)
        if (is_chosen(n_sampled - i, n_points - k, &state)) points[k++] = rows[i];
    return n_active;
}

/* Draw a unit direction with at most `most` non-zero weights, and its hinge at a point. */
static void draw_plane(int64_t d, int64_t most, const double *point, uint64_t *state,
                       double *atom) {
    int64_t n_left = 1 + (int64_t)((double)most * next(state));
    double square = 0.0, offset = 0.0;
    for (int64_t j = 0; j < d; j++) {
        int is_used = n_left > 0 && is_chosen(d - j, n_left, state);
        atom[j] = is_used ? next_normal(state) : 0.0;
        square += atom[j] * atom[j];
        n_left -= is_used;
    }
    for (int64_t j = 0; j < d; j++) {
        atom[j] /= square > 0.0 ? sqrt(square) : 1.0;
        offset += atom[j] * point[j];
    }
    atom[d] = -offset;
}

void fcg_draw(const fcg_search *search, int64_t d, const double *points, uint64_t key,
              double *atoms) {
    for (int64_t k = 0; k < search->size; k++, points += d, atoms += d + 1) {
        uint64_t state = stream(key, k + 2);
        if (search->family == FCG_GAUSS) {
            memcpy(atoms, points, (size_t)d * sizeof(double));
            atoms[d] = search->low + (search->high - search->low) * next(&state);
        } else draw_plane(d, search->max_features, points, &state, atoms);
    }
}
