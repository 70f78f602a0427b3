/* place.h - where files go: a bucket of S3, or a folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REMOTE_UPLOADER_PLACE_H
#define REMOTE_UPLOADER_PLACE_H

#include "../../common/remote/remote.h"
#include "job.h"

typedef struct place {
    remote *remote;   /* NULL: a folder */
    char folder[800]; /* of file:// */
    uint64_t part;    /* bytes of a part; a larger file goes in several */
    bool (*must_end)(void *ctx);
    /* Waits as long as the server asks for. */
    void (*wait)(void *ctx, int64_t seconds);
    void *ctx;
} place;

/* Errors: E_ARG `uri` is neither s3://bucket/folder nor file:///folder; those of remote_open. */
TUTTI_NODISCARD tutti_status place_open(place *p, const char *uri, const char *endpoint,
                                        double silence_s, tutti_error *err);
void place_close(place *p);

/* Sends what is left of a job.  Errors: E_ARG it never will arrive; E_EXISTS another file has its name and is not to be
 * written over; E_IO may arrive another time; E_INTERRUPTED.  [any] */
TUTTI_NODISCARD tutti_status place_put(const place *p, job *j, tutti_error *err);

/* ---- s3.c, folder.c ---- */

TUTTI_NODISCARD tutti_status s3_put(const place *p, job *j, tutti_error *err);
TUTTI_NODISCARD tutti_status folder_put(const place *p, job *j, tutti_error *err);

#endif
