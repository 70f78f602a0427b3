/* plugin.c - channels_last: images and convolutions lie with channels last, as they do here anyway. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"
#include "tutti/log.h"

static tutti_status channels_last_open(const tutti_host *host, const tutti_params *params,
                                       void **ret_self, tutti_error *err)
{
    (void)params, (void)err;
    *ret_self = (void *)(uintptr_t)host; /* nothing else to remember */
    return TUTTI_OK;
}

static tutti_status channels_last_close(void *self, tutti_error *err)
{
    (void)self, (void)err;
    return TUTTI_OK;
}

static int32_t channels_last_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_INIT;
}

static tutti_status channels_last_apply(void *self, const tutti_event *event,
                                        int64_t *ret_exit_code, tutti_error *err)
{
    const tutti_host *host = self;
    (void)event, (void)ret_exit_code, (void)err;
    const tutti_log_v1 *log = host->query(host->ctx, TUTTI_LOG_V1);
    if (log)
        log->write(log->ctx, TUTTI_LOG_INFO,
                   "channels_last changes nothing: images always lie as (B, H, W, C)");
    return TUTTI_OK;
}

ALGORITHM_PLUGIN("channels_last", .open = channels_last_open, .match = channels_last_match,
                 .apply = channels_last_apply, .close = channels_last_close);
