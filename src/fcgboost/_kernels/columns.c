/* Sums over the rows of columns, updated from one point to the next.
 *
 * Threads share the rows, in parts whose sums are added up in order, or the columns. Their numbers
 * alone say how they are divided.
 */
#include "columns.h"
#include "loss.h"

#include <math.h>

/* If a column has lost all but this share of its squared norm, the sums are recomputed. */
static const double LOSS = 1e-3;
enum { BLOCK = 1 << 17 };
/* The parts of the rows: how many, their least rows, and the most numbers that they add up. */
enum { PARTS = 64, LEAST_ROWS = 1 << 12, MOST_NUMBERS = 1 << 24 };
/* Columns of a product, and numbers that are worth another thread. */
enum { TILE = 64, MANY = 1 << 15 };

typedef fcg_columns columns;

/* What the parts of the rows share; each adds up its own sums. */
typedef struct {
    const columns *c;
    int64_t n_parts, size; /* the parts, and their rows */
    int64_t n_sums;
    double *sums;          /* (n_parts, n_sums) */
    int32_t is_short;      /* whether a part had not enough memory */
    const double *x;       /* what columns are multiplied by */
    double *out;
    point *to;
    double length;
    int64_t first; /* the first column */
    double risk[PARTS];
    int64_t n_changed[PARTS], n_active[PARTS];
} row_parts;

/* Divide the rows, so that the sums of all parts do not take too much memory. */
static row_parts parts_of(const columns *c, int64_t n_sums) {
    int64_t most = MOST_NUMBERS / (n_sums + 1) + 1, n_parts = most < PARTS ? most : PARTS;
    int64_t size = (c->m + n_parts - 1) / n_parts;
    size = size < LEAST_ROWS ? LEAST_ROWS : size;
    n_parts = (c->m + size - 1) / size;
    return (row_parts){.c = c, .n_parts = n_parts, .size = size, .n_sums = n_sums};
}

static int64_t end_of(const row_parts *all, int64_t part) {
    int64_t end = (part + 1) * all->size;
    return end < all->c->m ? end : all->c->m;
}

/* Let all parts add up their sums, and these in order, in the first part. Returns 0, or -1 if there
 * is not enough memory; the caller frees the sums. */
static int add_up(row_parts *all, part_work *work) {
    int64_t n = all->n_sums, n_parts = all->n_parts > 0 ? all->n_parts : 1;
    all->sums = calloc((size_t)(n_parts * n + 1), sizeof(double));
    if (!all->sums) return -1;
    fcg_share(all->n_parts, work, all);
    for (int64_t part = 1; part < n_parts; part++)
        for (int64_t i = 0; i < n; i++) all->sums[i] += all->sums[part * n + i];
    return all->is_short ? -1 : 0;
}

void fcg_share_columns(int64_t n_columns, int64_t n_numbers, part_work *work, void *context) {
    if (n_numbers >= MANY) {
        fcg_share(n_columns, work, context);
        return;
    }
    for (int64_t j = 0; j < n_columns; j++) work(context, j);
}

static void product_of_part(void *context, int64_t part) {
    const row_parts *all = context;
    const columns *c = all->c;
    int64_t start = part * all->size;
    int m = (int)c->m, k = (int)c->k, n_rows = (int)(end_of(all, part) - start), stride = 1;
    double unit = 1.0, zero = 0.0;
    c->blas->gemv("N", &n_rows, &k, &unit, c->A + start, &m, all->x, &stride, &zero,
                  all->out + start, &stride);
}

void fcg_product(const columns *c, const double *x, double *out) {
    row_parts all = parts_of(c, 0);
    all.x = x, all.out = out;
    if (c->k == 0) clear(c->m, out); /* BLAS would not write anything */
    else fcg_share(all.n_parts, product_of_part, &all);
}

static void back_of_part(void *context, int64_t part) {
    const row_parts *all = context;
    const columns *c = all->c;
    int64_t start = part * all->size;
    int m = (int)c->m, k = (int)c->k, n_rows = (int)(end_of(all, part) - start), stride = 1;
    double unit = 1.0, zero = 0.0;
    c->blas->gemv("T", &n_rows, &k, &unit, c->A + start, &m, all->x + start, &stride, &zero,
                  all->sums + part * k, &stride);
}

int fcg_back(const columns *c, const double *x, double *out) {
    row_parts all = parts_of(c, c->k);
    all.x = x;
    if (c->k == 0) return 0;
    int status = add_up(&all, back_of_part);
    if (!status) copy(c->k, all.sums, out);
    free(all.sums);
    return status;
}

/* Rows of all columns that are copied, one column after the other. */
typedef struct {
    const columns *c;
    int64_t n;
    const int64_t *rows;
    double *out;
} gathering;

static void gather_column(void *context, int64_t j) {
    const gathering *all = context;
    const double *column = all->c->A + j * all->c->m;
    for (int64_t i = 0; i < all->n; i++) all->out[j * all->n + i] = column[all->rows[i]];
}

static void note_peaks(columns *c) {
    for (int64_t j = 0; j < c->k; j++)
        if (c->gram[j * c->room + j] > c->peak[j]) c->peak[j] = c->gram[j * c->room + j];
}

/* Copy what is above the diagonal of the columns from `first` on. */
static void mirror(columns *c, int64_t first) {
    for (int64_t j = first; j < c->k; j++)
        for (int64_t i = 0; i < j; i++) c->gram[i * c->room + j] = c->gram[j * c->room + i];
}

/* Add up the Gram matrix above its diagonal, by blocks of active rows. */
static void renew_part(void *context, int64_t part) {
    row_parts *all = context;
    const columns *c = all->c;
    int64_t k = c->k, size = BLOCK / (k + 1) + 1, n = 0, end = end_of(all, part);
    int64_t *rows = indices(size);
    double *block = numbers(size * k), unit = 1.0;
    int n_columns = (int)k;
    for (int64_t i = part * all->size; rows && block && i <= end; i++) {
        if (i < end && c->h[i] > 0.0) rows[n++] = i;
        if (n && (n == size || i == end)) {
            int n_rows = (int)n;
            gathering active = {c, n, rows, block};
            for (int64_t j = 0; j < k; j++) gather_column(&active, j);
            for (int64_t j = 0; j < k; j++)
                for (int64_t r = 0; r < n; r++) block[j * n + r] *= sqrt(c->h[rows[r]]);
            c->blas->syrk("U", "T", &n_columns, &n_rows, &unit, block, &n_rows, &unit,
                          all->sums + part * k * k, &n_columns);
            n = 0;
        }
    }
    if (!rows || !block) __atomic_store_n(&all->is_short, 1, __ATOMIC_RELAXED);
    free(rows), free(block);
}

/* Recompute the Gram matrix. */
static int renew(columns *c) {
    if (c->k == 0) return 0;
    row_parts all = parts_of(c, c->k * c->k);
    int status = add_up(&all, renew_part);
    for (int64_t j = 0; j < c->k && !status; j++) {
        copy(j + 1, all.sums + j * c->k, c->gram + j * c->room);
        c->peak[j] = 0.0;
    }
    free(all.sums);
    if (status) return status;
    mirror(c, 0);
    note_peaks(c);
    c->n_updates = 0;
    return 0;
}

/* Add up the new columns of the Gram matrix, by blocks of rows, then their gradients. */
static void extend_part(void *context, int64_t part) {
    row_parts *all = context;
    const columns *c = all->c;
    int64_t first = all->first, start = part * all->size, end = end_of(all, part);
    int64_t n_new = c->k - first, size = BLOCK / (n_new + 1) + 1;
    int k = (int)c->k, n_columns = (int)n_new, m = (int)c->m;
    double *weighted = numbers(size * n_new), *sums = all->sums + part * all->n_sums, unit = 1.0;
    for (int64_t j = 0; j < n_new; j++)
        sums[n_new * k + j] = dot(end - start, c->A + (first + j) * c->m + start, c->g + start);
    for (int64_t i = start; weighted && i < end; i += size) {
        int n_rows = (int)(end - i < size ? end - i : size);
        for (int64_t j = 0; j < n_new; j++)
            for (int64_t r = 0; r < n_rows; r++)
                weighted[j * n_rows + r] = c->h[i + r] * c->A[(first + j) * c->m + i + r];
        c->blas->gemm("T", "N", &k, &n_columns, &n_rows, &unit, c->A + i, &m, weighted, &n_rows,
                      &unit, sums, &k);
    }
    if (!weighted) __atomic_store_n(&all->is_short, 1, __ATOMIC_RELAXED);
    free(weighted);
}

int fcg_extend(columns *c) {
    int64_t n_old = c->n_known, n_new = c->k - n_old;
    row_parts all = parts_of(c, n_new * (c->k + 1));
    all.first = n_old;
    int status = add_up(&all, extend_part);
    for (int64_t j = n_old; j < c->k && !status; j++) {
        copy(c->k, all.sums + (j - n_old) * c->k, c->gram + j * c->room);
        c->gradient[j] = all.sums[n_new * c->k + j - n_old];
        c->coef[j] = c->peak[j] = 0.0;
    }
    free(all.sums);
    if (status) return status;
    mirror(c, n_old);
    c->n_known = c->k;
    note_peaks(c);
    return 0;
}

/* The Gram matrix as the rows that changed alter it, and their columns times the change. */
typedef struct {
    columns *c;
    const point *to;
    double *weighted;
} following;

/* Update some columns of the Gram matrix, above its diagonal. */
static void follow_tile(void *context, int64_t tile) {
    const following *all = context;
    columns *c = all->c;
    const point *to = all->to;
    int64_t n = to->n_changed, first = tile * TILE;
    int64_t stop = first + TILE < c->k ? first + TILE : c->k;
    int n_rows = (int)n, n_above = (int)stop, n_columns = (int)(stop - first), ld = (int)c->room;
    double unit = 1.0;
    for (int64_t j = first; j < stop; j++)
        for (int64_t r = 0; r < n; r++) {
            double step = to->h[to->changed[r]] - c->h[to->changed[r]];
            all->weighted[j * n + r] = step * to->rows[j * n + r];
        }
    c->blas->gemm("T", "N", &n_above, &n_columns, &n_rows, &unit, to->rows, &n_rows,
                  all->weighted + first * n, &n_rows, &unit, c->gram + first * c->room, &ld);
}

/* Update the Gram matrix by the rows that changed. */
static int follow(columns *c, const point *to) {
    int64_t n_numbers = to->n_changed * c->k;
    following all = {c, to, numbers(n_numbers)};
    if (!all.weighted) return -1;
    if (to->n_changed) {
        fcg_share_columns((c->k + TILE - 1) / TILE, n_numbers, follow_tile, &all);
        mirror(c, 0);
        c->n_updates++;
    }
    free(all.weighted);
    return 0;
}

static void copy_part(void *context, int64_t part) {
    const row_parts *all = context;
    const columns *c = all->c;
    int64_t start = part * all->size, n = end_of(all, part) - start;
    copy(n, all->to->f + start, c->f + start);
    copy(n, all->to->g + start, c->g + start);
    copy(n, all->to->h + start, c->h + start);
}

int fcg_accept(columns *c, point *to) {
    int status = to->rows ? follow(c, to) : 0, is_lost = !to->rows || c->n_updates >= FCG_UPDATES;
    row_parts all = parts_of(c, 0);
    all.to = to;
    fcg_share(all.n_parts, copy_part, &all);
    copy(c->k, to->coef, c->coef), copy(c->k, to->gradient, c->gradient);
    c->risk = to->risk;
    for (int64_t j = 0; j < c->k; j++) is_lost |= c->gram[j * c->room + j] < LOSS * c->peak[j];
    if (is_lost) return status ? status : renew(c);
    note_peaks(c);
    return status;
}

/* Move rows along a line, if there is one; compute their slopes, curvatures and risk, and list
 * those whose curvature changes. */
static void look_at_part(void *context, int64_t part) {
    row_parts *all = context;
    const columns *c = all->c;
    const point *to = all->to;
    const double *restrict y = c->y, *restrict shares = c->shares;
    double *restrict f = to->f, *restrict g = to->g, *restrict h = to->h;
    double *restrict losses = to->rest;
    int64_t start = part * all->size, end = end_of(all, part), n = 0, n_active = 0;
    for (int64_t i = start; all->x && i < end; i++) f[i] = c->f[i] + all->length * all->x[i];
    for (int64_t i = start; i < end; i++) {
        double r = fcg_shortfall(c->bend, y[i], f[i]), s = fcg_bent(c->bend, r);
        losses[i] = s * (2.0 * r - s);
        g[i] = shares[i] * (-2.0 * s);
        h[i] = shares[i] * fcg_curvature(c->bend, r);
    }
    all->risk[part] = dot(end - start, shares + start, losses + start);
    for (int64_t i = start; i < end; i++) {
        to->changed[start + n] = i;
        /* From the tail to beyond the margin the slope changes alone. */
        n += h[i] != c->h[i] || (h[i] == 0.0 && g[i] != c->g[i]);
        n_active += h[i] > 0.0;
    }
    all->n_changed[part] = n;
    all->n_active[part] = n_active;
}

int fcg_look_at(const columns *c, point *to, const double *along, double length) {
    row_parts all = parts_of(c, 0);
    int64_t n_active = 0, n = 0;
    all.to = to, all.x = along, all.length = length;
    fcg_share(all.n_parts, look_at_part, &all);
    to->risk = 0.0;
    for (int64_t part = 0; part < all.n_parts; part++) {
        to->risk += all.risk[part];
        n_active += all.n_active[part];
        memmove(to->changed + n, to->changed + part * all.size,
                (size_t)all.n_changed[part] * sizeof(int64_t));
        n += all.n_changed[part];
    }
    to->n_changed = n;
    free(to->rows), to->rows = NULL;
    if (2 * to->n_changed > n_active) return 0;
    to->rows = numbers(to->n_changed * c->k);
    if (!to->rows) return -1;
    gathering changed = {c, n, to->changed, to->rows};
    fcg_share_columns(c->k, n * c->k, gather_column, &changed);
    return 0;
}
