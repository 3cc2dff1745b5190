/* The order of splits in a tree grown in rounds. */
#include "kernels.h"

/* A node that may be split: its gain, and its position in the tree. */
typedef struct {
    double gain;
    int64_t number, node;
} entry;

/* Whether one entry precedes another: by a larger gain, or else by its position. */
static int is_before(const entry *a, const entry *b) {
    return a->gain != b->gain ? a->gain > b->gain : a->number < b->number;
}

static void push(entry *heap, int64_t *n, entry added) {
    int64_t at = (*n)++;
    for (; at > 0 && is_before(&added, heap + (at - 1) / 2); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = added;
}

static entry pop(entry *heap, int64_t *n) {
    entry first = heap[0], last = heap[--*n];
    int64_t at = 0, child;
    while ((child = 2 * at + 1) < *n) {
        child += child + 1 < *n && is_before(heap + child + 1, heap + child);
        if (!is_before(heap + child, &last)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

int64_t fcg_plan_tree(int64_t max_leaves, const double *gains, const int64_t *children,
                      void *room, int64_t *order, int64_t *lefts, int64_t *n_wanted,
                      int64_t *wanted) {
    entry *heap = room;
    int64_t n_heap = 0, n_order = 1, n_leaves = 1;
    order[0] = *n_wanted = 0;
    lefts[0] = 0;
    if (gains[0] >= 0.0 && max_leaves != 1) push(heap, &n_heap, (entry){gains[0], 0, 0});
    while (n_heap && n_leaves++ != max_leaves) {
        entry best = pop(heap, &n_heap);
        int64_t left = children[best.node];
        if (!left) {
            wanted[(*n_wanted)++] = best.node;
            continue;
        }
        lefts[best.number] = n_order;
        for (int64_t child = left; child < left + 2; child++, n_order++) {
            double gain = max_leaves && gains[child] >= 0.0 ? gains[child] : 0.0;
            order[n_order] = child;
            lefts[n_order] = 0;
            if (gains[child] >= 0.0) push(heap, &n_heap, (entry){gain, n_order, child});
        }
    }
    return n_order;
}
