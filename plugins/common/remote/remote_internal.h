/* remote_internal.h - what the files of this folder share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_REMOTE_INTERNAL_H
#define PLUGIN_REMOTE_INTERNAL_H

#include "remote.h"

struct remote {
    int64_t retries;
    double silence_s;
    char base[REMOTE_ADDRESS]; /* of addresses; no "/" at its end */
    char signer[128];          /* "aws:amz:REGION:s3"; "": requests are not signed */
    char credentials[512];     /* "KEY:SECRET" */
    char token_header[2048];   /* "": none */
    int stop;                  /* atomic */
    uint32_t fetches;          /* atomic: names of parts */
    const tutti_log_v1 *log;   /* NULL: nobody hears */
};

enum { REMOTE_LONGEST_WAIT_MS = 30000 }; /* between two attempts */
#define REMOTE_PART ".part-" /* behind a file's path: what has come so far; then PID-NUMBER */

/* A process's turn to fetch a file. */
typedef struct remote_turn {
    int fd; /* has the lock; -1: none */
    int error;
    char path[4096]; /* of the lock's file */
} remote_turn;

/* Whether a fetch is to end: by remote_stop, or as `check` says. */
bool remote_must_end(const remote *r, const remote_check *check);
/* turns.c: waits until no other process fetches `path`, for as long as one of them gets on, and takes the turn; `part` is
 * the path that it is fetched to first; that of one who died is removed.  Where there are no locks, or that process stands
 * still, it goes on without.  False: remote_must_end.  [any] */
bool remote_turn_take(remote *r, const remote_check *check, const char *path, const char *part,
                      remote_turn *t);
void remote_turn_end(remote_turn *t);

/* base/name?query.  Errors: E_ARG. */
TUTTI_NODISCARD tutti_status remote_address(const remote *r, const char *name,
                                            const char *query, char ret[REMOTE_ADDRESS],
                                            tutti_error *err);
bool remote_is_stopped(const remote *r);

#endif
