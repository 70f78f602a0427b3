/* fetch.h - shards behind http, https and s3, kept as files here. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEBDATASET_FETCH_H
#define PLUGIN_WEBDATASET_FETCH_H

#include "../../common/remote/remote.h"

#include "tutti/params.h"

/* How shards are fetched, and where to; copies of settings. */
typedef struct wds_source {
    char *folder;   /* NULL: the run names none */
    char *endpoint; /* NULL: that of the environment */
    int64_t retries;
    double silence_s;
    const tutti_log_v1 *log; /* NULL: nobody hears */
} wds_source;

/* `x` is for fetch_source_free even after an error.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status fetch_source(wds_source *x, const tutti_params *params,
                                          const tutti_log_v1 *log, tutti_error *err);
void fetch_source_free(wds_source *x);

/* One after the other; starts as zeros but for `source`. */
typedef struct wds_fetch {
    const wds_source *source;
    remote *from;              /* NULL: none yet */
    char base[REMOTE_ADDRESS]; /* its folder */
} wds_fetch;

/* Whether it is an address, such as "s3://bucket/0.tar", and no path. */
int fetch_is_address(const char *path);

/* Fetches the shard at `address` unless its file is here; *ret_path is that, malloced.  The file is there whole or not at
 * all; of several processes that want it one fetches it.
 * Errors, which name the address: E_ARG there is no cache_folder, or ".." in the address; those of remote_fetch; E_FORMAT what
 * the server sends is no archive.  [any] */
TUTTI_NODISCARD tutti_status fetch_shard(wds_fetch *f, const char *address, char **ret_path,
                                         tutti_error *err);
void fetch_end(wds_fetch *f);

#endif
