/* sources.c - the folders of a set: one, or the streams of several; here, or behind an address. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"

#include "cache.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folder's index and, with `url`, where its files come from. */
static tutti_status add_source(mds *m, const tutti_params *params, const char *folder,
                               const char *url, tutti_error *err)
{
    const remote_options from = {.who = "mds: remote",
                                 .url = url,
                                 .endpoint = tutti_param_str(params, "endpoint"),
                                 .retries = tutti_param_i64(params, "download_retry"),
                                 .silence_s = tutti_param_f64(params, "download_timeout"),
                                 .log = m->log};
    char index[4096];
    remote *there = NULL;
    if (!url)
        return mds_add(&m->set, folder, NULL, err);
    tutti_status s = remote_open(&from, &there, err);
    if (s)
        return s;
    (void)snprintf(index, sizeof index, "%s/index.json", folder);
    const int fetched = access(index, F_OK) != 0;
    if (fetched && (s = mds_remote_fetch(there, "index.json", index, NULL, 0, err))) {
        remote_close(there);
        return s;
    }
    s = mds_add(&m->set, folder, there, err);
    if (s && fetched)
        (void)unlink(index); /* what the server sent is no index */
    return s;
}

static tutti_status add_streams(mds *m, const tutti_params *params, tutti_error *err)
{
    const tutti_param *streams = tutti_param_find(params, "streams");
    const tutti_param *remotes = tutti_param_find(params, "remotes");
    if (tutti_param_is_set(params, "path") || tutti_param_is_set(params, "remote"))
        return tutti_fail(err, TUTTI_E_ARG,
                          "mds: want path and remote, or streams and remotes, not both");
    if (remotes->count && remotes->count != streams->count)
        return tutti_fail(err, TUTTI_E_ARG, "mds: there are %llu streams and %llu remotes",
                          (unsigned long long)streams->count,
                          (unsigned long long)remotes->count);
    tutti_status s = TUTTI_OK;
    for (uint64_t k = 0; k < streams->count && !s; k++) {
        const char *url = remotes->count ? remotes->items[k]->s : "";
        s = add_source(m, params, streams->items[k]->s, *url ? url : NULL, err);
    }
    return s;
}

tutti_status mds_open_set(mds *m, const tutti_params *params, tutti_error *err)
{
    const mds_cache_options kept = {(uint64_t)tutti_param_i64(params, "disk_mib") << 20,
                                    tutti_param_i64(params, "predownload")};
    const char *path = tutti_param_str(params, "path");
    const int many = tutti_param_find(params, "streams")->count > 0;
    tutti_status s;
    m->set.verify = (int32_t)tutti_param_i64(params, "verify");
    if (!path && !many)
        return tutti_fail(err, TUTTI_E_ARG, "mds: want path, or streams");
    s = many ? add_streams(m, params, err)
             : add_source(m, params, path, tutti_param_str(params, "remote"), err);
    if (s)
        return s;
    mds_seal(&m->set);
    for (uint32_t k = 0; k < m->set.nfolders; k++)
        if (m->set.folders[k].there)
            return mds_cache_open(&m->set, &kept, err);
    return TUTTI_OK;
}
