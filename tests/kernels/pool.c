/* Several threads share pieces of work, nested ones too, while the pool opens, closes and forks.
 *
 * Every part must be done exactly once.
 */
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARTS = 100, INNER = 5, ROUNDS = 400, SHARERS = 4 };

static void count(void *context, int64_t part) { ((int64_t *)context)[part]++; }

static void share(void *context, int64_t part) {
    fcg_share(INNER, count, (int64_t *)context + INNER * part);
}

static void *work(void *seed) {
    int64_t counts[PARTS * INNER];
    for (int64_t round = 0; round < ROUNDS; round++) {
        int64_t n = 1 + ((intptr_t)seed * 31 + round * 7) % PARTS, is_nested = round % 2;
        memset(counts, 0, sizeof counts);
        fcg_share(n, is_nested ? share : count, counts);
        for (int64_t k = 0; k < PARTS * INNER; k++)
            if (counts[k] != (k < n * (is_nested ? INNER : 1))) abort();
    }
    return NULL;
}

static void work_at_once(void) {
    pthread_t threads[SHARERS];
    for (intptr_t k = 0; k < SHARERS; k++) pthread_create(threads + k, NULL, work, (void *)k);
    for (int k = 0; k < SHARERS; k++) pthread_join(threads[k], NULL);
}

/* Forks if there is an argument: sanitizers of threads do not follow them. */
int main(int n_arguments, char **arguments) {
    (void)arguments;
    for (int64_t n_threads = 2; n_threads < 20; n_threads += 3) {
        fcg_open_pool(n_threads);
        work_at_once();
        pid_t child = n_arguments > 1 ? fork() : -1;
        if (child == 0) {
            work(NULL);
            fcg_open_pool(3);
            work(NULL);
            fcg_close_pool();
            _exit(0);
        }
        int status = 0;
        if (child > 0) waitpid(child, &status, 0);
        if (status) return 1;
        fcg_close_pool();
    }
    return 0;
}
