/* imports.c - the slots through which a loaded library calls others, found by its relocations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/imports.h"

#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <link.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    ElfW(Addr) known[512]; /* of libraries that were there */
    int nknown;
    const char *path;
    int redirected;
    _Atomic int64_t count, fail;
    _Atomic(const char *) forbidden;
} imports;

/* ---- allocation ---- */

static bool fails(void)
{
    const int64_t n = atomic_fetch_add(&imports.count, 1) + 1;
    if (n != atomic_load(&imports.fail))
        return false;
    errno = ENOMEM;
    return true;
}

static void *failing_malloc(size_t size)
{
    return fails() ? NULL : malloc(size);
}

static void *failing_calloc(size_t n, size_t size)
{
    return fails() ? NULL : calloc(n, size);
}

static void *failing_realloc(void *p, size_t size)
{
    return fails() ? NULL : realloc(p, size);
}

static void *failing_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : aligned_alloc(alignment, size);
}

static void *failing_memalign(size_t alignment, size_t size)
{
    return fails() ? NULL : memalign(alignment, size);
}

static int failing_posix_memalign(void **p, size_t alignment, size_t size)
{
    return fails() ? ENOMEM : posix_memalign(p, alignment, size);
}

static char *failing_strdup(const char *text)
{
    return fails() ? NULL : strdup(text);
}

static char *failing_strndup(const char *text, size_t n)
{
    return fails() ? NULL : strndup(text, n);
}

/* operator new of C++; where it is to fail, that of the library is asked for more than there can be, and throws. */
static void *(*real_new)(size_t), *(*real_new_array)(size_t);

static void *failing_new(size_t size)
{
    return real_new(fails() ? SIZE_MAX / 2 : size);
}

static void *failing_new_array(size_t size)
{
    return real_new_array(fails() ? SIZE_MAX / 2 : size);
}

/* ---- what only the host calls ---- */

static void note(const char *name)
{
    const char *none = NULL;
    (void)atomic_compare_exchange_strong(&imports.forbidden, &none, name);
}

static pid_t noted_fork(void)
{
    note("fork");
    errno = EPERM;
    return -1;
}

static void (*noted_signal(int number, void (*handler)(int)))(int)
{
    note("signal");
    (void)handler;
    errno = EPERM;
    return number ? SIG_ERR : SIG_DFL;
}

static int noted_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    if (action)
        note("sigaction");
    return sigaction(number, NULL, old);
}

static char *noted_setlocale(int category, const char *locale)
{
    if (locale)
        note("setlocale");
    return setlocale(category, NULL);
}

static int noted_chdir(const char *path)
{
    note("chdir");
    (void)path;
    errno = EPERM;
    return -1;
}

static mode_t noted_umask(mode_t mask)
{
    note("umask");
    (void)mask;
    return 022;
}

static int noted_setenv(const char *name, const char *value, int overwrite)
{
    note("setenv");
    (void)name;
    (void)value;
    return overwrite ? 0 : -1;
}

static int noted_unsetenv(const char *name)
{
    note("unsetenv");
    (void)name;
    return 0;
}

static int noted_putenv(char *text)
{
    note("putenv");
    (void)text;
    return 0;
}

static int noted_mallopt(int what, int value)
{
    note("mallopt");
    (void)what;
    (void)value;
    return 1;
}

/* ---- redirection ---- */

static void *address_of(void (*function)(void))
{
    void *p;
    memcpy(&p, &function, sizeof p);
    return p;
}

static void *replacement(const char *name)
{
#define ROW(symbol, function)                                                                  \
    {                                                                                          \
        symbol, (void (*)(void))(function)                                                     \
    }
    static const struct {
        const char *name;
        void (*function)(void);
    } rows[] = {
        ROW("malloc", failing_malloc),     ROW("calloc", failing_calloc),
        ROW("realloc", failing_realloc),   ROW("aligned_alloc", failing_aligned_alloc),
        ROW("memalign", failing_memalign), ROW("posix_memalign", failing_posix_memalign),
        ROW("strdup", failing_strdup),     ROW("strndup", failing_strndup),
        ROW("_Znwm", failing_new),         ROW("_Znam", failing_new_array),
        ROW("fork", noted_fork),           ROW("vfork", noted_fork),
        ROW("signal", noted_signal),       ROW("sigaction", noted_sigaction),
        ROW("setlocale", noted_setlocale), ROW("chdir", noted_chdir),
        ROW("umask", noted_umask),         ROW("setenv", noted_setenv),
        ROW("unsetenv", noted_unsetenv),   ROW("putenv", noted_putenv),
        ROW("mallopt", noted_mallopt),
    };
#undef ROW
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (strcmp(rows[k].name, name) == 0)
            return address_of(rows[k].function);
    return NULL;
}

#if defined(__x86_64__)
enum { JUMP = R_X86_64_JUMP_SLOT, SLOT = R_X86_64_GLOB_DAT, WORD = R_X86_64_64 };
#elif defined(__aarch64__)
enum { JUMP = R_AARCH64_JUMP_SLOT, SLOT = R_AARCH64_GLOB_DAT, WORD = R_AARCH64_ABS64 };
#else
enum { JUMP = -1, SLOT = -2, WORD = -3 };
#endif

static void write_slot(ElfW(Addr) at, const char *name)
{
    void *to = replacement(name), **slot = NULL;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (!to)
        return;
    memcpy(&slot, &at, sizeof slot);
    if (strcmp(name, "_Znwm") == 0 && *slot != to)
        memcpy(&real_new, slot, sizeof real_new);
    if (strcmp(name, "_Znam") == 0 && *slot != to)
        memcpy(&real_new_array, slot, sizeof real_new_array);
    char *from = (char *)slot - (uintptr_t)slot % page;
    /* Slots are read-only once the library is loaded; one never lies across two pages. */
    if (mprotect(from, page, PROT_READ | PROT_WRITE) == 0) {
        *slot = to;
        imports.redirected++;
    }
}

typedef struct tables {
    ElfW(Addr) symbols, strings, relocations[2];
    size_t sizes[2];
} tables;

static void read_tables(const ElfW(Dyn) * d, tables *t)
{
    for (; d->d_tag != DT_NULL; d++) {
        t->symbols = d->d_tag == DT_SYMTAB ? d->d_un.d_ptr : t->symbols;
        t->strings = d->d_tag == DT_STRTAB ? d->d_un.d_ptr : t->strings;
        t->relocations[0] = d->d_tag == DT_RELA ? d->d_un.d_ptr : t->relocations[0];
        t->sizes[0] = d->d_tag == DT_RELASZ ? d->d_un.d_val : t->sizes[0];
        t->relocations[1] = d->d_tag == DT_JMPREL ? d->d_un.d_ptr : t->relocations[1];
        t->sizes[1] = d->d_tag == DT_PLTRELSZ ? d->d_un.d_val : t->sizes[1];
    }
}

static const void *at_address(ElfW(Addr) at)
{
    const void *p;
    memcpy(&p, &at, sizeof p);
    return p;
}

static void redirect(ElfW(Addr) base, const tables *t)
{
    const ElfW(Sym) *symbols = at_address(t->symbols);
    const char *strings = at_address(t->strings);
    for (int k = 0; k < 2 && symbols && strings; k++) {
        const ElfW(Rela) *r = at_address(t->relocations[k]);
        for (size_t n = 0; r && n < t->sizes[k] / sizeof *r; n++) {
            const int type = (int)ELF64_R_TYPE(r[n].r_info);
            if (type == JUMP || type == SLOT || type == WORD)
                write_slot(base + r[n].r_offset,
                           strings + symbols[ELF64_R_SYM(r[n].r_info)].st_name);
        }
    }
}

static bool is_known(ElfW(Addr) base)
{
    for (int k = 0; k < imports.nknown; k++)
        if (imports.known[k] == base)
            return true;
    return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    tables t = {0};
    const bool own = info->dlpi_name && strcmp(info->dlpi_name, imports.path) == 0;
    if (!own && (is_known(info->dlpi_addr) || !info->dlpi_name || !*info->dlpi_name))
        return 0;
    for (int k = 0; k < info->dlpi_phnum; k++)
        if (info->dlpi_phdr[k].p_type == PT_DYNAMIC)
            read_tables(at_address(info->dlpi_addr + info->dlpi_phdr[k].p_vaddr), &t);
    redirect(info->dlpi_addr, &t);
    return 0;
}

static int remember(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    if (imports.nknown < (int)(sizeof imports.known / sizeof *imports.known))
        imports.known[imports.nknown++] = info->dlpi_addr;
    return 0;
}

void imports_begin(void)
{
    imports.nknown = 0;
    (void)dl_iterate_phdr(remember, NULL);
}

int imports_redirect(const char *path)
{
    imports.path = path;
    imports.redirected = 0;
    (void)dl_iterate_phdr(visit, NULL);
    return imports.redirected;
}

void imports_fail(int64_t n)
{
    atomic_store(&imports.fail, n);
    atomic_store(&imports.count, 0);
}

int64_t imports_count(void)
{
    return atomic_load(&imports.count);
}

const char *imports_forbidden(void)
{
    return atomic_exchange(&imports.forbidden, NULL);
}
