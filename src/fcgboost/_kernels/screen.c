/* Estimates in float32 that screen candidates, whose errors Python bounds (designs/scoring.py).
 *
 * Sums are float32 over at most BLOCK rows and float64 from there on. What comes out for one
 * candidate does not depend on which others it is computed with.
 */
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ROWS are taken at once: they share what is loaded of the candidates, and their products are
 * added up before they join a sum, which then rounds four times less often. TILE candidates side by
 * side: all of a tile's numbers for four rows fit the fastest cache. */
enum { BLOCK = 64, ROWS = 4, STORED_ROWS = 8, TILE = 256 };

/* 2^y for y <= 0, which is 0 below -126: float32 has fewer digits there, and processors may be
 * slow. The polynomial is off by 1.39 u at most, and exactly 1 at an atom's centre. */
static inline float power(float y) {
    y = y > -127.0f ? y : -127.0f;
    int32_t whole = (int32_t)y;
    whole -= (float)whole > y;
    float f = y - (float)whole;
    float p = 0.0018670102581381798f;
    p = p * f + 0.009017364121973515f;
    p = p * f + 0.055799588561058044f;
    p = p * f + 0.24016457796096802f;
    p = p * f + 0.6931512951850891f;
    p = p * f + 1.0f;
    /* The bits of a float that hold its exponent; all are 0 where whole is -127. */
    int32_t bits = (whole + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* Copy the next rows that have a residual; returns how many, rows that count 0 times included. */
static int64_t pack(int64_t n_rows, int64_t d, int64_t stride, const float *Z, int64_t n_outputs,
                    const float *R, int64_t *i, float *rows, float *residuals) {
    int64_t n = 0;
    for (; *i < n_rows && n < BLOCK; ++*i) {
        int has_residual = 0;
        for (int64_t o = 0; o < n_outputs; o++) has_residual |= R[*i * n_outputs + o] != 0.0f;
        if (!has_residual) continue;
        memcpy(rows + n * stride, Z + *i * d, (size_t)d * sizeof(float));
        memcpy(residuals + n * n_outputs, R + *i * n_outputs, (size_t)n_outputs * sizeof(float));
        n++;
    }
    for (; n % ROWS != 0; n++)
        memset(residuals + n * n_outputs, 0, (size_t)n_outputs * sizeof(float));
    return n;
}

/* Set the values of a tile's atoms at four rows. Differences cost about a tenth more time than
 * inner products, whose errors grow with the distance from the origin. */
static void set_values(int64_t stride, const float *rows, const float *tile,
                       float (*restrict values)[TILE]) {
    for (int64_t k = 0; k < stride; k += 2) {
        const float *restrict s = tile + k * TILE, *restrict t = s + TILE;
        for (int row = 0; row < ROWS; row++) {
            float a = rows[row * stride + k], b = rows[row * stride + k + 1];
            float *restrict own = values[row];
            if (k == 0) {
                for (int lane = 0; lane < TILE; lane++)
                    own[lane] = (a - s[lane]) * (a - s[lane]) + (b - t[lane]) * (b - t[lane]);
            } else {
                for (int lane = 0; lane < TILE; lane++)
                    own[lane] = own[lane] + (a - s[lane]) * (a - s[lane]) +
                                (b - t[lane]) * (b - t[lane]);
            }
        }
    }
    const float *restrict factors = tile + stride * TILE;
    for (int row = 0; row < ROWS; row++) {
        float *restrict own = values[row];
        for (int lane = 0; lane < TILE; lane++) own[lane] = power(factors[lane] * own[lane]);
    }
}

/* Add the products of four rows with one output's residuals. */
static void add_products(const float *r, int64_t step, float (*restrict values)[TILE],
                         float *restrict dots) {
    float r0 = r[0], r1 = r[step], r2 = r[2 * step], r3 = r[3 * step];
    for (int lane = 0; lane < TILE; lane++) {
        float g0 = values[0][lane], g1 = values[1][lane];
        float g2 = values[2][lane], g3 = values[3][lane];
        dots[lane] += (r0 * g0 + r1 * g1) + (r2 * g2 + r3 * g3);
    }
}

/* Add the sums of a tile to those of its candidates. */
static void add_sums(int64_t n, int64_t n_outputs, const float *sums, double *dots) {
    for (int64_t o = 0; o < n_outputs; o++)
        for (int64_t lane = 0; lane < n; lane++)
            dots[lane * n_outputs + o] += sums[o * TILE + lane];
}

int32_t fcg_gauss_dots(int64_t n_rows, int64_t n_features, const float *Z, int64_t n,
                       const float *centers, const float *factors, int64_t n_outputs,
                       const float *R, double *dots) {
    int64_t d = n_features, stride = (d + 1) / 2 * 2, n_tiles = (n + TILE - 1) / TILE;
    int64_t tile_size = (stride + 1) * TILE;
    size_t n_room = (size_t)(n_tiles * tile_size + BLOCK * (stride + n_outputs) +
                             n_outputs * TILE);
    float *tiles = calloc(n_room, sizeof(float)), values[ROWS][TILE];
    if (tiles == NULL) return -1;
    float *rows = tiles + n_tiles * tile_size, *residuals = rows + BLOCK * stride;
    float *sums = residuals + BLOCK * n_outputs;
    for (int64_t j = 0; j < n; j++) {
        float *tile = tiles + j / TILE * tile_size + j % TILE;
        for (int64_t k = 0; k < d; k++) tile[k * TILE] = centers[j * d + k];
        tile[stride * TILE] = factors[j];
    }
    for (int64_t i = 0; i < n_rows;) {
        int64_t n_packed = pack(n_rows, d, stride, Z, n_outputs, R, &i, rows, residuals);
        for (int64_t first = 0; first < n; first += TILE) {
            const float *tile = tiles + first / TILE * tile_size;
            memset(sums, 0, (size_t)(n_outputs * TILE) * sizeof(float));
            for (int64_t q = 0; q < n_packed; q += ROWS) {
                set_values(stride, rows + q * stride, tile, values);
                for (int64_t o = 0; o < n_outputs; o++)
                    add_products(residuals + q * n_outputs + o, n_outputs, values,
                                 sums + o * TILE);
            }
            add_sums(n - first < TILE ? n - first : TILE, n_outputs, sums,
                     dots + first * n_outputs);
        }
    }
    free(tiles);
    return 0;
}

int32_t fcg_stored_dots(int64_t n_columns, const float *G, int64_t n_rows, const int64_t *rows,
                        const float *r, int64_t start, int64_t n, double *dots) {
    float *restrict sums = malloc((size_t)(n > 0 ? n : 1) * sizeof(float));
    if (sums == NULL) return -1;
    for (int64_t first = 0; first < n_rows; first += BLOCK) {
        int64_t stop = first + BLOCK < n_rows ? first + BLOCK : n_rows;
        memset(sums, 0, (size_t)n * sizeof(float));
        for (int64_t q = first; q < stop; q += STORED_ROWS) {
            const float *g[STORED_ROWS], *s = r + q;
            for (int row = 0; row < STORED_ROWS; row++)
                g[row] = G + rows[q + row] * n_columns + start;
            for (int64_t j = 0; j < n; j++) {
                float upper = (s[0] * g[0][j] + s[1] * g[1][j]) + (s[2] * g[2][j] + s[3] * g[3][j]);
                float lower = (s[4] * g[4][j] + s[5] * g[5][j]) + (s[6] * g[6][j] + s[7] * g[7][j]);
                sums[j] += upper + lower;
            }
        }
        for (int64_t j = 0; j < n; j++) dots[j] += sums[j];
    }
    free(sums);
    return 0;
}
