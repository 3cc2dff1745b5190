/* Raw rows: their fingerprints, the order of fingerprints, and the values of a few Gauss atoms. */
#include "exp.h"
#include "kernels.h"

#include <string.h>

static inline uint64_t mix(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

void fcg_fingerprint(int64_t n_rows, int64_t n_features, const double *X, const uint64_t *columns,
                     uint64_t *hashes) {
    for (int64_t i = 0; i < n_rows; i++, X += n_features) {
        uint64_t total = 0;
        for (int64_t j = 0; j < n_features; j++) {
            uint64_t bits;
            memcpy(&bits, X + j, sizeof bits);
            total += X[j] == 0.0 ? 0 : mix(bits ^ columns[j]);
        }
        hashes[i] = mix(total);
    }
}

void fcg_order(int64_t n, const uint64_t *hashes, fcg_hashed_row *room, int64_t *order) {
    enum { BITS = 8, N_DIGITS = 64 / BITS, LAST = (1 << BITS) - 1 };
    int64_t positions[N_DIGITS][LAST + 1] = {{0}};
    fcg_hashed_row *from = room, *to = room + n;
    for (int64_t i = 0; i < n; i++) {
        from[i] = (fcg_hashed_row){hashes[i], i};
        for (int k = 0; k < N_DIGITS; k++) positions[k][(hashes[i] >> (BITS * k)) & LAST]++;
    }
    /* Least significant digit first; every pass is stable. */
    for (int k = 0; k < N_DIGITS; k++) {
        int64_t next = 0;
        for (int digit = 0; digit <= LAST; digit++) {
            int64_t count = positions[k][digit];
            positions[k][digit] = next;
            next += count;
        }
        for (int64_t i = 0; i < n; i++)
            to[positions[k][(from[i].hash >> (BITS * k)) & LAST]++] = from[i];
        fcg_hashed_row *spare = from;
        from = to, to = spare;
    }
    for (int64_t i = 0; i < n; i++) order[i] = from[i].row;
}

void fcg_gauss_values(int64_t n_rows, int64_t n_features, const double *X, int64_t n_atoms,
                      const double *centers, const double *units, double *values) {
    for (int64_t i = 0; i < n_rows; i++, X += n_features) {
        for (int64_t a = 0; a < n_atoms; a++) {
            const double *c = centers + a * n_features, *u = units + a * n_features;
            double parts[2] = {0.0, 0.0};
            for (int64_t j = 0; j < n_features; j++) {
                double gap = (X[j] - c[j]) * u[j];
                parts[j & 1] += gap * gap;
            }
            values[i * n_atoms + a] = exp_of(-(parts[0] + parts[1]));
        }
    }
}
