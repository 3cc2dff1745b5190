/* Threads that help with the parts of a piece of work, from the first fit that starts to the last
 * one that ends.
 *
 * This is the only state of the library. A child forked from the process begins without threads.
 */
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

enum { MOST_THREADS = 256 };

/* Work that is shared: the next part, the number of parts that are done, and the next work. */
typedef struct job {
    part_work *work;
    void *context;
    int64_t n_parts, next, n_done;
    struct job *following;
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t is_work, is_done;
    pthread_t threads[MOST_THREADS];
    int64_t n_threads;
    int is_closing;
    job *first; /* of the jobs with parts that nobody has begun */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .is_work = PTHREAD_COND_INITIALIZER,
          .is_done = PTHREAD_COND_INITIALIZER};

static void begin_anew(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.is_work, NULL);
    pthread_cond_init(&pool.is_done, NULL);
    pool.n_threads = pool.is_closing = 0;
    pool.first = NULL;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, begin_anew); }

/* Do the next part of a job; the lock is held before and afterwards, not meanwhile. */
static void do_part(job *shared) {
    int64_t part = shared->next++;
    if (shared->next == shared->n_parts) {
        job **at = &pool.first;
        while (*at != shared) at = &(*at)->following;
        *at = shared->following;
    }
    pthread_mutex_unlock(&pool.lock);
    shared->work(shared->context, part);
    pthread_mutex_lock(&pool.lock);
    /* After its last part the job is gone. */
    if (++shared->n_done == shared->n_parts) pthread_cond_broadcast(&pool.is_done);
}

static void *help(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    while (!pool.is_closing) {
        if (pool.first) do_part(pool.first);
        else pthread_cond_wait(&pool.is_work, &pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

void fcg_open_pool(int64_t n_threads) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t all, before;
    pthread_once(&once, watch_forks);
    /* Signals are for the threads of the process. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_mutex_lock(&pool.lock);
    while (pool.is_closing) pthread_cond_wait(&pool.is_done, &pool.lock);
    while (pool.n_threads < n_threads - 1 && pool.n_threads < MOST_THREADS) {
        if (pthread_create(pool.threads + pool.n_threads, NULL, help, NULL)) break;
        pool.n_threads++;
    }
    pthread_mutex_unlock(&pool.lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void fcg_close_pool(void) {
    pthread_mutex_lock(&pool.lock);
    pool.is_closing = 1;
    pthread_cond_broadcast(&pool.is_work);
    pthread_mutex_unlock(&pool.lock);
    for (int64_t i = 0; i < pool.n_threads; i++) pthread_join(pool.threads[i], NULL);
    pthread_mutex_lock(&pool.lock);
    pool.n_threads = 0;
    pool.is_closing = 0;
    pthread_cond_broadcast(&pool.is_done);
    pthread_mutex_unlock(&pool.lock);
}

int64_t fcg_n_threads(void) {
    pthread_mutex_lock(&pool.lock);
    int64_t n_threads = 1 + pool.n_threads;
    pthread_mutex_unlock(&pool.lock);
    return n_threads;
}

void fcg_share(int64_t n_parts, part_work *work, void *context) {
    job shared = {work, context, n_parts, 0, 0, NULL};
    if (n_parts == 1 || fcg_n_threads() == 1) {
        for (int64_t part = 0; part < n_parts; part++) work(context, part);
        return;
    }
    if (n_parts == 0) return;
    pthread_mutex_lock(&pool.lock);
    shared.following = pool.first;
    pool.first = &shared;
    pthread_cond_broadcast(&pool.is_work);
    while (shared.next < n_parts) do_part(&shared);
    while (shared.n_done < n_parts) pthread_cond_wait(&pool.is_done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}
