/* shared_folder.c - rank 0 makes a file in the folder, and the others look for it. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#include "shared_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME ".tutti-shared-XXXXXX" /* X: letters and digits */
enum { PATH_SIZE = 768, LOOKS = 200, LOOK_MS = 50 };

/* Its path goes to `file`. */
static tutti_status make_file(const char *folder, char *file, tutti_error *err)
{
    (void)snprintf(file, PATH_SIZE, "%s/%s", folder, FILE_NAME);
    const int made = mkstemp(file);
    if (made >= 0) {
        (void)close(made);
        return TUTTI_OK;
    }
    file[0] = '\0';
    return tutti_fail(err, TUTTI_E_IO, "checkpoint_saver: cannot write to %s: %s", folder,
                      strerror(errno));
}

bool shared_folder_is_file(const char *name)
{
    const size_t before = strlen(FILE_NAME) - strlen("XXXXXX");
    return strlen(name) == strlen(FILE_NAME) && strncmp(name, FILE_NAME, before) == 0;
}

static bool folder_lists(const char *folder, const char *name)
{
    bool has = false;
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e && !has; e = readdir(dir))
        has = strcmp(e->d_name, name) == 0;
    if (dir)
        (void)closedir(dir);
    return has;
}

/* A client of a network's file system keeps for a while that a folder was not there.  To open the one that it is in has it
 * ask again, so each folder above is opened where the last one cannot be listed. */
static bool has_file(const char *folder, const char *name)
{
    char above[PATH_SIZE];
    if (folder_lists(folder, name))
        return true;
    (void)snprintf(above, sizeof above, "%s", folder);
    for (char *slash = strchr(above + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)folder_lists(above, name);
        *slash = '/';
    }
    return folder_lists(folder, name);
}

/* The first rank that does not see the file now; the number of ranks: all do. */
static tutti_status first_without(const tutti_ranks_v1 *ranks, bool has, int32_t *all,
                                  int32_t *ret_rank, tutti_error *err)
{
    const int32_t size = ranks->size(ranks->ctx), mine = has;
    const tutti_status s = ranks->all_gather(ranks->ctx, &mine, all, sizeof mine, err);
    *ret_rank = 0;
    while (!s && *ret_rank < size && all[*ret_rank])
        ++*ret_rank;
    return s;
}

/* `file` of rank 0; empty where it has made none, and says why.  The ranks look in turns, so that none waits for another
 * one for longer than a turn. */
static tutti_status compare_ranks(const tutti_ranks_v1 *ranks, const char *folder,
                                  const char *file, tutti_error *err)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    const char *slash = strrchr(file, '/');
    const int32_t size = ranks->size(ranks->ctx);
    int32_t *all = calloc((size_t)size, sizeof *all), without = slash ? 0 : size;
    tutti_status s =
        all ? TUTTI_OK
            : tutti_fail(err, TUTTI_E_NOMEM, "checkpoint_saver: no memory for %d ranks", size);
    for (int k = 0; k < LOOKS && !s && without < size; k++) {
        if (k)
            (void)nanosleep(&pause, NULL);
        s = first_without(ranks, has_file(folder, slash + 1), all, &without, err);
    }
    if (!s && without < size)
        s = tutti_fail(err, TUTTI_E_STATE,
                       "checkpoint_saver: rank %d does not see rank 0's folder %.*s: with a "
                       "filename that ends in .index.json each rank writes a file there; want "
                       "a folder that all ranks share, or a filename that ends in .safetensors",
                       without, (int)(slash - file), file);
    free(all);
    return s;
}

tutti_status shared_folder_check(const tutti_ranks_v1 *ranks, const char *folder,
                                 tutti_status made, tutti_error *err)
{
    char file[PATH_SIZE] = "";
    tutti_error told = TUTTI_ERROR_INIT;
    if (!ranks || ranks->size(ranks->ctx) == 1)
        return made;
    const bool first = ranks->rank(ranks->ctx) == 0;
    if (first && !made)
        made = make_file(folder, file, err);
    tutti_status s = ranks->broadcast(ranks->ctx, file, sizeof file, 0, &told);
    if (!s)
        s = compare_ranks(ranks, folder, file, &told);
    if (first && file[0])
        (void)unlink(file);
    return made ? made : s ? tutti_fail(err, s, "%s", told.text) : TUTTI_OK;
}
