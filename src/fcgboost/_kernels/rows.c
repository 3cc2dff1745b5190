/* Raw rows: their fingerprints, the order of fingerprints, and the values of a few Gauss atoms. */
#include "exp.h"
#include "pool.h"

#include <string.h>

/* Rows that are worth another thread. */
enum { PART = 2048 };

static inline uint64_t mix(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

/* Rows, and their hashes. */
typedef struct {
    int64_t n_rows, n_features;
    int32_t is_single;
    const void *X;
    const uint64_t *columns;
    uint64_t *hashes;
} hashing;

static void hash_part(void *context, int64_t part) {
    const hashing *all = context;
    const double *doubles = all->X;
    const float *singles = all->X;
    int64_t stop = (part + 1) * PART, n_features = all->n_features;
    stop = stop < all->n_rows ? stop : all->n_rows;
    for (int64_t i = part * PART; i < stop; i++) {
        uint64_t total = 0;
        for (int64_t j = 0; j < n_features; j++) {
            int64_t entry = i * n_features + j;
            double value = all->is_single ? (double)singles[entry] : doubles[entry];
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            total += value == 0.0 ? 0 : mix(bits ^ all->columns[j]);
        }
        all->hashes[i] = mix(total);
    }
}

void fcg_fingerprint(int64_t n_rows, int64_t n_features, int32_t is_single, const void *X,
                     const uint64_t *columns, uint64_t *hashes) {
    hashing all = {n_rows, n_features, is_single, X, columns, hashes};
    fcg_share((n_rows + PART - 1) / PART, hash_part, &all);
}

/* Digits of hashes, and the rows from which on they are divided: counting takes time, too. */
enum { BITS = 8, DIGITS = 1 << BITS, LAST = 64 / BITS - 1, MANY = 1 << 16 };

static int64_t digit_of(uint64_t hash, int k) {
    return (int64_t)(hash >> (BITS * k)) & (DIGITS - 1);
}

/* Sort rows by their first digits, the least significant first; every pass is stable. Write their
 * order. */
static void sort_rows(int n_digits, int64_t n, fcg_hashed_row *from, fcg_hashed_row *to,
                      int64_t *order) {
    int64_t positions[LAST + 1][DIGITS];
    memset(positions, 0, sizeof positions);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < n_digits; k++) positions[k][digit_of(from[i].hash, k)]++;
    for (int k = 0; k < n_digits; k++) {
        int64_t next = 0;
        for (int digit = 0; digit < DIGITS; digit++) {
            int64_t count = positions[k][digit];
            positions[k][digit] = next;
            next += count;
        }
        for (int64_t i = 0; i < n; i++) to[positions[k][digit_of(from[i].hash, k)]++] = from[i];
        fcg_hashed_row *spare = from;
        from = to, to = spare;
    }
    for (int64_t i = 0; i < n; i++) order[i] = from[i].row;
}

/* Hashes that are sorted: first all by the last digit, in parts, then the rows of each digit. */
typedef struct {
    int64_t n, size;
    const uint64_t *hashes;
    fcg_hashed_row *room;
    int64_t *order;
    int64_t positions[64][DIGITS], first[DIGITS + 1]; /* by part and digit, and by digit */
} sorting;

static void count_part(void *context, int64_t part) {
    sorting *all = context;
    int64_t stop = (part + 1) * all->size;
    for (int64_t i = part * all->size; i < (stop < all->n ? stop : all->n); i++)
        all->positions[part][digit_of(all->hashes[i], LAST)]++;
}

static void deal_part(void *context, int64_t part) {
    sorting *all = context;
    int64_t stop = (part + 1) * all->size, *next = all->positions[part];
    for (int64_t i = part * all->size; i < (stop < all->n ? stop : all->n); i++)
        all->room[next[digit_of(all->hashes[i], LAST)]++] = (fcg_hashed_row){all->hashes[i], i};
}

static void sort_digit(void *context, int64_t digit) {
    const sorting *all = context;
    int64_t first = all->first[digit], n = all->first[digit + 1] - first;
    fcg_hashed_row *dealt = all->room + first;
    sort_rows(LAST, n, dealt, dealt + all->n, all->order + first);
}

void fcg_order(int64_t n, const uint64_t *hashes, fcg_hashed_row *room, int64_t *order) {
    if (n < MANY) {
        for (int64_t i = 0; i < n; i++) room[i] = (fcg_hashed_row){hashes[i], i};
        sort_rows(LAST + 1, n, room, room + n, order);
        return;
    }
    sorting all = {.n = n, .size = fcg_rows_a_part(n), .hashes = hashes, .room = room,
                   .order = order};
    int64_t n_parts = (n + all.size - 1) / all.size, next = 0;
    fcg_share(n_parts, count_part, &all);
    for (int digit = 0; digit < DIGITS; digit++) {
        all.first[digit] = next;
        for (int64_t part = 0; part < n_parts; part++) {
            int64_t count = all.positions[part][digit];
            all.positions[part][digit] = next;
            next += count;
        }
    }
    all.first[DIGITS] = next;
    fcg_share(n_parts, deal_part, &all);
    fcg_share(DIGITS, sort_digit, &all);
}

/* Rows that are copied to their new places. */
typedef struct {
    int64_t n, size;
    const char *X;
    const int64_t *rows;
    char *taken;
} taking;

static void take_part(void *context, int64_t part) {
    enum { AHEAD = 8 };
    const taking *all = context;
    int64_t stop = (part + 1) * PART;
    stop = stop < all->n ? stop : all->n;
    for (int64_t i = part * PART; i < stop; i++) {
        int64_t later = i + AHEAD < stop ? i + AHEAD : i;
        __builtin_prefetch(all->X + all->rows[later] * all->size);
        memcpy(all->taken + i * all->size, all->X + all->rows[i] * all->size, (size_t)all->size);
    }
}

void fcg_take_rows(int64_t n, int64_t size, const void *X, const int64_t *rows, void *taken) {
    taking all = {n, size, X, rows, taken};
    fcg_share((n + PART - 1) / PART, take_part, &all);
}

/* Rows, and the values of Gauss atoms there. */
typedef struct {
    int64_t n_rows, n_features, n_atoms;
    const double *X, *centers, *units;
    double *values;
} gauss_values;

static void gauss_part(void *context, int64_t part) {
    const gauss_values *all = context;
    int64_t n_features = all->n_features, n_atoms = all->n_atoms, stop = (part + 1) * PART;
    stop = stop < all->n_rows ? stop : all->n_rows;
    for (int64_t i = part * PART; i < stop; i++) {
        const double *x = all->X + i * n_features;
        for (int64_t a = 0; a < n_atoms; a++) {
            const double *c = all->centers + a * n_features, *u = all->units + a * n_features;
            double parts[2] = {0.0, 0.0};
            for (int64_t j = 0; j < n_features; j++) {
                double gap = (x[j] - c[j]) * u[j];
                parts[j & 1] += gap * gap;
            }
            all->values[i * n_atoms + a] = exp_of(-(parts[0] + parts[1]));
        }
    }
}

void fcg_gauss_values(int64_t n_rows, int64_t n_features, const double *X, int64_t n_atoms,
                      const double *centers, const double *units, double *values) {
    gauss_values all = {n_rows, n_features, n_atoms, X, centers, units, values};
    fcg_share((n_rows + PART - 1) / PART, gauss_part, &all);
}
