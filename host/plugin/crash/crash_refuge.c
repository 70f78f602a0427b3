/* crash_refuge.c - a mapped file that became shorter is an error of data, not the end of the process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/crash/crash_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local crash_refuge *innermost;

void crash_refuge_open(crash_refuge *r)
{
    r->address = NULL;
    r->crumb = crash_breadcrumb;
    r->outer = innermost;
    innermost = r;
}

void crash_refuge_leave(crash_refuge *r)
{
    innermost = r->outer;
}

void crash_refuge_take(const siginfo_t *info)
{
    crash_refuge *r = innermost;
    if (!r || info->si_code != BUS_ADRERR)
        return;
    r->address = info->si_addr;
    crash_breadcrumb = r->crumb;
    siglongjmp(r->jump, 1);
}

char *crash_lost_file(const crash_refuge *r)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4352], *path = NULL;
    while (maps && !path && fgets(line, sizeof line, maps)) {
        unsigned long begin = 0, end = 0;
        int at = 0;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &begin, &end, &at) < 2 || !at ||
            (uintptr_t)r->address < begin || (uintptr_t)r->address >= end)
            continue;
        line[strcspn(line, "\n")] = '\0';
        path = strdup(line + at);
    }
    if (maps)
        (void)fclose(maps);
    return path;
}
