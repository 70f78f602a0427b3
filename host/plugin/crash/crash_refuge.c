/* crash_refuge.c - a mapped file that became shorter is an error of data, not the end of the process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/crash/crash_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UNNAMED, BEING_NAMED, NAMED };

static _Thread_local uint32_t depth; /* of the thread's refuges */
static _Atomic int naming;
static char lost_file[PATH_MAX] = "a mapped file"; /* the first one */

static const char *read_address(const char *text, const char *end, uintptr_t *ret)
{
    for (*ret = 0; text < end; text++) {
        const bool digit = *text >= '0' && *text <= '9';
        if (!digit && (*text < 'a' || *text > 'f'))
            break;
        *ret = *ret * 16 + (uintptr_t)(digit ? *text - '0' : *text - 'a' + 10);
    }
    return text;
}

/* Of a line of /proc/self/maps: "begin-end rights offset device inode /path". */
static bool take_line(const char *line, const char *end, uintptr_t address)
{
    uintptr_t first, last;
    const char *text = read_address(line, end, &first);
    if (text < end && *text == '-')
        text = read_address(text + 1, end, &last);
    else
        return false;
    const char *path = memchr(text, '/', (size_t)(end - text));
    if (address < first || address >= last)
        return false;
    if (path && end - path < (ptrdiff_t)sizeof lost_file) {
        memcpy(lost_file, path, (size_t)(end - path));
        lost_file[end - path] = '\0';
    }
    return true;
}

static void name_file(uintptr_t address)
{
    static char text[2 * PATH_MAX];
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    bool found = false;
    for (ssize_t n = 0; fd >= 0 && !found && have < sizeof text; have += (size_t)n) {
        const char *line = text, *end;
        while (!found && (end = memchr(line, '\n', have - (size_t)(line - text)))) {
            found = take_line(line, end, address);
            line = end + 1;
        }
        have -= (size_t)(line - text);
        memmove(text, line, have);
        if (found || (n = read(fd, text + have, sizeof text - have)) <= 0)
            break;
    }
    if (fd >= 0)
        (void)close(fd);
}

void crash_refuge_enter(void)
{
    depth++;
}

bool crash_refuge_leave(void)
{
    depth -= depth > 0; /* a signal may have left the calls between */
    while (atomic_load(&naming) == BEING_NAMED)
        (void)sched_yield();
    return atomic_load(&naming) == NAMED;
}

tutti_status crash_lost_file(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_IO,
                      "%s cannot be read: it became shorter after it was opened", lost_file);
}

/* The loss is noted before there is a page that others may read. */
bool crash_refuge_take(const siginfo_t *info)
{
    const int before = errno;
    int unnamed = UNNAMED;
    if (depth == 0 || info->si_code != BUS_ADRERR)
        return false;
    if (atomic_compare_exchange_strong(&naming, &unnamed, BEING_NAMED)) {
        name_file((uintptr_t)info->si_addr);
        atomic_store(&naming, NAMED);
    }
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t page = (uintptr_t)info->si_addr / size * size;
    const long at = syscall(SYS_mmap, page, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = before;
    return (uintptr_t)at == page;
}
