/* remote.h - files behind http, https or s3: one request, a file that is fetched, by libcurl. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_REMOTE_H
#define PLUGIN_REMOTE_H

#include "tutti/base.h"
#include "tutti/log.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct remote remote;

enum { REMOTE_ADDRESS = 2048, REMOTE_BODY = 4096, REMOTE_ETAG = 128 };

typedef struct remote_options {
    const char *who; /* begins the sentences of remote_open: "mds: remote" */
    const char *url; /* "https://host/folder", "s3://bucket/folder" */
    const char *
        endpoint; /* of a server that speaks S3: "https://host:port"; NULL: S3_ENDPOINT_URL, else Amazon's */
    int64_t retries;         /* of remote_fetch, after the first attempt */
    double silence_s;        /* how long a server may neither send nor take anything */
    const tutti_log_v1 *log; /* of the host, hears warnings; NULL: nobody does */
} remote_options;

/* Credentials for s3 are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the environment, and the
 * region AWS_REGION or AWS_DEFAULT_REGION; without them requests are not signed.  Texts are copied.
 * Errors: E_ARG an address of another kind; E_UNSUPPORTED a build without libcurl; E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status remote_open(const remote_options *options, remote **ret_remote,
                                         tutti_error *err);
void remote_close(remote *r); /* NULL is allowed */
/* Requests under way, and those to come, end soon with E_INTERRUPTED.  [any] */
void remote_stop(remote *r);

/* ---- one request ---- */

typedef struct remote_request {
    const char *method; /* "GET", "HEAD", "PUT", "POST", "DELETE" */
    const char *name;   /* of the file in the folder */
    const char
        *query; /* "partNumber=2&uploadId=x", escaped and in the order of names; NULL: none */
    const void *body; /* (size) */
    size_t size;
    FILE *file;    /* where the body of a good answer goes; NULL: to remote_answer.body */
    uint64_t most; /* bytes that the file may have */
    uint64_t from; /* GET: the first bytes are in `file` already, from an answer with `etag` */
    const char *etag;            /* with `from`; else NULL */
    bool (*must_end)(void *ctx); /* asked once a second; NULL: only remote_stop ends it */
    void *ctx;
} remote_request;

typedef struct remote_answer {
    long status;            /* 0: none came */
    int64_t wait_s;         /* that the server asks for before another attempt */
    int64_t length;         /* that it says the file has; -1: it does not say */
    uint64_t from;          /* the body begins there in the file: request.from, or 0 */
    uint64_t size;          /* bytes of the body */
    bool again;             /* what failed: another attempt may do better */
    char etag[REMOTE_ETAG]; /* as the server writes it; "": none */
    char body[REMOTE_BODY]; /* its beginning, ends with a zero */
} remote_answer;

/* *ret_answer is filled in whatever comes of it.  A server that does not go on at `from`, or has another file by now,
 * sends all of it, and what `file` had is gone.  Errors name the address: E_IO it is not reached, is silent, or its
 * status is not 2xx; E_NOTFOUND its status is 404; E_FORMAT more than `most`; E_INTERRUPTED; E_ARG the address is too
 * long; E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status remote_send(remote *r, const remote_request *request,
                                         remote_answer *ret_answer, tutti_error *err);

/* ---- a file ---- */

typedef struct remote_check {
    uint64_t most; /* bytes that it may have */
    /* Whether the file that has come is the right one; E_FORMAT: it is fetched again.  NULL: any is. */
    tutti_status (*check)(void *ctx, const char *path, uint64_t size, const char *address,
                          tutti_error *err);
    bool (*must_end)(void *ctx); /* as of requests, and between them; NULL: only remote_stop */
    void *ctx;                   /* of both */
    bool
        shared; /* other processes of the machine may want the same path: one fetches, the others wait and take its file */
} remote_check;

/* Fetches `name` to `path`, whose folders it makes; the file is there whole or not at all.  Failures that may pass are
 * tried again, after longer and longer waits; what was cut goes on where it ended if the server can do that and
 * says by an ETag that the file is the same.  `shared`: a lock (flock) on `path`.lock, which goes with the process
 * that has it, however that ends; a file that is there by then, and is the right one, is not fetched.  Errors: those of remote_send and of the check.  [any] */
TUTTI_NODISCARD tutti_status remote_fetch(remote *r, const char *name, const char *path,
                                          const remote_check *check, tutti_error *err);

#endif
