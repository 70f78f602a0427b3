/* remote_copy.c - a checkpoint's files and the one that names the newest are given to tutti.files/1. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#define TUTTI_MIN_MINOR 0
#include "remote_copy.h"

#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REMOTE_NAME = 768 };

static const char link_end[] = ".symlink";

tutti_status remote_copy_check(const remote_copy *c, tutti_error *err)
{
    static const tutti_timestamp start;
    char probe[REMOTE_NAME];
    tutti_status s = TUTTI_OK;
    if (c->name)
        s = name_expand(c->name, c->run, &start, probe, sizeof probe, err);
    if (s == TUTTI_OK && c->latest)
        s = name_expand(c->latest, c->run, &start, probe, sizeof probe, err);
    return s;
}

static tutti_status send_one(const remote_copy *c, const char *remote, const char *folder,
                             const char *name, tutti_error *err)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return c->files->upload(c->files->ctx,
                            &(tutti_upload){.struct_size = sizeof(tutti_upload),
                                            .overwrite = c->overwrite,
                                            .remote_name = remote,
                                            .path = path},
                            err);
}

/* Beside the index, under their own names: it knows them by these. */
static tutti_status send_shards(const remote_copy *c, const char *folder, const char *name,
                                const char *remote, tutti_error *err)
{
    const char *slash = strrchr(remote, '/');
    const int head = slash ? (int)(slash - remote) + 1 : 0;
    tutti_status s = TUTTI_OK;
    DIR *dir = name_is_index(name) ? opendir(folder) : NULL;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e && !s; e = readdir(dir)) {
        char index[512], to[2 * REMOTE_NAME];
        if (!name_is_shard(e->d_name, index, sizeof index) || strcmp(index, name) != 0)
            continue;
        (void)snprintf(to, sizeof to, "%.*s%s", head, remote, e->d_name);
        s = send_one(c, to, folder, e->d_name, err);
    }
    if (dir)
        (void)closedir(dir);
    return s;
}

/* A file whose text is the newest checkpoint's name there; beside the link of here, and replaced as a whole. */
static tutti_status send_latest(const remote_copy *c, const char *link, const char *remote,
                                const tutti_timestamp *time, tutti_error *err)
{
    char to[REMOTE_NAME + sizeof link_end], path[1024], part[1040];
    tutti_status s = name_expand(c->latest, c->run, time, to, REMOTE_NAME, err);
    if (s)
        return s;
    (void)strcat(to, link_end);
    (void)snprintf(path, sizeof path, "%s%s", link, link_end);
    (void)snprintf(part, sizeof part, "%s.tmp", path);
    FILE *out = fopen(part, "we");
    const int written = out ? fputs(remote, out) : -1;
    if (!out || (fclose(out) != 0) | (written < 0) || rename(part, path) != 0)
        return tutti_fail(err, TUTTI_E_IO, "cannot write %s: %s", path, strerror(errno));
    return c->files->upload(c->files->ctx,
                            &(tutti_upload){.struct_size = sizeof(tutti_upload),
                                            .overwrite = 1,
                                            .remote_name = to,
                                            .path = path},
                            err);
}

tutti_status remote_copy_send(const remote_copy *c, const char *folder, const char *name,
                              const char *link, const tutti_timestamp *time, tutti_error *err)
{
    char remote[REMOTE_NAME];
    tutti_error why = TUTTI_ERROR_INIT;
    if (!c->files || !c->name)
        return TUTTI_OK;
    tutti_status s = name_expand(c->name, c->run, time, remote, sizeof remote, &why);
    if (!s)
        s = send_shards(c, folder, name, remote, &why);
    if (!s)
        s = send_one(c, remote, folder, name, &why);
    if (!s && c->latest)
        s = send_latest(c, link, remote, time, &why);
    return s == TUTTI_OK || s == TUTTI_E_NOTFOUND ? TUTTI_OK
                                                  : tutti_fail(err, s, "%s", why.text);
}
