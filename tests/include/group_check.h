/* group_check.h - a folder that stands for /sys/fs/cgroup, with files that a test writes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUP_CHECK_H
#define GROUP_CHECK_H

#include "tutti_check.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char group_root[] = "/tmp/tutti_groups.XXXXXX";

static inline void group_make_root(void)
{
    (void)snprintf(group_root, sizeof group_root, "/tmp/tutti_groups.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(group_root));
}

static inline void group_remove_root(void)
{
    char command[256];
    (void)snprintf(command, sizeof command, "rm -r %s", group_root);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) our own folder */
}

/* A file below group_root, with the folders on its way. */
static inline void group_put(const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", group_root, name);
    for (char *slash = path + strlen(group_root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

#endif
