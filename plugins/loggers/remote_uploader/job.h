/* job.h - a file on its way: a copy or link that stays as it was, and what is known of its upload. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REMOTE_UPLOADER_JOB_H
#define REMOTE_UPLOADER_JOB_H

#include "tutti/base.h"

#include <stdbool.h>

enum { JOB_PATH = 800, JOB_NAME = 1024, JOB_UPLOAD = 512, JOB_ETAG = 128, JOB_PARTS = 10000 };

/* Two files of the staging folder: NUMBER.data, and NUMBER.job, lines of words that are added to as the upload goes on.
 * A job is there once its .job is; what was uploaded before a kill is known after it. */
typedef struct job {
    char file[JOB_PATH]; /* .job */
    char data[JOB_PATH];
    char name[JOB_NAME]; /* at the destination */
    uint64_t size;       /* bytes that are sent; the file may have grown since */
    bool overwrite;
    bool begun;              /* something was sent under this name */
    char upload[JOB_UPLOAD]; /* of several parts; "": none is open */
    uint64_t part;           /* bytes of one */
    char (
        *etags)[JOB_ETAG]; /* by part from 0, "": it has not arrived; NULL: none has.  Owned */
} job;

/* Makes job `number`.  Errors: E_IO, E_NOMEM, E_ARG the name has a line break or is too long. */
TUTTI_NODISCARD tutti_status job_make(const char *folder, uint64_t number, const char *name,
                                      const char *path, bool overwrite, tutti_error *err);
/* *ret_there is false where there is no such job, or no longer.  Errors: E_IO, E_NOMEM; E_ARG it cannot be read. */
TUTTI_NODISCARD tutti_status job_open(job *j, const char *folder, uint64_t number,
                                      bool *ret_there, tutti_error *err);
void job_close(job *j);
/* The file has arrived, or never will. */
void job_remove(const job *j);
void job_remove_number(const char *folder, uint64_t number);

/* What the upload has come to, for after a kill; what cannot be noted is sent again then. */
void job_note_begun(job *j);
void job_note_upload(job *j, const char *upload, uint64_t part);
TUTTI_NODISCARD tutti_status job_note_part(job *j, uint32_t k, const char *etag,
                                           tutti_error *err);
/* The destination does not know the upload any more. */
void job_forget_upload(job *j);

/* Calls `each` for the jobs of the folder, the oldest first, and removes what was left half made. */
TUTTI_NODISCARD tutti_status job_list(const char *folder,
                                      void (*each)(void *ctx, uint64_t number), void *ctx,
                                      tutti_error *err);

#endif
