/* folders.c - the folders above a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tutti_status copy(const char *path, char to[PATH_MAX], tutti_error *err)
{
    if (snprintf(to, PATH_MAX, "%s", path) < PATH_MAX)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", path);
}

tutti_status folders_sync(const char *path, tutti_error *err)
{
    char folder[PATH_MAX];
    const tutti_status s = copy(path, folder, err);
    if (s)
        return s;
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    const int fd = open(!slash    ? "."
                        : *folder ? folder
                                  : "/",
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int failed = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0)
        (void)close(fd);
    return failed ? tutti_fail(err, TUTTI_E_IO, "%s: cannot sync its folder: %s", path,
                               strerror(failed))
                  : TUTTI_OK;
}

tutti_status folders_make(const char *path, tutti_error *err)
{
    char part[PATH_MAX];
    tutti_status s = copy(path, part, err);
    for (char *slash = s ? NULL : strchr(part + 1, '/'); slash && !s;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) == 0)
            (void)!folders_sync(part, NULL);
        else if (errno != EEXIST)
            s = tutti_fail(err, TUTTI_E_IO, "%s: cannot make the folder: %s", part,
                           strerror(errno));
        *slash = '/';
    }
    return s;
}
