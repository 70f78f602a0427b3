/* plugin.c - remote_downloader: the file behind an address of s3, https or this machine's http. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "../../common/remote/remote.h"
#include "../callback.h"
#include "tutti/files.h"

#include <string.h>

typedef struct downloader {
    tutti_files_v1 files;
    const char *endpoint;
    int64_t attempts;
    double silence_s;
} downloader;

/* What can be read on its way, or changed, comes from this machine alone. */
static bool is_loopback(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const size_t n = strlen(names[k]);
        if (strncmp(host, names[k], n) == 0 && strchr(":/", host[n]))
            return true;
    }
    return false;
}

/* "s3://bucket/folder" and "file" of the address. */
static tutti_status split_address(const char *address, char *folder, size_t room,
                                  const char **ret_name, tutti_error *err)
{
    static const char plain[] = "http://";
    const char *begin = strstr(address, "://"), *slash = strrchr(address, '/');
    if (!begin || slash < begin + 3 || !slash[1] || (size_t)(slash - address) >= room)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%.300s: is no address of a file, such as s3://bucket/name or "
                          "https://host/name",
                          address);
    if (strncmp(address, plain, sizeof plain - 1) == 0 &&
        !is_loopback(address + sizeof plain - 1))
        return tutti_fail(err, TUTTI_E_ARG,
                          "%.300s: http is for servers on this machine, whoever is between "
                          "could change the file; want https",
                          address);
    (void)snprintf(folder, room, "%.*s", (int)(slash - address), address);
    *ret_name = slash + 1;
    return TUTTI_OK;
}

static bool remote_downloader_must_end(void *ctx)
{
    const tutti_download *what = ctx;
    return what->must_end && what->must_end(what->asker);
}

static tutti_status remote_downloader_download(void *ctx, const tutti_download *what,
                                               tutti_error *err)
{
    const downloader *d = ctx;
    tutti_download asked = *what;
    char folder[REMOTE_ADDRESS];
    const char *name = "";
    remote *there = NULL;
    tutti_status s = split_address(what->name, folder, sizeof folder, &name, err);
    const remote_options options = {.who = what->name,
                                    .url = folder,
                                    .endpoint = d->endpoint,
                                    .retries = d->attempts - 1,
                                    .silence_s = d->silence_s};
    if (s || (s = remote_open(&options, &there, err)))
        return s;
    const remote_check check = {
        .most = UINT64_MAX, .must_end = remote_downloader_must_end, .ctx = &asked};
    s = remote_fetch(there, name, what->path, &check, err);
    remote_close(there);
    return s;
}

static tutti_status remote_downloader_open(const tutti_host *host, const tutti_params *params,
                                           void **ret_self, tutti_error *err)
{
    downloader *d = calloc(1, sizeof *d);
    (void)host;
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "remote_downloader: no memory");
    d->files = (tutti_files_v1){
        .struct_size = sizeof d->files, .ctx = d, .download = remote_downloader_download};
    d->endpoint = tutti_param_str(params, "endpoint");
    d->attempts = tutti_param_i64(params, "num_attempts");
    d->silence_s = tutti_param_f64(params, "silence_timeout");
    *ret_self = d;
    return TUTTI_OK;
}

static const void *remote_downloader_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_FILES_V1) == 0 ? &((downloader *)self)->files : NULL;
}

CALLBACK_PLUGIN("remote_downloader", .open = remote_downloader_open, .close = callback_close,
                .query = remote_downloader_query);
