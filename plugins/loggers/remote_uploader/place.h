/* place.h - where files go: a bucket of S3, or a folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REMOTE_UPLOADER_PLACE_H
#define REMOTE_UPLOADER_PLACE_H

#include "../../common/remote/remote.h"
#include "job.h"
#include "tutti/files.h"

typedef struct place {
    remote *remote;   /* NULL: a folder */
    remote *bucket;   /* which is asked for names; NULL: a folder */
    const char *head; /* of a bucket: the folder in it, "" or "deep/folder"; borrowed */
    char folder[800]; /* of file:// */
    uint64_t part;    /* bytes of a part; a larger file goes in several */
    bool (*must_end)(void *ctx);
    /* Waits as long as the server asks for. */
    void (*wait)(void *ctx, int64_t seconds);
    void *ctx;
} place;

/* `uri` outlives it.  Errors: E_ARG `uri` is neither s3://bucket/folder nor file:///folder; those of remote_open. */
TUTTI_NODISCARD tutti_status place_open(place *p, const char *uri, const char *endpoint,
                                        double silence_s, tutti_error *err);
void place_close(place *p);

/* Sends what is left of a job.  Errors: E_ARG it never will arrive; E_EXISTS another file has its name and is not to be
 * written over; E_IO may arrive another time; E_INTERRUPTED.  [any] */
TUTTI_NODISCARD tutti_status place_put(const place *p, job *j, tutti_error *err);

/* Brings the file `name` to what->path; `must_end` is asked beside what's own.  Errors: as tutti.files/1.  [any] */
TUTTI_NODISCARD tutti_status place_get(const place *p, const char *name,
                                       const tutti_download *what, tutti_error *err);

/* Calls what->each with every name that begins with the prefix and has no "/" behind it; `must_end` is asked beside
 * what's own.  Errors: as tutti.files/1.  [any] */
TUTTI_NODISCARD tutti_status place_list(const place *p, const tutti_listing *what,
                                        tutti_error *err);

/* ---- s3.c, s3_list.c, folder.c ---- */

TUTTI_NODISCARD tutti_status s3_put(const place *p, job *j, tutti_error *err);
TUTTI_NODISCARD tutti_status s3_list(const place *p, const tutti_listing *what,
                                     tutti_error *err);
TUTTI_NODISCARD tutti_status folder_put(const place *p, job *j, tutti_error *err);
TUTTI_NODISCARD tutti_status folder_get(const place *p, const char *name, const char *target,
                                        tutti_error *err);
TUTTI_NODISCARD tutti_status folder_list(const place *p, const tutti_listing *what,
                                         tutti_error *err);

#endif
