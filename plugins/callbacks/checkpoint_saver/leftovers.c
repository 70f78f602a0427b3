/* leftovers.c - files of a folder that are in the way: of a killed save, of an index that is gone, of another run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "leftovers.h"
#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Whether one of the lines of the file at `path` has `name`. */
static bool file_names(const char *path, const char *name)
{
    char line[1024];
    bool has = false;
    FILE *f = fopen(path, "re");
    while (f && !has && fgets(line, sizeof line, f))
        has = strstr(line, name) != NULL;
    if (f)
        (void)fclose(f);
    return has;
}

/* Whether the shard called `name` belongs to `index`, or to one of that name that was set aside as damaged. */
static bool is_named(const char *folder, const char *index, const char *name)
{
    char path[1200];
    (void)snprintf(path, sizeof path, "%s/%s", folder, index);
    if (file_names(path, name))
        return true;
    (void)snprintf(path, sizeof path, "%s/%s.damaged", folder, index);
    return file_names(path, name);
}

void leftovers_remove_shards(const char *folder, const char *name)
{
    DIR *dir = name_is_index(name) ? opendir(folder) : NULL;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        char index[256], path[1024];
        if (!name_is_shard(e->d_name, index, sizeof index) || strcmp(index, name) != 0 ||
            is_named(folder, index, e->d_name))
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        (void)unlink(path);
    }
    if (dir)
        (void)closedir(dir);
}

bool leftovers_have(const char *folder, const char *pattern, const char *run, const char *name)
{
    static const char tail[] = ".tmp-", ours[] = "tutti-";
    char file[256], index[256];
    name_time time;
    const char *at = strstr(name, tail), *letters = at ? at + sizeof tail - 1 : "";
    if (strncmp(letters, ours, sizeof ours - 1) == 0)
        letters += sizeof ours - 1;
    if (at && (strlen(letters) != 6 || (size_t)(at - name) >= sizeof file))
        return false;
    (void)snprintf(file, sizeof file, "%.*s", at ? (int)(at - name) : (int)sizeof file - 1,
                   name);
    if (name_is_shard(file, index, sizeof index))
        return name_match(pattern, run, index, &time) && (at || !is_named(folder, index, name));
    return at && name_match(pattern, run, file, &time);
}

tutti_status leftovers_check(const char *folder, const char *pattern, const char *run,
                             const tutti_timestamp *now, tutti_error *err)
{
    DIR *dir = opendir(folder);
    if (!dir && errno == ENOENT)
        return TUTTI_OK;
    if (!dir)
        return tutti_fail(err, TUTTI_E_IO, "checkpoint_saver: cannot list %s: %s", folder,
                          strerror(errno));
    tutti_status s = TUTTI_OK;
    for (struct dirent *e = readdir(dir); e && s == TUTTI_OK; e = readdir(dir)) {
        name_time time;
        if (!name_match(pattern, run, e->d_name, &time))
            continue;
        const bool ahead = time.batch >= 0   ? time.batch > now->batch
                           : time.epoch >= 0 ? time.epoch > now->epoch
                                             : now->batch == 0;
        if (ahead)
            s = tutti_fail(err, TUTTI_E_EXISTS,
                           "checkpoint_saver: %s/%s is there already and this run would write "
                           "over it; resume from it, choose another folder, or set overwrite",
                           folder, e->d_name);
    }
    (void)closedir(dir);
    return s;
}
