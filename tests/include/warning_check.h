/* warning_check.h - a log service that keeps the last text a plugin wrote. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WARNING_CHECK_H
#define WARNING_CHECK_H

#include "plugin_check.h"
#include "tutti/log.h"

#include <stdio.h>

static char warning_last[256]; /* "2 text": the level first */

static inline void warning_keep(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    (void)snprintf(warning_last, sizeof warning_last, "%d %s", level, text);
}

static inline void warning_forget(void)
{
    warning_last[0] = '\0';
}

static const tutti_log_v1 warning_log = {.struct_size = (uint32_t)sizeof warning_log,
                                         .write = warning_keep};
static const service warning_services[] = {{TUTTI_LOG_V1, &warning_log}, {NULL, NULL}};

#endif
