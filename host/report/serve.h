/* serve.h - a page and a stream of its changes for browsers on this machine, over HTTP. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_SERVE_H
#define HOST_REPORT_SERVE_H

#include "base/text.h"

#include <signal.h>

/* What happened since the last look. */
enum { SERVE_NOTHING, SERVE_CHANGE, SERVE_AGAIN, SERVE_END };

typedef struct serve_calls {
    void *ctx;
    /* It listens; `port` is the one that was found where 0 was asked for. */
    void (*begun)(void *ctx, uint16_t port);
    /* The page; `number` is that of the last event, with which its script asks for those behind it. */
    tutti_status (*page)(void *ctx, uint64_t number, text_buffer *b, tutti_error *err);
    /* Looks once; of a change `b` gets one line. */
    tutti_status (*look)(void *ctx, text_buffer *b, int *ret_what, tutti_error *err);
    /* A signal has asked to stop. */
    const volatile sig_atomic_t *stopped;
} serve_calls;

/* Serves GET / and GET /events?after=NUMBER to this machine alone until a look says SERVE_END, which all streams are told
 * first, or until `stopped`.  Events are of the server-sent kind: "change" with the line, "again" where the page has to
 * be loaded anew, "end".  Whoever asks by another host's name, with another method or for another path gets a refusal.
 * Errors: E_IO the port cannot be had; E_NOMEM; those of the calls; E_UNSUPPORTED this build lacks libmicrohttpd.
 * [control] */
TUTTI_NODISCARD tutti_status serve(const serve_calls *calls, uint16_t port, tutti_error *err);

#endif
