/* newest.c - looks through a folder for the newest checkpoint. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "newest.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

int newest_find(const char *folder, const char *pattern, const char *run, name_time before,
                name_time *ret_time, char *ret_path, size_t size)
{
    *ret_time = (name_time){-1, -1};
    DIR *dir = opendir(folder);
    if (!dir)
        return errno == ENOENT ? 0 : errno;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        name_time time;
        if (!name_match(pattern, run, e->d_name, &time) || time.batch < 0 ||
            !name_is_later(time, *ret_time) || !name_is_later(before, time))
            continue;
        *ret_time = time;
        (void)snprintf(ret_path, size, "%s/%s", folder, e->d_name);
    }
    (void)closedir(dir);
    return 0;
}
