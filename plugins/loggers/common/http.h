/* http.h - requests by libcurl on an outbox's thread: nothing outlasts the outbox, a failure is one sentence. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOGGERS_HTTP_H
#define LOGGERS_HTTP_H

#include "outbox.h"

typedef struct http http;

enum { HTTP_HEADERS = 8, HTTP_LARGEST_ANSWER = 1 << 20 };

typedef struct http_request {
    const char *method; /* "POST" */
    const char *url;
    const char *headers[HTTP_HEADERS]; /* "Content-Type: application/json"; NULL: no more */
    const char *body;                  /* NULL: none */
    size_t size;
} http_request;

typedef struct http_answer {
    long status;         /* 200 */
    int64_t retry_after; /* seconds that the server asks for; 0: it does not say */
    char *body;          /* ends with a zero, the client's until its next request; never NULL */
    size_t size;
} http_answer;

/* `who` begins each sentence.  Before the thread uses it.  [control] */
TUTTI_NODISCARD tutti_status http_create(const char *who, http **ret_http, tutti_error *err);
void http_destroy(http *h);

/* What the server answers, whatever its status.  Errors: E_IO it cannot be reached, is silent for 30 s, or does not
 * speak HTTP; E_INTERRUPTED outbox_must_end. */
TUTTI_NODISCARD tutti_status http_send(http *h, outbox *o, const http_request *request,
                                       http_answer *ret_answer, tutti_error *err);
/* What an answer means to an outbox: TUTTI_OK for 2xx.  Errors: E_IO to be tried again (408, 429, 5xx, and what
 * is no answer to such a request), after a wait that the server asks for; E_ARG refused for good (other 4xx).  `what`
 * is "the message". */
TUTTI_NODISCARD tutti_status http_judge(http *h, outbox *o, const http_answer *answer,
                                        const char *what, tutti_error *err);
/* The server's name of the last request, without what may be secret: "hooks.slack.com". */
const char *http_host(const http *h);

#endif
