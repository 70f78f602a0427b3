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
    uint32_t reserved;
    /* Of an object with the tag "scheme:https" a whole address, "https://host/a.safetensors"; else the name that upload
     * gave it. */
    const char *name;
    const char *path; /* where to; its folder is there */
    /* Asked about once a second, on the thread that calls: not 0 ends it.  NULL: nothing does. */
    int32_t (*must_end)(void *asker);
    void *asker;
} tutti_download;

/* Provided by a logger that sends files elsewhere, such as `remote_uploader`; the host hands a table of its own to
 * whoever asks, and gives each file to all such loggers of the run.  Also by an object that fetches what lies behind
 * addresses, such as `remote_downloader`: its tags say of which schemes, "scheme:s3", and the host opens it, without
 * a run or a service, for a checkpoint at such an address.  Members may be NULL.  since 1.1 */
typedef struct tutti_files_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx; /* the provider's; pass it back */
    /* Sends the regular file at `path` to `remote_name` ("small/checkpoints/ep1-ba10.safetensors"), as long as it is at
     * the call: once that returns, the file may grow, be replaced by another of its name, or be removed; what it
     * has is not to be changed in place.  Returns without waiting for the other place: what goes wrong there is the logger's
     * to tell.  With `overwrite` 0 a file that has the name already stays.  Texts are copied.  [step]
     * Errors: of the host: E_NOTFOUND the run has no such logger; of the provider: E_IO the file cannot be read or
     * taken, E_ARG the name cannot be one, E_STATE too many files wait. */
    tutti_status (*upload)(void *ctx, const char *remote_name, const char *path,
                           int32_t overwrite, tutti_error *err);
    /* Returns once the file is at what->path, whole, or with nothing there.  What may pass is tried again.  Of the host:
     * the first of these loggers that has the file.  [control], [step]
     * Errors: E_NOTFOUND there is no such file, or nobody to ask; E_IO it is not reached, is refused, or does not come
     * whole; E_INTERRUPTED must_end; E_ARG the name cannot be one. */
    tutti_status (*download)(void *ctx, const tutti_download *what, tutti_error *err);
    /* Hands `each` the name, as upload has it, of every file whose name begins with `prefix` ("small/checkpoints/") and
     * has no "/" behind that; borrowed for the call.  NULL: cannot.  [control], [step]
     * Errors: E_NOTFOUND nobody to ask; E_IO as download. */
    tutti_status (*list)(void *ctx, const char *prefix,
                         void (*each)(void *asker, const char *name), void *asker,
                         tutti_error *err);
} tutti_files_v1;

TUTTI_C_END
#endif
#endif
