/* files.h - tutti.files/1: files to and from other places. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_FILES_H
#define TUTTI_FILES_H

#include "base.h"

#if TUTTI_USE_MINOR >= 1
TUTTI_C_BEGIN

#define TUTTI_FILES_V1 "tutti.files/1" /* since 1.1 */

/* A file that is brought here.  since 1.1 */
typedef struct tutti_download {
    uint32_t struct_size;
    uint32_t reserved; /* write 0 */
    /* Of an object with the tag "scheme:https" a whole address, "https://host/a.safetensors"; else the name that upload
     * gave it. */
    const char *name;
    const char *path; /* where to; its folder is there */
    /* Asked about once a second, on the thread that calls: not 0 ends it.  NULL: nothing does. */
    int32_t (*must_end)(void *asker);
    void *asker;
} tutti_download;

/* A file that is sent elsewhere.  since 1.1 */
typedef struct tutti_upload {
    uint32_t struct_size;
    uint32_t overwrite;      /* 0: a file that has the name already stays */
    const char *remote_name; /* "small/checkpoints/ep1-ba10.safetensors" */
    const char *path;        /* of a regular file */
} tutti_upload;

/* Names of files that are elsewhere.  since 1.1 */
typedef struct tutti_listing {
    uint32_t struct_size;
    uint32_t reserved;  /* write 0 */
    const char *prefix; /* "small/checkpoints/" */
    /* Called on the thread that calls `list`, with the name of each file as upload has it, borrowed for the call.  A
     * status other than TUTTI_OK ends the listing, which fails with it and with what `err` says. */
    tutti_status (*each)(void *asker, const char *name, tutti_error *err);
    int32_t (*must_end)(void *asker); /* as in tutti_download */
    void *asker;
} tutti_listing;

/* Provided by a logger that sends files elsewhere, such as `remote_uploader`; the host hands a table of its own to
 * whoever asks, and gives each file to all such loggers of the run.  Also by an object that fetches what lies behind
 * addresses, such as `remote_downloader`: its tags say of which schemes, "scheme:s3", and the host opens it, without
 * a run or a service, for a checkpoint at such an address.  Members may be NULL.  since 1.1 */
typedef struct tutti_files_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx; /* the provider's; pass it back */
    /* Sends the file at what->path, as long as it is at the call: once that returns, the file may grow, be replaced by
     * another of its name, or be removed; what it has is not to be changed in place.  Returns without waiting for the
     * other place: what goes wrong there is the logger's to tell.  Texts are copied.  [step]
     * Errors: of the host: E_NOTFOUND the run has no such logger; of the provider: E_IO the file cannot be read or
     * taken, E_ARG the name cannot be one, E_STATE too many files wait. */
    tutti_status (*upload)(void *ctx, const tutti_upload *what, tutti_error *err);
    /* Returns once the file is at what->path, whole, or with nothing there.  What may pass is tried again.  Of the host:
     * the first of these loggers that has the file.  [control], [step]
     * Errors: E_NOTFOUND there is no such file, or nobody to ask; E_IO it is not reached, is refused, or does not come
     * whole; E_INTERRUPTED must_end; E_ARG the name cannot be one. */
    tutti_status (*download)(void *ctx, const tutti_download *what, tutti_error *err);
    /* Hands what->each the name of every file whose name begins with the prefix and has no "/" behind that, in no
     * order.  NULL: cannot.  [control], [step]
     * Errors: E_NOTFOUND nobody to ask; E_IO, E_INTERRUPTED as download; those of `each`. */
    tutti_status (*list)(void *ctx, const tutti_listing *what, tutti_error *err);
} tutti_files_v1;

TUTTI_C_END
#endif
#endif
