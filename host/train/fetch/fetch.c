/* fetch.c - a checkpoint of elsewhere in a folder of its own, until it is open. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/fetch/fetch.h"

#include "base/json.h"
#include "base/text.h"
#include "train/checkpoint_file/checkpoint_index.h"
#include "train/fetch/provider.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_SIZE = 1024, PATH_SIZE = 2048, INDEX_LIMIT = 100 << 20, ATTEMPTS = 2 };

struct fetched {
    char *address;
    const char *name; /* of the file, in the address */
    char folder[FOLDER_SIZE];
};

void fetched_free(fetched *f)
{
    if (!f)
        return;
    DIR *folder = f->folder[0] ? opendir(f->folder) : NULL;
    for (struct dirent *e = folder ? readdir(folder) : NULL; e; e = readdir(folder))
        (void)unlinkat(dirfd(folder), e->d_name, 0); /* "." and ".." stay */
    if (folder)
        (void)closedir(folder);
    if (f->folder[0])
        (void)rmdir(f->folder);
    free(f->address);
    free(f);
}

static tutti_status make_folder(const char *address, fetched **ret, tutti_error *err)
{
    const char *tmp = getenv("TMPDIR"), *slash = strrchr(address, '/');
    fetched *f = calloc(1, sizeof *f);
    if (!f || !(f->address = strdup(address))) {
        free(f);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to fetch it", address);
    }
    f->name = f->address + (slash + 1 - address);
    (void)snprintf(f->folder, sizeof f->folder, "%s/tutti-fetch-XXXXXX",
                   tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(f->folder)) {
        *ret = f;
        return TUTTI_OK;
    }
    const tutti_status s =
        tutti_fail(err, TUTTI_E_IO, "%.300s: cannot make a folder for it in %.300s: %s",
                   address, tmp && *tmp ? tmp : "/tmp", strerror(errno));
    f->folder[0] = '\0';
    fetched_free(f);
    return s;
}

/* ---- bringing ---- */

static int32_t must_end(void *asker)
{
    const fetch_source *from = asker;
    return from->must_end && from->must_end();
}

/* The file `name`, beside the one of the address. */
static tutti_status bring_file(const fetch_source *from, const provider *p, const fetched *f,
                               const char *name, tutti_error *err)
{
    char address[PATH_SIZE], path[PATH_SIZE];
    const int head = (int)(f->name - f->address);
    if (snprintf(address, sizeof address, "%.*s%s", head, f->address, name) >= PATH_SIZE ||
        snprintf(path, sizeof path, "%s/%s", f->folder, name) >= PATH_SIZE)
        return tutti_fail(err, TUTTI_E_ARG, "%.300s: the address is too long", f->address);
    const tutti_download what = {.struct_size = sizeof what,
                                 .name = address,
                                 .path = path,
                                 .must_end = must_end,
                                 .asker = (void *)(uintptr_t)from};
    instance_call c = instance_enter(p->instance, "download");
    const tutti_status s = p->files->download(p->files->ctx, &what, err);
    instance_leave(&c);
    return s;
}

static bool is_known(const json_node *map, size_t k)
{
    for (size_t before = 0; before < k; before++)
        if (strcmp(json_string(json_at(map, before)), json_string(json_at(map, k))) == 0)
            return true;
    return false;
}

/* The files that an index names, each once; whatever is wrong with it is told when it is opened. */
static tutti_status bring_shards(const fetch_source *from, const provider *p, const fetched *f,
                                 tutti_error *err)
{
    char path[PATH_SIZE];
    json_doc *index = NULL;
    tutti_error ignored = TUTTI_ERROR_INIT;
    tutti_status s = TUTTI_OK;
    (void)snprintf(path, sizeof path, "%s/%s", f->folder, f->name);
    if (!checkpoint_is_index(path) || json_read(path, INDEX_LIMIT, &index, &ignored))
        return TUTTI_OK;
    const json_node *map = json_get(json_root(index), "weight_map");
    for (size_t k = 0; k < json_count(map) && !s; k++) {
        const char *name = json_string(json_at(map, k));
        if (!name || strchr(name, '/') || !*name)
            break;
        if (!is_known(map, k))
            s = bring_file(from, p, f, name, err);
    }
    json_free(index);
    return s;
}

static tutti_status bring(const fetch_source *from, const char *address, fetched **ret,
                          tutti_error *err)
{
    provider p;
    fetched *f = NULL;
    tutti_status s = provider_open(from, address, &p, err);
    if (s)
        return s;
    s = make_folder(address, &f, err);
    if (!s && (s = bring_file(from, &p, f, f->name, err)) == TUTTI_OK)
        s = bring_shards(from, &p, f, err);
    provider_close(&p);
    if (s)
        fetched_free(f);
    else
        *ret = f;
    return s;
}

/* ---- opening ---- */

/* A sentence about a file of the folder is one about the address. */
static tutti_status say(const fetched *f, const tutti_error *why, tutti_error *err)
{
    const size_t here = strlen(f->folder) + 1;
    const bool begins = strncmp(why->text, f->folder, here - 1) == 0;
    return begins ? tutti_fail(err, why->status, "%.*s%s", (int)(f->name - f->address),
                               f->address, why->text + here)
                  : tutti_fail(err, why->status, "%s", why->text);
}

static tutti_status open_fetched(const fetched *f, checkpoint **ret, tutti_error *err)
{
    char path[PATH_SIZE];
    tutti_error why = TUTTI_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/%s", f->folder, f->name);
    const tutti_status s = checkpoint_open(path, ret, &why);
    if (s)
        return say(f, &why, err);
    checkpoint_rename(*ret, f->address);
    return TUTTI_OK;
}

/* ---- for other processes ---- */

/* What `ret->path` is now. */
static bool look(fetched_place *ret)
{
    struct stat s;
    if (stat(ret->path, &s) != 0)
        return false;
    ret->inode = (uint64_t)s.st_ino;
    ret->bytes = (uint64_t)s.st_size;
    ret->modified_ns = (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec;
    return true;
}

bool fetched_tell(const fetched *f, fetched_place *ret)
{
    char *folder = realpath(f->folder, NULL); /* other processes may have other folders */
    memset(ret, 0, sizeof *ret);
    const int n = folder ? snprintf(ret->path, sizeof ret->path, "%s/%s", folder, f->name) : -1;
    free(folder);
    return n > 0 && n < (int)sizeof ret->path && look(ret);
}

tutti_status fetch_open_there(const char *address, const fetched_place *at,
                              checkpoint **ret_checkpoint, tutti_error *err)
{
    fetched f = {.address = strdup(address)};
    fetched_place here = {.inode = 0};
    const char *slash = strrchr(at->path, '/');
    memcpy(here.path, at->path, sizeof here.path);
    if (!f.address)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to open it", address);
    f.name = f.address + (strrchr(address, '/') + 1 - address);
    (void)snprintf(f.folder, sizeof f.folder, "%.*s", slash ? (int)(slash - at->path) : 0,
                   at->path);
    const bool same = slash && look(&here) && here.inode == at->inode &&
                      here.bytes == at->bytes && here.modified_ns == at->modified_ns;
    const tutti_status s = same ? open_fetched(&f, ret_checkpoint, err)
                                : tutti_fail(err, TUTTI_E_NOTFOUND,
                                             "%s: not seen here, or another file", at->path);
    free(f.address);
    return s;
}

tutti_status fetch_open(const fetch_source *from, const char *path, fetched **kept,
                        checkpoint **ret_checkpoint, tutti_error *err)
{
    if (!text_is_address(path))
        return checkpoint_open(path, ret_checkpoint, err);
    if (*kept && strcmp((*kept)->address, path) == 0)
        return open_fetched(*kept, ret_checkpoint, err);
    tutti_error why = TUTTI_ERROR_INIT;
    tutti_status s = TUTTI_E_FORMAT;
    for (int k = 0; k < ATTEMPTS && s == TUTTI_E_FORMAT; k++) { /* as a network may damage it */
        fetched_free(*kept);
        *kept = NULL;
        why = (tutti_error)TUTTI_ERROR_INIT;
        s = bring(from, path, kept, &why);
        if (!s)
            s = open_fetched(*kept, ret_checkpoint, &why);
    }
    if (!s)
        return TUTTI_OK;
    fetched_free(*kept);
    *kept = NULL;
    return tutti_fail(err, s, "%s", why.text);
}
