/* Work that is shared by the threads that PyTorch has, where those are OpenMP's. */

#ifndef HEADSTART_THREADS_H
#define HEADSTART_THREADS_H

#include <stddef.h>

/* What a parallel loop is compiled to, and what PyTorch has loaded. With threads of its own this
 * would wait for PyTorch's, which go on looking for work for a while. */
extern void GOMP_parallel(void (*act)(void *), void *with, unsigned num_threads, unsigned flags)
    __attribute__((weak));
extern int omp_get_thread_num(void) __attribute__((weak));

typedef void (*Part)(void *with, size_t thread);

typedef struct {
    Part part;
    void *with;
} Shared;

static void do_part(void *with) {
    Shared *shared = with;
    shared->part(shared->with, (size_t)omp_get_thread_num());
}

/* Calls a part on each of so many threads, or on this one alone, and waits for all. */
static void share_out(Part part, void *with, size_t num_threads) {
    Shared shared = {part, with};
    if (GOMP_parallel && omp_get_thread_num && num_threads > 1)
        GOMP_parallel(do_part, &shared, (unsigned)num_threads, 0);
    else
        part(with, 0);
}

#endif
