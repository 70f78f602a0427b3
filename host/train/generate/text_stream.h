/* text_stream.h - bytes that come in pieces become whole characters of UTF-8, up to a stop text. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_GENERATE_TEXT_STREAM_H
#define HOST_TRAIN_GENERATE_TEXT_STREAM_H

#include "base/text.h"

#include <stdbool.h>

/* Starts as zeros with its `stops`. */
typedef struct text_stream {
    const char *const
        *stops; /* texts that end it and are no part of it; a NULL ends them; may be NULL */
    text_buffer all; /* its `data` is NULL before the first byte */
    size_t told;     /* bytes that have been given away */
    bool stopped;    /* by a stop text, where `all` now ends */
} text_stream;

/* Takes the bytes of one more token.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status text_stream_add(text_stream *s, const char *bytes, size_t n,
                                             tutti_error *err);
/* The next bytes that are certain: whole characters that no stop text can begin in.  With `end`, or once it is
 * stopped, all that is left.  Bytes that are no UTF-8 come out as U+FFFD each.  The caller frees the
 * text; NULL: out of memory. */
char *text_stream_take(text_stream *s, bool end);
void text_stream_fini(text_stream *s);

#endif
