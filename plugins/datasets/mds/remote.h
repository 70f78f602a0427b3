/* remote.h - files of a set that lies behind http, https or s3, fetched by libcurl. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_REMOTE_H
#define PLUGIN_MDS_REMOTE_H

#include "shard.h"

typedef struct mds_remote mds_remote;

typedef struct mds_remote_options {
    const char *url; /* "https://host/folder", "s3://bucket/folder" */
    const char *
        endpoint; /* of a server that speaks S3: "https://host:port"; NULL: S3_ENDPOINT_URL, else Amazon's */
    int64_t retries;  /* after the first attempt */
    double silence_s; /* how long a server may send nothing */
} mds_remote_options;

/* Credentials for s3 are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the environment, and the
 * region AWS_REGION or AWS_DEFAULT_REGION; without them requests are not signed.
 * Errors: E_ARG an address of another kind; E_UNSUPPORTED a build without libcurl; E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status mds_remote_open(const mds_remote_options *options,
                                             mds_remote **ret_remote, tutti_error *err);
void mds_remote_close(mds_remote *r); /* NULL is allowed */

/* Fetches `name` to `path`, whose folders it makes; the file is there whole or not at all.  With `want` it has that many
 * bytes and, if `verify`, that hash.  Failures that may pass are tried again, after longer and longer waits.
 * Errors, which name the address: E_IO; E_FORMAT another size or hash each time; E_INTERRUPTED.  [any] */
TUTTI_NODISCARD tutti_status mds_remote_fetch(mds_remote *r, const char *name, const char *path,
                                              const mds_file *want, int32_t verify,
                                              tutti_error *err);
/* Fetches under way, and those to come, end soon with E_INTERRUPTED.  [any] */
void mds_remote_stop(mds_remote *r);

#endif
