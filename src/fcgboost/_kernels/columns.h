/* The columns of one output at some points: values, sums over rows, and how they change. */
#ifndef FCGBOOST_COLUMNS_H
#define FCGBOOST_COLUMNS_H

#include "pool.h"

#include <stdlib.h>
#include <string.h>

/* After so many updates the sums are recomputed. */
enum { FCG_UPDATES = 64 };

/* A point on a line from the last point of the columns. */
typedef struct {
    double *coef, *gradient;      /* (k,) */
    double *f, *g, *h, *rest;     /* (m,) */
    int64_t n_changed, *changed;  /* rows whose curvature or slope in the tail differs */
    double *rows;                 /* their columns, (k, n_changed); NULL if sums are recomputed */
    double risk;
} point;

static inline double *numbers(int64_t n) { return malloc((size_t)(n + 1) * sizeof(double)); }

static inline int64_t *indices(int64_t n) { return malloc((size_t)(n + 1) * sizeof(int64_t)); }

static inline void copy(int64_t n, const double *from, double *to) {
    memcpy(to, from, (size_t)n * sizeof(double));
}

static inline void clear(int64_t n, double *x) { memset(x, 0, (size_t)n * sizeof(double)); }

static inline double dot(int64_t n, const double *a, const double *b) {
    double parts[4] = {0.0, 0.0, 0.0, 0.0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int l = 0; l < 4; l++) parts[l] += a[i + l] * b[i + l];
    for (; i < n; i++) parts[0] += a[i] * b[i];
    return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

/* Share columns among threads, if they have many numbers. */
void fcg_share_columns(int64_t n_columns, int64_t n_numbers, part_work *work, void *context);
/* out = A x. */
void fcg_product(const fcg_columns *c, const double *x, double *out);

/* The following return 0, or -1 if there is not enough memory. */

/* out = A^T x. */
int fcg_back(const fcg_columns *c, const double *x, double *out);
/* Extend the sums to new columns. */
int fcg_extend(fcg_columns *c);
/* Look at to->f or, with `along`, at a point of that line, and gather the rows that changed if they
 * are few enough for updating the sums. */
int fcg_look_at(const fcg_columns *c, point *to, const double *along, double length);
/* Move the columns to a point. */
int fcg_accept(fcg_columns *c, point *to);

#endif
