/* trust.c - whom a plugin's files belong to, before any of its code runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A sticky folder such as /tmp lets others add names, but not replace ours. */
static tutti_status check_part(const char *part, bool last, tutti_error *err)
{
    struct stat st;
    if (lstat(part, &st) != 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", part, strerror(errno));
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: belongs to user %u, want root or the user who runs tutti", part,
                          (unsigned)st.st_uid);
    const bool sticky = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !sticky)
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: group or others may write to it; chmod go-w makes it trusted",
                          part);
    if (last && !S_ISREG(st.st_mode))
        return tutti_fail(err, TUTTI_E_TRUST, "%s: is not a regular file", part);
    return TUTTI_OK;
}

tutti_status trust_check(const char *path, tutti_error *err)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    for (char *slash = strchr(real + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const tutti_status s = check_part(real, false, err);
        if (s)
            return s;
        *slash = '/';
    }
    return check_part(real, true, err);
}
