/* memory.c - the check memory: every allocation of open and close fails once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/bench.h"
#include "check/imports.h"

enum { MOST_ALLOCATIONS = 200, PARTS = 16, ROUNDS = 4, LEAK = 16 /* bytes an open */ };

/* Opens and closes with each allocation failing in turn; the number of allocations. */
static int64_t open_and_close(bench *b)
{
    for (int64_t n = 1; n <= MOST_ALLOCATIONS; n++) {
        tutti_error e = TUTTI_ERROR_INIT;
        bool given;
        instance *i = NULL;
        imports_fail(n);
        const tutti_status s = bench_open(b, NULL, &given, &i, &e);
        const int64_t used = imports_count();
        if (s && used >= n)
            bench_judge_refusal(b, CHECK_MEMORY, "without memory", s, &e);
        if (!s)
            instance_free(i);
        imports_fail(0);
        if (!s && used < n)
            return n - 1;
    }
    return MOST_ALLOCATIONS;
}

void bench_check_memory(child *c, void *subject_)
{
    bench b;
    tutti_error e = TUTTI_ERROR_INIT;
    bool given;
    instance *i = NULL;
    if (!bench_begin(&b, subject_, c, CHECK_MEMORY))
        return;
    registry_look(b.subject->options->registry, false);
    if (bench_open(&b, NULL, &given, &i, &e)) {
        child_give_up(c, CHECK_MEMORY, "", &e);
        bench_end(&b);
        return;
    }
    instance_free(i);
    const int64_t n = open_and_close(&b);
    size_t least = SIZE_MAX; /* heaps shift by themselves: what is lost is lost in every part */
    for (int part = 0; part < PARTS && least >= (size_t)ROUNDS * LEAK; part++) {
        const size_t before = bench_heap();
        for (int k = 0; k < ROUNDS; k++)
            (void)open_and_close(&b);
        const size_t after = bench_heap(), more = after > before ? after - before : 0;
        least = more < least ? more : least;
    }
    if (least >= (size_t)ROUNDS * LEAK)
        child_say(c, CHECK_MEMORY, CHECK_FAILED,
                  "an open that fails for want of memory keeps %zu bytes of it",
                  least / ROUNDS);
    if (!n)
        child_say(c, CHECK_MEMORY, CHECK_NOT_TRIED, "open allocates nothing that can be seen");
    bench_end(&b);
}
