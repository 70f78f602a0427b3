/* latest_link.c - the link is made under another name and renamed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "latest_link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEMPORARY_SIZE = 800 };

static void temporary_name(const char *path, char *temporary)
{
    (void)snprintf(temporary, TEMPORARY_SIZE, "%s.tmp", path);
}

tutti_status latest_link_put(const char *path, const char *name, tutti_error *err)
{
    char temporary[TEMPORARY_SIZE];
    temporary_name(path, temporary);
    (void)unlink(temporary);
    if (symlink(name, temporary) != 0 || rename(temporary, path) != 0) {
        const int cause = errno;
        (void)unlink(temporary);
        return tutti_fail(err, TUTTI_E_IO, "cannot link %s to %s: %s", path, name,
                          strerror(cause));
    }
    return TUTTI_OK;
}

void latest_link_remove_unfinished(const char *path)
{
    char temporary[TEMPORARY_SIZE];
    temporary_name(path, temporary);
    (void)unlink(temporary);
}
