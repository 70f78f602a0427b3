/* fetch.h - shards behind http, https and s3, kept as files here. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEBDATASET_FETCH_H
#define PLUGIN_WEBDATASET_FETCH_H

#include "../../common/remote/remote.h"

#include "tutti/params.h"

/* Where shards come from and go; starts as zeros but for `params`. */
typedef struct wds_fetch {
    const tutti_params *params;
    remote *from;              /* NULL: none yet */
    char base[REMOTE_ADDRESS]; /* its folder */
} wds_fetch;

/* Whether it is an address, such as "s3://bucket/0.tar", and no path. */
int fetch_is_address(const char *path);

/* Puts the path of the shard's file here in the place of its address `*path`, which is freed.  The file is fetched unless an
 * earlier run has; it is there whole or not at all.
 * Errors, which name the address: E_ARG there is no cache_folder, or ".." in the address; those of remote_fetch; E_FORMAT what
 * the server sends is no archive.  [control] */
TUTTI_NODISCARD tutti_status fetch_shard(wds_fetch *f, char **path, tutti_error *err);
void fetch_end(wds_fetch *f);

#endif
