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
};

/* base/name?query.  Errors: E_ARG. */
TUTTI_NODISCARD tutti_status remote_address(const remote *r, const char *name,
                                            const char *query, char ret[REMOTE_ADDRESS],
                                            tutti_error *err);
bool remote_is_stopped(const remote *r);

#endif
