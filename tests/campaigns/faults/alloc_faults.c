/* alloc_faults.c - a library to preload that lets an allocation of the program fail.
 *
 * TUTTI_FAULTS says what it does; allocations are counted from 1, over all threads:
 *   "list"     every allocation succeeds; FILE gets a line of each that came from a new place (call stack): its number,
 *              and the innermost callers as FILE+OFFSET, the offset in the file as it is loaded
 *   "one N"    allocation N fails
 *   "from N"   allocation N and all that follow fail
 * TUTTI_FAULTS_FILE is FILE; of "one" and "from" it gets the call stack of the first failure, and of "from" that of the latest
 * one below a line of dashes, TOLD_AT_MOST of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 40, PLACES = 1 << 17, TOLD = 6, TOLD_AT_MOST = 4096 };

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void (*free)(void *);
} next;
static enum { IDLE, LIST, ONE, FROM } mode;
static uint64_t wanted;
static _Atomic uint64_t count;
static _Atomic uint64_t places[PLACES]; /* hashes of call stacks; 0 is free */
static int file = -1;
static _Thread_local bool inside; /* of this library: what it allocates itself does not count */

/* What is allocated while the real functions are looked up. */
static char early[8192] __attribute__((aligned(16)));
static size_t early_size;

static void *early_alloc(size_t size)
{
    void *block = early + early_size;
    size = (size + 15) & ~(size_t)15;
    if (size > sizeof early - early_size)
        abort();
    early_size += size;
    return block;
}

static bool is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early < sizeof early;
}

/* False while they are being looked up. */
static bool has_next(void)
{
    static bool looking;
    if (next.free)
        return true;
    if (looking)
        return false;
    looking = true;
    *(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next.memalign = dlsym(RTLD_NEXT, "memalign");
    *(void **)&next.free = dlsym(RTLD_NEXT, "free");
    looking = false;
    return next.free != NULL;
}

/* "FILE+OFFSET" of a caller, behind a space. */
static int name_caller(void *frame, char *text, size_t size)
{
    Dl_info in;
    if (!dladdr(frame, &in) || !in.dli_fname)
        return snprintf(text, size, " ?+0");
    const char *slash = strrchr(in.dli_fname, '/');
    return snprintf(text, size, " %.80s+%lx", slash ? slash + 1 : in.dli_fname,
                    (unsigned long)((uintptr_t)frame - (uintptr_t)in.dli_fbase));
}

static void list(uint64_t number)
{
    void *frames[DEPTH];
    char line[24 + TOLD * 104];
    uint64_t hash = 1469598103934665603u;
    const int depth = backtrace(frames, DEPTH);
    for (int k = 2; k < depth; k++)
        hash = (hash ^ (uintptr_t)frames[k]) * 1099511628211u;
    hash += !hash;
    for (uint64_t k = hash % PLACES, tries = 0; tries < PLACES; k = (k + 1) % PLACES, tries++) {
        uint64_t free_place = 0;
        if (atomic_compare_exchange_strong(&places[k], &free_place, hash))
            break;
        if (free_place == hash)
            return;
    }
    int size = snprintf(line, sizeof line, "%llu", (unsigned long long)number);
    for (int k = 2; k < depth && k < 2 + TOLD; k++)
        size += name_caller(frames[k], line + size, 104);
    line[size++] = '\n';
    (void)!write(file, line, (size_t)size);
}

static void tell(void)
{
    static _Atomic uint32_t told;
    static _Atomic off_t first; /* bytes of the first one */
    static const char dashes[] = "--\n";
    void *frames[DEPTH];
    const uint32_t number = atomic_fetch_add(&told, 1);
    if (number >= (mode == ONE ? 1 : TOLD_AT_MOST))
        return;
    if (number > 0 &&
        (ftruncate(file, first) != 0 || write(file, dashes, sizeof dashes - 1) < 0))
        return;
    backtrace_symbols_fd(frames, backtrace(frames, DEPTH), file);
    if (number == 0)
        first = lseek(file, 0, SEEK_END);
}

/* Counts an allocation; true when it shall fail. */
static bool fails(void)
{
    if (mode == IDLE || inside)
        return false;
    inside = true;
    const uint64_t number = atomic_fetch_add(&count, 1) + 1;
    const bool fail = mode == ONE ? number == wanted : mode == FROM && number >= wanted;
    if (mode == LIST)
        list(number);
    if (fail)
        tell();
    inside = false;
    if (fail)
        errno = ENOMEM;
    return fail;
}

void *malloc(size_t size)
{
    if (!has_next())
        return early_alloc(size);
    return fails() ? NULL : next.malloc(size);
}

void *calloc(size_t n, size_t size)
{
    if (!has_next())
        return early_alloc(n * size); /* zeroed, as it is static */
    return fails() ? NULL : next.calloc(n, size);
}

void *realloc(void *block, size_t size)
{
    if (!has_next() || is_early(block))
        abort();
    return fails() ? NULL : next.realloc(block, size);
}

void *memalign(size_t alignment, size_t size)
{
    return !has_next() || fails() ? NULL : next.memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *block = memalign(alignment, size);
    if (!block)
        return ENOMEM;
    *ret = block;
    return 0;
}

void free(void *block)
{
    if (block && !is_early(block) && has_next())
        next.free(block);
}

__attribute__((constructor)) static void begin(void)
{
    void *frame;
    const char *text = getenv("TUTTI_FAULTS"), *path = getenv("TUTTI_FAULTS_FILE");
    if (!text || !path || !has_next())
        return;
    (void)backtrace(&frame, 1); /* loads what it needs */
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const char *number = strchr(text, ' ');
    wanted = number ? strtoull(number, NULL, 10) : 0;
    mode = *text == 'l' ? LIST : *text == 'o' ? ONE : FROM;
}
