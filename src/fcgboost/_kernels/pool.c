/* Threads that help with the parts of a piece of work, from the first fit that starts to the last
 * one that ends.
 *
 * This is the only state of the library. A child forked from the process begins without threads.
 */
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

/* A thread's stack: there are systems whose usual one is small. */
enum { MOST_THREADS = 256, STACK = 1 << 20 };
/* How often a thread looks for work, or for the end of it, before it sleeps: some tens of
 * microseconds, since waking it takes as long on a virtual machine. */
enum { LOOKS = 2000 };
/* How many threads are woken by the one that brings work, and by each that begins with it. */
enum { WOKEN = 2 };

/* Work that is shared: the first part that nobody has begun, the helpers that may be at work, and
 * the next work. Threads take parts without the lock; they come and go with it. */
typedef struct job {
    part_work *work;
    void *context;
    int64_t n_parts, next, n_inside;
    struct job *following;
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t is_work, is_done;
    pthread_t threads[MOST_THREADS];
    int64_t n_threads, n_asleep; /* asleep: those that nobody has woken */
    int is_closing;
    job *first; /* of the jobs with parts that nobody has begun */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .is_work = PTHREAD_COND_INITIALIZER,
          .is_done = PTHREAD_COND_INITIALIZER};

#if defined(_WIN32)
/* There are neither forks nor signals for threads. */
typedef int sigset_t;
static void watch_forks(void) {}
static void block_signals(sigset_t *before) { *before = 0; }
static void restore_signals(const sigset_t *before) { (void)before; }
#else
static void begin_anew(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.is_work, NULL);
    pthread_cond_init(&pool.is_done, NULL);
    pool.n_threads = pool.n_asleep = pool.is_closing = 0;
    pool.first = NULL;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, begin_anew); }

static void block_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

static void restore_signals(const sigset_t *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }
#endif

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int has_parts(const job *shared) {
    return __atomic_load_n(&shared->next, __ATOMIC_RELAXED) < shared->n_parts;
}

/* Do parts of a job until all have been begun. */
static void do_parts(job *shared) {
    int64_t part;
    while ((part = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED)) < shared->n_parts)
        shared->work(shared->context, part);
}

/* Return a job with parts that nobody has begun; NULL if there is none. With the lock. */
static job *find_job(void) {
    for (job *at = pool.first; at; at = at->following)
        if (has_parts(at)) return at;
    return NULL;
}

/* Take a job whose parts have all been begun off the list. With the lock. */
static void unlist(const job *shared) {
    job **at = &pool.first;
    while (*at && *at != shared) at = &(*at)->following;
    if (*at) __atomic_store_n(at, shared->following, __ATOMIC_RELEASE);
}

/* Wake threads for work that needs at most so many. With the lock. */
static void wake(int64_t most) {
    most = most < WOKEN ? most : WOKEN;
    for (; most > 0 && pool.n_asleep > 0; most--, pool.n_asleep--)
        pthread_cond_signal(&pool.is_work);
}

/* Wait for work. With the lock, which is not held meanwhile. */
static void wait_for_work(void) {
    pthread_mutex_unlock(&pool.lock);
    for (int look = 0; look < LOOKS; look++) {
        if (__atomic_load_n(&pool.first, __ATOMIC_ACQUIRE)) break;
        pause_briefly();
    }
    pthread_mutex_lock(&pool.lock);
    if (find_job() || pool.is_closing) return;
    pool.n_asleep++;
    pthread_cond_wait(&pool.is_work, &pool.lock);
}

static void *help(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    while (!pool.is_closing) {
        job *shared = find_job();
        if (!shared) {
            wait_for_work();
            continue;
        }
        __atomic_add_fetch(&shared->n_inside, 1, __ATOMIC_RELAXED);
        wake(shared->n_parts - __atomic_load_n(&shared->next, __ATOMIC_RELAXED) - 1);
        pthread_mutex_unlock(&pool.lock);
        do_parts(shared);
        pthread_mutex_lock(&pool.lock);
        unlist(shared);
        /* Without anyone inside the job is gone. */
        if (__atomic_sub_fetch(&shared->n_inside, 1, __ATOMIC_RELEASE) == 0)
            pthread_cond_broadcast(&pool.is_done);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

void fcg_open_pool(int64_t n_threads) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t before;
    pthread_attr_t attributes;
    pthread_once(&once, watch_forks);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    /* Signals are for the threads of the process. */
    block_signals(&before);
    pthread_mutex_lock(&pool.lock);
    while (pool.is_closing) pthread_cond_wait(&pool.is_done, &pool.lock);
    while (pool.n_threads < n_threads - 1 && pool.n_threads < MOST_THREADS) {
        if (pthread_create(pool.threads + pool.n_threads, &attributes, help, NULL)) break;
        __atomic_add_fetch(&pool.n_threads, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&pool.lock);
    restore_signals(&before);
    pthread_attr_destroy(&attributes);
}

void fcg_close_pool(void) {
    pthread_mutex_lock(&pool.lock);
    pool.is_closing = 1;
    pthread_cond_broadcast(&pool.is_work);
    pthread_mutex_unlock(&pool.lock);
    for (int64_t i = 0; i < pool.n_threads; i++) pthread_join(pool.threads[i], NULL);
    pthread_mutex_lock(&pool.lock);
    __atomic_store_n(&pool.n_threads, 0, __ATOMIC_RELAXED);
    pool.n_asleep = pool.is_closing = 0;
    pthread_cond_broadcast(&pool.is_done);
    pthread_mutex_unlock(&pool.lock);
}

int64_t fcg_n_threads(void) { return 1 + __atomic_load_n(&pool.n_threads, __ATOMIC_RELAXED); }

void fcg_share(int64_t n_parts, part_work *work, void *context) {
    job shared = {.work = work, .context = context, .n_parts = n_parts};
    if (n_parts <= 1 || fcg_n_threads() == 1) {
        for (int64_t part = 0; part < n_parts; part++) work(context, part);
        return;
    }
    pthread_mutex_lock(&pool.lock);
    shared.following = pool.first;
    __atomic_store_n(&pool.first, &shared, __ATOMIC_RELEASE);
    wake(n_parts - 1);
    pthread_mutex_unlock(&pool.lock);
    do_parts(&shared);
    pthread_mutex_lock(&pool.lock);
    unlist(&shared);
    pthread_mutex_unlock(&pool.lock);
    for (int look = 0; look < LOOKS; look++) {
        if (__atomic_load_n(&shared.n_inside, __ATOMIC_ACQUIRE) == 0) return;
        pause_briefly();
    }
    pthread_mutex_lock(&pool.lock);
    while (__atomic_load_n(&shared.n_inside, __ATOMIC_ACQUIRE) > 0)
        pthread_cond_wait(&pool.is_done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}
