/* crash_code.c - whose code a thread is in: addresses of plugins, and a look at the thread's stack. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/crash/crash_internal.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_CODES = 512, STACK_BYTES = 32 * 1024 };

typedef struct code {
    const char *id;
    uintptr_t begin;
    uintptr_t end;
} code;

/* Only ever grows; an entry is whole before the count says that it is there. */
static code codes[MAX_CODES];
static _Atomic uint32_t ncodes;

void crash_add_code(const char *id, uintptr_t begin, uintptr_t end)
{
    const uint32_t n = atomic_load(&ncodes);
    if (n == MAX_CODES)
        return; /* its threads' crashes are nobody's */
    codes[n] = (code){id, begin, end};
    atomic_store(&ncodes, n + 1);
}

const char *crash_code_of(uintptr_t address)
{
    const uint32_t n = atomic_load(&ncodes);
    for (uint32_t k = n; k-- > 0;) /* one that is loaded anew comes after */
        if (address >= codes[k].begin && address < codes[k].end)
            return codes[k].id;
    return NULL;
}

/* The innermost return address that is a plugin's.  The kernel copies the stack, page by page, so that a
 * stack that ends is no fault. */
const char *crash_code_on_stack(uintptr_t stack)
{
    static uintptr_t words[512]; /* a crash happens once */
    stack &= ~(uintptr_t)(sizeof *words - 1);
    for (uintptr_t at = stack; at < stack + STACK_BYTES;) {
        const size_t size = sizeof words - at % sizeof words;
        const struct iovec to = {words, size}, from = {(void *)at, size};
        const ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        for (ssize_t k = 0; k < got / (ssize_t)sizeof *words; k++) {
            const char *id = crash_code_of(words[k]);
            if (id)
                return id;
        }
        if (got < (ssize_t)size)
            return NULL;
        at += size;
    }
    return NULL;
}
