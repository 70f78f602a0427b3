/* cgroup.c - walking from a process's groups up to the root of each hierarchy. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4400 };

const char *cgroup_own(char *text)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    *text = '\0';
    if (!file)
        return text;
    text[fread(text, 1, CGROUP_TEXT_SIZE - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

int cgroup_numbers(const char *folder, const char *name, uint64_t *ret, int n)
{
    char path[PATH_SIZE], digits[24];
    int found = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    while (file && found < n && fscanf(file, " %23[0-9]", digits) == 1 &&
           sscanf(digits, "%" SCNu64, &ret[found]) == 1)
        found++;
    if (file)
        (void)fclose(file);
    return found;
}

/* The group of one line, "4:cpu,cpuacct:/path" or "0::/path", and those above it. */
static void walk_line(const char *root, const char *line, size_t size, const char *controller,
                      cgroup_each *each, void *context)
{
    char controllers[256], wanted[32], folder[PATH_SIZE];
    const char *list = memchr(line, ':', size);
    const char *path = list ? memchr(list + 1, ':', size - (size_t)(list + 1 - line)) : NULL;
    if (!path)
        return;
    const bool second = path == list + 1;
    (void)snprintf(controllers, sizeof controllers, ",%.*s,", (int)(path - list - 1), list + 1);
    (void)snprintf(wanted, sizeof wanted, ",%s,", controller);
    if (!second && !strstr(controllers, wanted))
        return;
    (void)snprintf(folder, sizeof folder, "%s%s%s%.*s", root, second ? "" : "/",
                   second ? "" : controller, (int)(line + size - path - 1), path + 1);
    const size_t top = strlen(root) + (second ? 0 : 1 + strlen(controller));
    for (;;) {
        each(context, folder, second);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top)
            break;
        *slash = '\0';
    }
}

void cgroup_walk(const char *root, const char *groups, const char *controller,
                 cgroup_each *each, void *context)
{
    while (*groups) {
        const size_t size = strcspn(groups, "\n");
        walk_line(root, groups, size, controller, each, context);
        groups += size + (groups[size] == '\n');
    }
}
