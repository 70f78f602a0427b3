/* remote.h - files of a set that lies behind http, https or s3, checked against its index. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_REMOTE_H
#define PLUGIN_MDS_REMOTE_H

#include "../../common/remote/remote.h"
#include "shard.h"

/* Fetches `name` to `path`, whose folders it makes; the file is there whole or not at all.  With `want` it has that many
 * bytes and, if `verify`, that hash; else it is fetched again.  Of several processes that want it one fetches it.  Errors: those of remote_fetch.  [any] */
TUTTI_NODISCARD tutti_status mds_remote_fetch(remote *r, const char *name, const char *path,
                                              const mds_file *want, int32_t verify,
                                              tutti_error *err);

#endif
