/* Work that is shared by the threads that PyTorch has, where those are OpenMP's. */

#ifndef HEADSTART_THREADS_H
#define HEADSTART_THREADS_H

#include <stdatomic.h>
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

static inline void do_part(void *with) {
    Shared *shared = with;
    shared->part(shared->with, (size_t)omp_get_thread_num());
}

/* Calls a part on each of so many threads, or on this one alone, and waits for all. */
static inline void share_out(Part part, void *with, size_t num_threads) {
    Shared shared = {part, with};
    if (GOMP_parallel && omp_get_thread_num && num_threads > 1)
        GOMP_parallel(do_part, &shared, (unsigned)num_threads, 0);
    else
        part(with, 0);
}

/* Some rows of a batch, and which part of it they are. */
typedef void (*RowsPart)(const void *with, size_t begin, size_t end, size_t part);

typedef struct {
    RowsPart act;
    const void *with;
    size_t num_rows, num_parts;
    atomic_size_t num_begun;
} SharedRows;

static inline void take_rows(void *with, size_t thread) {
    (void)thread;
    SharedRows *shared = with;
    size_t part, num_rows = shared->num_rows, num_parts = shared->num_parts;
    while ((part = atomic_fetch_add(&shared->num_begun, 1)) < num_parts)
        shared->act(shared->with, num_rows * part / num_parts, num_rows * (part + 1) / num_parts,
                    part);
}

/* Does all rows of a batch in so many parts, however many threads come for them: what is added up
 * part by part does not depend on who was first. */
static inline void share_rows(RowsPart act, const void *with, size_t num_rows, size_t num_parts) {
    SharedRows shared = {act, with, num_rows, num_parts, 0};
    share_out(take_rows, &shared, num_parts);
}

#endif
