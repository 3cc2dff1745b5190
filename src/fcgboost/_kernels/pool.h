/* Threads that help with the parts of a piece of work. */
#ifndef FCGBOOST_POOL_H
#define FCGBOOST_POOL_H

#include "kernels.h"

/* Work on one part of n_parts; parts run in any order, and several of them at once. */
typedef void part_work(void *context, int64_t part);

/* Work on all parts, in this thread and in those of the pool that have nothing else to do. Parts
 * may share their work in turn. What they do must be the same for any order of them. */
void fcg_share(int64_t n_parts, part_work *work, void *context);
/* Return how many threads may work at once, this one included. */
int64_t fcg_n_threads(void);

/* Rows in a part whose sums are added up in the order of parts: they depend on the number of rows
 * alone, so sums do not depend on threads. */
static inline int64_t fcg_rows_a_part(int64_t n_rows) {
    enum { LEAST = 1 << 14, MOST_PARTS = 64 };
    int64_t size = (n_rows + MOST_PARTS - 1) / MOST_PARTS;
    return size < LEAST ? LEAST : size;
}

#endif
