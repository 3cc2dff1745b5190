/* Trees grown on binned rows, level by level or best split first.
 *
 * Residuals and weights are quantised, and both sums of a bin share one integer: a row costs one
 * addition per bin, sums over rows are exact in any order, and the sums of a node are exactly those
 * of its parent minus those of its sibling.
 *
 * With several threads, some nodes are split ahead of their turn. What is in the tree is decided in
 * order all the same: a node whose turn never comes is a leaf again.
 */
#include "pool.h"
#include "trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many rows ahead memory is prefetched. */
enum { AHEAD = 16 };
/* Up to this many rows, clearing a histogram costs more than filling it. */
enum { FEW = 256 };
/* Rows of a node that are worth another thread, numbers of histograms that are added up at once,
 * and leaves that are finished at once. */
enum { PART = 1 << 11, CHUNK = 1 << 10, LEAVES = 16 };
/* Nodes in work at once: per thread where all of them will be in the tree, since some have more
 * rows than others, and the most of them and of the numbers of their histograms. */
enum { NODES_A_THREAD = 8, MOST_NODES = 48, MOST_NUMBERS = 1 << 24 };
/* How many nodes per place in work may be split in vain. */
enum { VAIN = 4 };

/* The splits in work: a node that is split, and its own work space. */
typedef struct {
    growth *tree;
    tree_node *node;
    int is_last; /* whether the children need no splits */
    pair *histogram;     /* zero between uses */
    uint64_t *occupied;  /* (n_columns, 4): the codes that occur among the rows of a node */
} slot;

static void clear(const growth *tree, pair *histogram) {
    memset(histogram, 0, (size_t)tree->n_pairs * sizeof(pair));
}

/* Add rows to a histogram of all columns. */
static void add_rows(const growth *tree, int64_t start, int64_t stop, pair *restrict histogram) {
    int64_t n_columns = tree->bins->n_columns;
    const uint8_t *codes = tree->bins->codes;
    for (int64_t i = start; i < stop; i++) {
        const uint8_t *row = codes + tree->order[i] * n_columns;
        pair value = tree->rows[tree->order[i]];
        /* Not beyond the node, whose neighbours other threads may be dividing. */
        int32_t later = tree->order[i + AHEAD < stop ? i + AHEAD : i];
        __builtin_prefetch(codes + later * n_columns);
        __builtin_prefetch(tree->rows + later);
        pair *column = histogram;
        int64_t j = 0;
        for (; j + 4 <= n_columns; j += 4, column += 4 * N_BINS) {
            column[row[j]] += value;
            column[N_BINS + row[j + 1]] += value;
            column[2 * N_BINS + row[j + 2]] += value;
            column[3 * N_BINS + row[j + 3]] += value;
        }
        for (; j < n_columns; j++, column += N_BINS) column[row[j]] += value;
    }
}

/* The rows of a node in equal parts, each with a histogram, and the rows that go left. */
typedef struct {
    const growth *tree;
    const tree_node *node;
    int64_t n_parts;
    pair *histogram, *others; /* of the first part, and of the others */
    const uint8_t *is_left;
    int64_t n_left[64], left[64], right[64]; /* and where those of each part go */
} node_parts;

static int64_t start_of(const node_parts *all, int64_t part) {
    return all->node->start + (all->node->stop - all->node->start) * part / all->n_parts;
}

/* Return into how many parts a node is divided: integers add up to the same sums in any parts. */
static int64_t n_parts_of(const tree_node *node) {
    int64_t n = (node->stop - node->start) / PART;
    n = n < node->n_threads ? n : node->n_threads;
    return n < 1 ? 1 : n < 64 ? n : 64;
}

static void fill_part(void *context, int64_t part) {
    const node_parts *all = context;
    pair *histogram = all->histogram;
    if (part) {
        histogram = all->others + (part - 1) * all->tree->n_pairs;
        clear(all->tree, histogram);
    }
    add_rows(all->tree, start_of(all, part), start_of(all, part + 1), histogram);
}

/* Add some numbers of the other histograms to the first. */
static void add_others(void *context, int64_t chunk) {
    const node_parts *all = context;
    int64_t n_pairs = all->tree->n_pairs, first = chunk * CHUNK, stop = first + CHUNK;
    stop = stop < n_pairs ? stop : n_pairs;
    for (int64_t part = 1; part < all->n_parts; part++) {
        const pair *other = all->others + (part - 1) * n_pairs;
        for (int64_t k = first; k < stop; k++) all->histogram[k] += other[k];
    }
}

/* Add the rows of a node to a histogram of all columns, which is zero on entry. */
static void fill_histogram(const growth *tree, const tree_node *node, pair *restrict histogram) {
    node_parts all = {.tree = tree, .node = node, .histogram = histogram};
    int64_t most = MOST_NUMBERS / (tree->n_at_once * tree->n_pairs + 1);
    all.n_parts = n_parts_of(node);
    all.n_parts = all.n_parts < most + 1 ? all.n_parts : most + 1;
    if (all.n_parts > 1)
        all.others = malloc((size_t)((all.n_parts - 1) * tree->n_pairs) * sizeof(pair));
    if (!all.others) {
        add_rows(tree, node->start, node->stop, histogram);
        return;
    }
    fcg_share(all.n_parts, fill_part, &all);
    fcg_share((tree->n_pairs + CHUNK - 1) / CHUNK, add_others, &all);
    free(all.others);
}

/* Whether a node is large enough to be split. */
static int is_open(const growth *tree, const tree_node *node) {
    return node->depth < tree->rules->depth && weight_of(node->total) >= 2 * tree->min_leaf;
}

/* Return space for the histogram of a node; NULL if there is none left. */
static pair *take_room(growth *tree) {
    int64_t number = __atomic_sub_fetch(&tree->n_room, 1, __ATOMIC_RELAXED);
    return number >= 0 ? tree->room + number * tree->n_pairs : NULL;
}

/* Find the split of a node with few rows: only their bins are visited, and cleared afterwards. */
static void open_small(const slot *own, tree_node *node) {
    const growth *tree = own->tree;
    if (!is_open(tree, node)) return;
    int64_t n_columns = tree->bins->n_columns;
    memset(own->occupied, 0, (size_t)(4 * n_columns) * sizeof(uint64_t));
    for (int64_t i = node->start; i < node->stop; i++) {
        const uint8_t *row = tree->bins->codes + tree->order[i] * n_columns;
        pair value = tree->rows[tree->order[i]];
        for (int64_t j = 0; j < n_columns; j++) {
            own->histogram[j * N_BINS + row[j]] += value;
            own->occupied[4 * j + (row[j] >> 6)] |= (uint64_t)1 << (row[j] & 63);
        }
    }
    fcg_find_split(tree, node, own->histogram, own->occupied);
    for (int64_t i = node->start; i < node->stop; i++) {
        const uint8_t *row = tree->bins->codes + tree->order[i] * n_columns;
        for (int64_t j = 0; j < n_columns; j++) own->histogram[j * N_BINS + row[j]] = 0;
    }
}

/* Fill the histogram of a node and find its split. */
static void open_node(const slot *own, tree_node *node) {
    growth *tree = own->tree;
    if (!node->histogram) node->histogram = take_room(tree);
    pair *histogram = node->histogram ? node->histogram : own->histogram;
    clear(tree, histogram);
    fill_histogram(tree, node, histogram);
    fcg_find_split(tree, node, histogram, NULL);
    if (histogram == own->histogram) clear(tree, histogram);
}

/* Find the splits of two children: the histogram of the smaller one is filled from its rows, that
 * of the larger one obtained by subtraction. */
static void open_children(const slot *own, tree_node *parent, tree_node *first) {
    growth *tree = own->tree;
    tree_node *small = first + (first[1].stop - first[1].start < first->stop - first->start);
    tree_node *large = small == first ? first + 1 : first;
    pair *above = parent->histogram;
    parent->histogram = NULL;
    if (parent->stop - parent->start <= FEW) {
        open_small(own, first);
        open_small(own, first + 1);
        return;
    }
    if (!is_open(tree, large)) {
        if (is_open(tree, small)) small->histogram = above, open_node(own, small);
        return;
    }
    if (!above) {
        if (is_open(tree, small)) open_node(own, small);
        open_node(own, large);
        return;
    }
    small->histogram = is_open(tree, small) ? take_room(tree) : NULL;
    pair *less = small->histogram ? small->histogram : own->histogram;
    clear(tree, less);
    fill_histogram(tree, small, less);
    large->histogram = above;
    for (int64_t k = 0; k < tree->n_pairs; k++) above[k] -= less[k];
    if (is_open(tree, small)) fcg_find_split(tree, small, less, NULL);
    fcg_find_split(tree, large, above, NULL);
    if (less == own->histogram) clear(tree, less);
}

/* Write the rows of a part that go left, and from the end on those that go right; return how many
 * go left. */
static int64_t divide(const node_parts *all, int64_t start, int64_t stop) {
    const growth *tree = all->tree;
    const fcg_bins *bins = tree->bins;
    const uint8_t *codes = bins->codes + bins->column[all->node->feature];
    int64_t n_left = start, n_right = stop, n_columns = bins->n_columns;
    for (int64_t i = start; i < stop; i++) {
        int32_t row = tree->order[i];
        int64_t left = all->is_left[codes[row * n_columns]];
        tree->divided[n_left] = tree->divided[n_right - 1] = row;
        n_left += left, n_right -= 1 - left;
    }
    return n_left - start;
}

static void divide_part(void *context, int64_t part) {
    node_parts *all = context;
    all->n_left[part] = divide(all, start_of(all, part), start_of(all, part + 1));
}

static void copy_rows(int32_t *to, const int32_t *from, int64_t n) {
    memcpy(to, from, (size_t)n * sizeof(int32_t));
}

/* Put the rows of a part in their places, in their order. */
static void place_part(void *context, int64_t part) {
    const node_parts *all = context;
    const growth *tree = all->tree;
    int64_t start = start_of(all, part), stop = start_of(all, part + 1);
    int64_t n_left = all->n_left[part], n_right = stop - start - n_left;
    int32_t *right = tree->order + all->right[part];
    copy_rows(tree->order + all->left[part], tree->divided + start, n_left);
    for (int64_t i = 0; i < n_right; i++) right[i] = tree->divided[stop - 1 - i];
}

/* Divide the rows of a node among its children, keeping their order. */
static void part_rows(const growth *tree, const tree_node *node, tree_node *children) {
    uint8_t is_left[N_BINS];
    node_parts all = {.tree = tree, .node = node, .is_left = is_left};
    all.n_parts = n_parts_of(node);
    for (int code = 0; code < N_BINS; code++)
        is_left[code] = (node->goes_left[code >> 6] >> (code & 63)) & 1;
    fcg_share(all.n_parts, divide_part, &all);
    int64_t end = node->start;
    for (int64_t part = 0; part < all.n_parts; end += all.n_left[part++]) all.left[part] = end;
    for (int64_t part = 0; part < all.n_parts; part++)
        all.right[part] = end + start_of(&all, part) - all.left[part];
    fcg_share(all.n_parts, place_part, &all);
    children[0].start = node->start;
    children[0].stop = children[1].start = end;
    children[1].stop = node->stop;
}

/* Split a node whose children have a place, and find the splits of these. */
static void split(void *context, int64_t number) {
    const slot *own = (const slot *)context + number;
    growth *tree = own->tree;
    tree_node *node = own->node, *children = tree->nodes + node->children;
    memset(children, 0, 2 * sizeof(tree_node));
    children[0].total = node->left;
    children[1].total = node->total - node->left;
    children[0].feature = children[1].feature = -1;
    children[0].n_threads = children[1].n_threads = node->n_threads;
    children[0].depth = children[1].depth = node->depth + 1;
    part_rows(tree, node, children);
    if (!own->is_last) open_children(own, node, children);
}

/* The tree as it is decided: its nodes in their order. */
typedef struct {
    growth *tree;
    slot *slots;
    pair *histograms;   /* of all slots, as the next */
    uint64_t *occupied;
    int64_t n_slots, n_ahead; /* how many nodes are split ahead of their turn */
    int64_t n_order, *order, *lefts; /* and the numbers of their left children, 0 for leaves */
} course;

/* Return the number of the node to split next: the one with the largest gain or, without a limit of
 * leaves, the first. If there is none, return the number of nodes. */
static int64_t choose_node(const course *way, int64_t first) {
    const growth *tree = way->tree;
    int64_t best = way->n_order;
    for (int64_t i = first; i < way->n_order; i++) {
        const tree_node *node = tree->nodes + way->order[i];
        if (node->feature < 0 || way->lefts[i]) continue;
        if (tree->rules->max_leaves == 0) return i;
        if (best == way->n_order || node->score > tree->nodes[way->order[best]].score) best = i;
    }
    return best;
}

/* Add the nodes with the largest gains, or the first, of those that have no children yet, in the
 * tree or ahead of it, to the first in work. Returns how many are in work, `most` at most. */
static int64_t add_ahead(const course *way, int64_t most) {
    const growth *tree = way->tree;
    slot *slots = way->slots;
    int64_t n = 1;
    for (tree_node *node = tree->nodes; node < tree->nodes + tree->n_nodes && most > 1; node++) {
        if (node->feature < 0 || node->children || node == slots[0].node) continue;
        if (n < most) n++;
        else if (!tree->rules->max_leaves || node->score <= slots[n - 1].node->score) continue;
        int64_t at = n - 1;
        for (; tree->rules->max_leaves && at > 1 && node->score > slots[at - 1].node->score; at--)
            slots[at].node = slots[at - 1].node;
        slots[at].node = node;
    }
    return n;
}

/* Split a node and, in other threads, those that may come next. */
static void split_several(course *way, tree_node *node, int64_t n_left) {
    growth *tree = way->tree;
    int64_t most = way->n_slots, n_useful = n_left + VAIN * most - way->n_ahead, n_rows = 0;
    most = most < n_left ? most : n_left;
    way->slots[0].node = node;
    int64_t n = add_ahead(way, most < n_useful ? most : n_useful);
    for (int64_t k = 0; k < n; k++) n_rows += way->slots[k].node->stop - way->slots[k].node->start;
    for (int64_t k = 0; k < n; k++) {
        node = way->slots[k].node;
        /* As many threads as its share of the rows. */
        node->n_threads = 1 + tree->n_threads * (node->stop - node->start - 1) / n_rows;
        node->children = tree->n_nodes;
        tree->n_nodes += 2;
        way->slots[k].is_last = n_left == 1;
    }
    way->n_ahead += n;
    tree->n_at_once = n < tree->n_threads ? n : tree->n_threads;
    fcg_share(n, split, way->slots);
}

static void grow(course *way) {
    growth *tree = way->tree;
    int64_t n_leaves = 1, most = tree->rules->max_leaves, next = 0;
    way->n_order = 1;
    way->order[0] = way->lefts[0] = 0;
    tree->nodes->n_threads = tree->n_threads;
    if (most != 1 && is_open(tree, tree->nodes)) {
        open_node(way->slots, tree->nodes);
        if (tree->rules->looks_ahead) fcg_look_ahead(tree, tree->nodes);
    }
    while ((next = choose_node(way, most ? 0 : next)) < way->n_order) {
        tree_node *node = tree->nodes + way->order[next];
        if (!node->children) split_several(way, node, most ? most - n_leaves : INT64_MAX / 2);
        way->n_ahead--;
        way->lefts[next] = way->n_order;
        for (int64_t child = node->children; child < node->children + 2; child++) {
            way->lefts[way->n_order] = 0;
            way->order[way->n_order++] = child;
        }
        if (++n_leaves == most) break;
    }
}

/* Restore the order of the rows of a node whose split is not used. */
static void merge_rows(const growth *tree, const tree_node *nodes, const tree_node *node) {
    const tree_node *children = nodes + node->children;
    for (int k = 0; k < 2; k++)
        if (children[k].children) merge_rows(tree, nodes, children + k);
    int64_t a = node->start, b = children[1].start, at = node->start;
    copy_rows(tree->divided + node->start, tree->order + node->start, node->stop - node->start);
    while (at < node->stop) {
        int is_left = b == node->stop ||
                      (a < children[0].stop && tree->divided[a] < tree->divided[b]);
        tree->order[at++] = is_left ? tree->divided[a++] : tree->divided[b++];
    }
}

/* What finishes the leaves: all nodes that were split, the left children of those of the tree, the
 * numbers of nodes as leaves, and those of the rows. */
typedef struct {
    const growth *tree;
    const tree_node *nodes;
    const double *weights;
    const int64_t *lefts, *numbers;
    int64_t leaf_size;
    void *leaves;
} finish;

static void finish_leaf(const finish *all, int64_t k) {
    const growth *tree = all->tree;
    tree_node *node = tree->nodes + k;
    node->weight = weight_of(node->total) * tree->rules->unit;
    if (!tree->rules->is_exact) {
        /* The last digits of the sum depend on the order. */
        if (node->children) merge_rows(tree, all->nodes, node);
        node->weight = 0.0;
        for (int64_t i = node->start; i < node->stop; i++)
            node->weight += all->weights[tree->order[i]];
    }
    uint8_t *narrow = all->leaf_size == 1 ? all->leaves : NULL;
    uint16_t *wide = all->leaf_size == 2 ? all->leaves : NULL;
    for (int64_t i = node->start; narrow && i < node->stop; i++)
        narrow[tree->order[i]] = (uint8_t)all->numbers[k];
    for (int64_t i = node->start; wide && i < node->stop; i++)
        wide[tree->order[i]] = (uint16_t)all->numbers[k];
}

static void finish_leaves(void *context, int64_t part) {
    const finish *all = context;
    const growth *tree = all->tree;
    for (int64_t k = part * LEAVES; k < tree->n_nodes && k < (part + 1) * LEAVES; k++) {
        if (all->lefts[k] == 0) finish_leaf(all, k);
        tree->nodes[k].children = all->lefts[k];
    }
}

/* Keep the nodes of the tree, in their order, and write the leaf number of each row. Returns 0, or
 * -1 if there is not enough memory. */
static int settle(course *way, const double *weights, int64_t leaf_size, void *leaves) {
    growth *tree = way->tree;
    int64_t n = way->n_order, n_leaves = 0;
    tree_node *all_nodes = tree->nodes, *nodes = malloc((size_t)n * sizeof(tree_node));
    if (!nodes) return -1;
    for (int64_t k = 0; k < n; k++) {
        nodes[k] = all_nodes[way->order[k]];
        way->order[k] = n_leaves; /* from here on the number as a leaf */
        n_leaves += way->lefts[k] == 0;
    }
    tree->nodes = nodes;
    tree->n_nodes = n;
    finish all = {tree, all_nodes, weights, way->lefts, way->order, leaf_size, leaves};
    fcg_share((n + LEAVES - 1) / LEAVES, finish_leaves, &all);
    free(all_nodes);
    return 0;
}

/* Take memory for a tree of at most max_nodes nodes. Returns 0, or -1 if there is not enough. */
static int make_room(course *way, int64_t max_nodes) {
    growth *tree = way->tree;
    int64_t n_columns = tree->bins->n_columns, n_slots = MOST_NUMBERS / (tree->n_pairs + 1);
    size_t n_rows = (size_t)tree->bins->n_rows + 1;
    tree->n_threads = tree->bins->n_rows < 8 * PART ? 1 : fcg_n_threads();
    tree->n_at_once = 1;
    int64_t wanted = tree->n_threads;
    if (wanted > 1 && tree->rules->max_leaves == 0) wanted *= NODES_A_THREAD;
    wanted = wanted < MOST_NODES ? wanted : MOST_NODES;
    way->n_slots = n_slots < 1 ? 1 : n_slots < wanted ? n_slots : wanted;
    /* At most as many again are split in vain, and some more. */
    size_t n_nodes = (size_t)(2 * max_nodes + 2 * VAIN * way->n_slots + 2);
    tree->rows = malloc(n_rows * sizeof(pair));
    tree->order = malloc(n_rows * sizeof(int32_t));
    tree->divided = malloc(n_rows * sizeof(int32_t));
    tree->nodes = malloc(n_nodes * sizeof(tree_node));
    way->order = malloc(2 * n_nodes * sizeof(int64_t));
    way->slots = malloc((size_t)way->n_slots * sizeof(slot));
    pair *histograms = calloc((size_t)(way->n_slots * tree->n_pairs + 1), sizeof(pair));
    uint64_t *occupied = malloc((size_t)(way->n_slots * 4 * n_columns + 1) * sizeof(uint64_t));
    way->histograms = histograms;
    way->occupied = occupied;
    if (!tree->rows || !tree->order || !tree->divided || !tree->nodes || !way->order ||
        !way->slots || !histograms || !occupied)
        return -1;
    way->lefts = way->order + n_nodes;
    for (int64_t k = 0; k < way->n_slots; k++)
        way->slots[k] = (slot){.tree = tree,
                               .histogram = histograms + k * tree->n_pairs,
                               .occupied = occupied + k * 4 * n_columns};
    return 0;
}

static void drop_room(course *way) {
    growth *tree = way->tree;
    free(tree->rows), free(tree->order), free(tree->divided), free(tree->nodes);
    free(way->order), free(way->slots), free(way->histograms), free(way->occupied);
}

int64_t fcg_grow_tree(const fcg_bins *bins, const fcg_tree_rules *rules, const double *residual,
                      const double *weights, int64_t n_room, int64_t *room, int64_t max_nodes,
                      double *nodes, int64_t leaf_size, void *leaves) {
    fcg_tree_rules settled_rules = *rules;
    if (settled_rules.unit == 0.0) {
        double facts[5];
        fcg_weights(bins->n_rows, weights, facts);
        settled_rules.unit = fcg_weight_unit(facts, &settled_rules.is_exact);
    }
    growth tree = fcg_growth(bins, &settled_rules);
    course way = {.tree = &tree};
    int64_t n_entries = -1;
    tree.room = room;
    tree.n_room = n_room;
    if (make_room(&way, max_nodes) == 0) {
        fcg_set_rows(&tree, residual, weights);
        grow(&way);
        if (settle(&way, weights, leaf_size, leaves) == 0)
            n_entries = fcg_write_nodes(&tree, nodes);
    }
    drop_room(&way);
    return n_entries;
}
