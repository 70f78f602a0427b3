/* fetch.c - a shard's file lies in the cache folder under its address. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch.h"

#include "tar.h"
#include "unpack.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

int fetch_is_address(const char *path)
{
    const size_t n = strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    return n > 0 && strncmp(path + n, "://", 3) == 0;
}

/* Whether it is compressed, or an archive to its end: what may come is a page that asks to sign in. */
static tutti_status webdataset_check_archive(void *ctx, const char *path, uint64_t size,
                                             const char *address, tutti_error *err)
{
    mapped_file file;
    tar_file entry;
    char why[TAR_WHY_SIZE] = "";
    int32_t more = 1;
    tar_reader *tar = malloc(sizeof *tar);
    (void)ctx;
    (void)size;
    if (!tar)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", address);
    const tutti_status s = mapped_file_open(&file, path, err);
    if (s) {
        free(tar);
        return s;
    }
    tar_begin(tar, file.data, file.size);
    while (!unpack_is_packed(&file) && (more = tar_next(tar, &entry, why)) == 1)
        continue;
    mapped_file_close(&file);
    free(tar);
    return more < 0 ? tutti_fail(err, TUTTI_E_FORMAT, "%s: is no archive: %s", address, why)
                    : TUTTI_OK;
}

/* The address's folder; shards of one folder share what is known of the server. */
static tutti_status open_folder(wds_fetch *f, const char *address, size_t size,
                                tutti_error *err)
{
    if (size >= sizeof f->base)
        return tutti_fail(err, TUTTI_E_ARG, "%s: the address is too long", address);
    if (f->from && strlen(f->base) == size && memcmp(f->base, address, size) == 0)
        return TUTTI_OK;
    fetch_end(f);
    memcpy(f->base, address, size);
    f->base[size] = '\0';
    const remote_options from = {.who = "webdataset: path",
                                 .url = f->base,
                                 .endpoint = f->source->endpoint,
                                 .retries = f->source->retries,
                                 .silence_s = f->source->silence_s,
                                 .log = f->source->log};
    return remote_open(&from, &f->from, err);
}

tutti_status fetch_source(wds_source *x, const tutti_params *params, const tutti_log_v1 *log,
                          tutti_error *err)
{
    const char *folder = tutti_param_str(params, "cache_folder");
    const char *endpoint = tutti_param_str(params, "endpoint");
    *x = (wds_source){.folder = folder ? strdup(folder) : NULL,
                      .endpoint = endpoint ? strdup(endpoint) : NULL,
                      .retries = tutti_param_i64(params, "download_retry"),
                      .silence_s = tutti_param_f64(params, "download_timeout"),
                      .log = log};
    if ((folder && !x->folder) || (endpoint && !x->endpoint))
        return tutti_fail(err, TUTTI_E_NOMEM, "webdataset: no memory");
    return TUTTI_OK;
}

void fetch_source_free(wds_source *x)
{
    free(x->folder);
    free(x->endpoint);
    *x = (wds_source){0};
}

tutti_status fetch_shard(wds_fetch *f, const char *address, char **ret_path, tutti_error *err)
{
    static const remote_check check = {
        .most = UINT64_C(1) << 50, .check = webdataset_check_archive, .shared = true};
    const char *folder = f->source->folder;
    const char *rest = strstr(address, "://") + 3, *name = strrchr(address, '/') + 1;
    char here[PATH_ROOM];
    if (!folder)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "webdataset: path is %s, want cache_folder too, where shards are kept", address);
    const int length = snprintf(here, sizeof here, "%s/%s", folder, rest);
    if (strstr(rest, "..") || name <= rest || !*name || length >= (int)sizeof here)
        return tutti_fail(err, TUTTI_E_ARG, "%s: want the address of a file, without \"..\"",
                          address);
    tutti_status s = TUTTI_OK;
    if (access(here, F_OK) != 0 &&
        !(s = open_folder(f, address, (size_t)(name - 1 - address), err)))
        s = remote_fetch(f->from, name, here, &check, err);
    if (s)
        return s;
    *ret_path = strdup(here);
    return *ret_path ? TUTTI_OK
                     : tutti_fail(err, TUTTI_E_NOMEM, "webdataset: no memory for the shards");
}

void fetch_end(wds_fetch *f)
{
    remote_close(f->from);
    f->from = NULL;
}
