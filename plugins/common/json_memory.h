/* json_memory.h - whether jansson could not read a text because memory was out, which it tells of few of its failures. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_JSON_MEMORY_H
#define PLUGIN_JSON_MEMORY_H

#include "tutti/base.h"

#include <errno.h>
#include <jansson.h>

/* Before a text is read.  malloc sets errno, jansson leaves it.  [any] */
static inline void json_memory_watch(void)
{
    errno = 0;
}

/* After it could not be read by this thread: E_NOMEM, or OK where the text is wrong.  [any] */
TUTTI_NODISCARD static inline tutti_status json_memory_told(const char *who, tutti_error *err)
{
    return errno == ENOMEM ? tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", who)
                           : TUTTI_OK;
}

#endif
