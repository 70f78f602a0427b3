/* remote_fetch.c - a checkpoint that was sent elsewhere comes back. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#define TUTTI_MIN_MINOR 0
#include "names.h"
#include "remote_copy.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REMOTE_NAME = 768 };

/* What names are looked for, and what was found. */
typedef struct search {
    const remote_copy *copy;
    name_time below, found; /* the latest before `below`; batch -1: none */
    char name[REMOTE_NAME];
} search;

static tutti_status checkpoint_saver_take_newer(void *ctx, const char *name, tutti_error *err)
{
    search *f = ctx;
    name_time time;
    (void)err;
    if (!name_match(f->copy->name, f->copy->run, name, &time) || time.batch < 0 ||
        !name_is_later(time, f->found) || !name_is_later(f->below, time) ||
        strlen(name) >= sizeof f->name)
        return TUTTI_OK;
    f->found = time;
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    return TUTTI_OK;
}

/* The names as far as they are the same for all checkpoints. */
static void common_prefix(const remote_copy *c, char *to, size_t size)
{
    static const char run[] = "{run_name}";
    size_t n = 0;
    to[0] = '\0';
    for (const char *p = c->name; *p && n + 1 < size;) {
        const bool is_run = strncmp(p, run, sizeof run - 1) == 0;
        if (*p == '{' && !is_run)
            return;
        n += (size_t)snprintf(to + n, size - n, "%.*s", is_run ? (int)size : 1,
                              is_run ? c->run : p);
        p += is_run ? sizeof run - 1 : 1;
    }
}

static tutti_status get_file(const remote_copy *c, const char *remote, const char *path,
                             tutti_error *err)
{
    const tutti_download what = {.struct_size = sizeof what, .name = remote, .path = path};
    return c->files->download(c->files->ctx, &what, err);
}

/* The name in the small file. */
static tutti_status read_latest(const remote_copy *c, const char *folder, search *f,
                                tutti_error *err)
{
    static const tutti_timestamp start;
    char remote[REMOTE_NAME + 16], path[1024];
    tutti_status s =
        c->latest
            ? name_expand(c->latest, c->run, &start, remote, REMOTE_NAME, err)
            : tutti_fail(err, TUTTI_E_NOTFOUND, "names of checkpoints there have no batch");
    if (s)
        return s;
    (void)strcat(remote, ".symlink");
    (void)snprintf(path, sizeof path, "%s/.latest.symlink", folder);
    if ((s = get_file(c, remote, path, err)))
        return s;
    FILE *in = fopen(path, "re");
    const bool has = in && fgets(f->name, sizeof f->name, in);
    if (in)
        (void)fclose(in);
    (void)unlink(path);
    f->name[strcspn(f->name, "\r\n")] = '\0';
    return has && *f->name
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_IO, "checkpoint_saver: %s names no file", remote);
}

static tutti_status find_file(const remote_copy *c, uint32_t k, const char *folder, search *f,
                              tutti_error *err)
{
    char prefix[REMOTE_NAME];
    const tutti_listing what = {.struct_size = sizeof what,
                                .prefix = prefix,
                                .each = checkpoint_saver_take_newer,
                                .asker = f};
    tutti_status s = TUTTI_OK;
    f->copy = c;
    f->below = (name_time){INT64_MAX, 0};
    common_prefix(c, prefix, sizeof prefix);
    for (uint32_t n = 0; n <= k && !s; n++) {
        f->found = (name_time){-1, -1};
        s = c->files->list(c->files->ctx, &what, err);
        if (!s && f->found.batch < 0)
            return k == 0 && !strstr(c->name, "{batch}")
                       ? read_latest(c, folder, f, err)
                       : tutti_fail(err, TUTTI_E_NOTFOUND, "%s: no checkpoint there", prefix);
        f->below = f->found;
    }
    return s;
}

/* ---- shards ---- */

typedef struct shards {
    const remote_copy *copy;
    const char *index; /* the name of here */
    const char *folder;
} shards;

static tutti_status checkpoint_saver_get_shard(void *ctx, const char *name, tutti_error *err)
{
    const shards *s = ctx;
    const char *slash = strrchr(name, '/'), *own = slash ? slash + 1 : name;
    char index[512], path[1400];
    if (!name_is_shard(own, index, sizeof index) || strcmp(index, s->index) != 0)
        return TUTTI_OK;
    (void)snprintf(path, sizeof path, "%s/%s", s->folder, own);
    return get_file(s->copy, name, path, err);
}

static void make_folders(const char *path)
{
    char folder[1024];
    (void)snprintf(folder, sizeof folder, "%s/", path);
    for (char *c = strchr(folder + 1, '/'); c; c = strchr(c + 1, '/')) {
        *c = '\0';
        (void)mkdir(folder, 0777); /* what fails is told when a file is made */
        *c = '/';
    }
}

tutti_status remote_copy_fetch(const remote_copy *c, uint32_t k, const char *folder,
                               char *ret_name, size_t size, tutti_error *err)
{
    search f = {.name = ""};
    char path[1400];
    if (!c->files || !c->name || !TUTTI_HAS(c->files, tutti_files_v1, list) ||
        !c->files->list || !c->files->download)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "no checkpoint is sent elsewhere");
    make_folders(folder);
    tutti_status s = find_file(c, k, folder, &f, err);
    if (s)
        return s;
    const char *slash = strrchr(f.name, '/'), *own = slash ? slash + 1 : f.name;
    const size_t head = (size_t)(own - f.name);
    (void)snprintf(ret_name, size, "%s", own);
    if (name_is_index(own)) { /* the index last: it says that they are there */
        char prefix[REMOTE_NAME];
        shards all = {c, own, folder};
        const tutti_listing what = {.struct_size = sizeof what,
                                    .prefix = prefix,
                                    .each = checkpoint_saver_get_shard,
                                    .asker = &all};
        (void)snprintf(prefix, sizeof prefix, "%.*s", (int)head, f.name);
        s = c->files->list(c->files->ctx, &what, err);
        if (s)
            return s;
    }
    (void)snprintf(path, sizeof path, "%s/%s", folder, own);
    return get_file(c, f.name, path, err);
}
