/* log.h - tutti.log/1: messages to the run's loggers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_LOG_H
#define TUTTI_LOG_H

#include "logger.h"

TUTTI_C_BEGIN

#define TUTTI_LOG_V1 "tutti.log/1"

typedef struct tutti_log_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* One line, no newline; the host adds time and the object's name.  [any] */
    void (*write)(void *ctx, int32_t level, const char *text);
} tutti_log_v1;

TUTTI_C_END
#endif
