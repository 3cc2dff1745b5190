/* Sums of the atoms of several families, times their coefficients.
 *
 * Rows go through all parts in blocks that stay in the fastest cache. A row has LANES partial sums
 * per output, of every LANES-th atom of each part, in the order of the parts: its values depend
 * neither on the other rows nor on threads.
 */
#include "pool.h"
#include "profiles.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a block; rows whose inner products are computed at once. */
enum { LANES = FCG_LANES, WIDE = 4, ROWS = 64, ABREAST = 4 };

/* As many numbers as a register of newer processors holds. */
typedef double vector __attribute__((vector_size(8 * WIDE), aligned(8), may_alias));
typedef struct {
    vector low, high;
} lanes;

typedef struct {
    const fcg_sum *sum;
    int64_t n_rows;
    int32_t is_single; /* the precision of X */
    const void *X;
    double *values;
    int32_t is_full; /* whether the memory is */
} task;

/* The rows of a block as a part sees them, input by input, each of ROWS numbers. */
typedef struct {
    const double *X;
    int64_t n;
} seen;

/* Copy n rows, input by input; the rows after them repeat the last one. */
static void transpose(const task *all, int64_t start, int64_t n, double *room) {
    int64_t d = all->sum->n_features;
    const double *doubles = (const double *)all->X + start * d;
    const float *singles = (const float *)all->X + start * d;
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t row = (i < n ? i : n - 1) * d;
        for (int64_t j = 0; j < d; j++)
            room[j * ROWS + i] = all->is_single ? singles[row + j] : doubles[row + j];
    }
}

/* Fill what is missing in d inputs, and clip them to their limits. */
static void limit(int64_t d, const double *limits, const double *X, double *room) {
    for (int64_t j = 0; j < d; j++, X += ROWS, room += ROWS) {
        double fill = limits[j], low = limits[d + j], high = limits[2 * d + j];
        for (int64_t i = 0; i < ROWS; i++) {
            double x = X[i] != X[i] ? fill : X[i];
            x = x < low ? low : x;
            room[i] = x > high ? high : x;
        }
    }
}

/* Compute what the profile of a group of atoms is applied to, for ABREAST rows. */
static inline void weigh(const double *X, int64_t d, const lanes *group, lanes *z) {
    lanes sums[ABREAST];
    for (int64_t r = 0; r < ABREAST; r++) sums[r] = group[d];
    for (int64_t j = 0; j < d; j++)
        for (int64_t r = 0; r < ABREAST; r++) {
            sums[r].low += X[j * ROWS + r] * group[j].low;
            sums[r].high += X[j * ROWS + r] * group[j].high;
        }
    for (int64_t r = 0; r < ABREAST; r++) z[r] = sums[r];
}

/* The same for bells: squared distances from their centres. */
static inline void measure(const double *X, int64_t d, const lanes *group,
                           lanes *z) {
    lanes sums[ABREAST] = {{{0.0}, {0.0}}};
    for (int64_t j = 0; j < d; j++) {
        lanes center = group[2 * j], unit = group[2 * j + 1];
        for (int64_t r = 0; r < ABREAST; r++) {
            vector low = (X[j * ROWS + r] - center.low) * unit.low;
            vector high = (X[j * ROWS + r] - center.high) * unit.high;
            sums[r].low += low * low;
            sums[r].high += high * high;
        }
    }
    for (int64_t r = 0; r < ABREAST; r++) z[r] = sums[r];
}

static void products(const seen *rows, const fcg_part *part, const lanes *group, lanes *z) {
    for (int64_t i = 0; i < rows->n; i += ABREAST) {
        if (part->profile == FCG_BELL) measure(rows->X + i, part->n_inputs, group, z + i);
        else weigh(rows->X + i, part->n_inputs, group, z + i);
    }
}

/* Write the values of at most LANES trees from tree t on. */
static void walk(const fcg_sum *sum, const seen *rows, const fcg_part *part, int64_t t,
                 double *values) {
    int64_t n_trees = part->n_atoms - t < LANES ? part->n_atoms - t : LANES;
    for (int64_t lane = 0; lane < n_trees; lane++) {
        int64_t root = part->atoms + (t + lane) * part->n_nodes;
        const fcg_branch *branches = sum->branches + root;
        for (int64_t i = 0; i < rows->n; i += FCG_ABREAST) {
            int32_t at[FCG_ABREAST];
            fcg_rows abreast = {rows->X + i, 0, 1, ROWS};
            fcg_descend(sum->nodes + root, branches, abreast, FCG_ABREAST, at);
            for (int64_t r = 0; r < FCG_ABREAST; r++)
                values[(i + r) * LANES + lane] = branches[at[r]].value;
        }
    }
}

/* Add what the atoms of a part contribute to the partial sums of the rows of a block. */
static void add_part(const fcg_sum *sum, const seen *rows, const fcg_part *part, lanes *values,
                     lanes *sums) {
    int64_t n_groups = (part->n_atoms + LANES - 1) / LANES;
    int64_t size = part->profile == FCG_BELL ? 2 * part->n_inputs : part->n_inputs + 1;
    const lanes *atoms = (const lanes *)(sum->numbers + part->atoms);
    const lanes *coef = (const lanes *)(sum->numbers + part->coef);
    if (part->profile == FCG_TREE) memset(values, 0, (size_t)rows->n * sizeof(lanes));
    for (int64_t g = 0; g < n_groups; g++) {
        double *numbers = (double *)values;
        if (part->profile == FCG_TREE) walk(sum, rows, part, g * LANES, numbers);
        else {
            products(rows, part, atoms + g * size, values);
            fcg_apply(part->profile, rows->n * LANES, numbers, numbers);
        }
        for (int64_t o = 0; o < sum->n_outputs; o++) {
            lanes factors = coef[o * n_groups + g];
            for (int64_t i = 0; i < rows->n; i++) {
                lanes *total = sums + i * sum->n_outputs + o;
                total->low += factors.low * values[i].low;
                total->high += factors.high * values[i].high;
            }
        }
    }
}

/* Whether two parts see the same numbers. */
static int is_seen_alike(const fcg_part *a, const fcg_part *b) {
    return a->limits == b->limits && a->first_input == b->first_input && a->n_inputs == b->n_inputs;
}

static void add_up_block(void *context, int64_t block) {
    task *all = context;
    const fcg_sum *sum = all->sum;
    int64_t start = block * ROWS, n_outputs = sum->n_outputs, d = sum->n_features;
    int64_t n = all->n_rows - start < ROWS ? all->n_rows - start : ROWS;
    size_t n_bytes = (size_t)(ROWS + n * n_outputs) * sizeof(lanes);
    lanes *values = malloc(n_bytes + (size_t)(2 * ROWS * d) * sizeof(double));
    if (!values) {
        __atomic_store_n(&all->is_full, 1, __ATOMIC_RELAXED);
        return;
    }
    lanes *sums = values + ROWS;
    double *X = (double *)(sums + n * n_outputs), *limited = X + ROWS * d;
    memset(values, 0, n_bytes);
    transpose(all, start, n, X);
    for (int64_t p = 0; p < sum->n_parts; p++) {
        const fcg_part *part = sum->parts + p;
        seen rows = {part->limits < 0 ? X + part->first_input * ROWS : limited, n};
        if (part->limits >= 0 && (p == 0 || !is_seen_alike(part, part - 1)))
            limit(part->n_inputs, sum->numbers + part->limits, X + part->first_input * ROWS,
                  limited);
        add_part(sum, &rows, part, values, sums);
    }
    double *written = all->values + start * n_outputs;
    for (int64_t i = 0; i < n * n_outputs; i++) {
        const double *s = (const double *)(sums + i);
        double total = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
        written[i] = sum->intercept[i % n_outputs] + total;
    }
    free(values);
}

int32_t fcg_add_up(const fcg_sum *sum, int64_t n_rows, int32_t is_single, const void *X,
                   double *values) {
    task all = {.sum = sum, .n_rows = n_rows, .is_single = is_single, .X = X, .values = values};
    fcg_share((n_rows + ROWS - 1) / ROWS, add_up_block, &all);
    return all.is_full ? -1 : 0;
}
