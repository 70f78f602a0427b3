/* outbox_logger.h - a logger that sends by an outbox: its settings, its file in the run's folder, its lines. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOGGERS_OUTBOX_LOGGER_H
#define LOGGERS_OUTBOX_LOGGER_H

#include "../logger.h"
#include "outbox.h"
#include "tutti/checkpoint.h"
#include "tutti/log.h"

/* Of the settings `queue_size` (KiB) and `flush_timeout` (seconds); its file is RUN_FOLDER/WHO.waiting. */
static inline tutti_status outbox_logger_open(outbox_config c, const tutti_host *host,
                                              const tutti_params *params, outbox **ret_outbox,
                                              tutti_error *err)
{
    char path[768];
    const tutti_checkpoint_v1 *checkpoint =
        (const tutti_checkpoint_v1 *)logger_service(host, c.who, TUTTI_CHECKPOINT_V1, err);
    if (!checkpoint)
        return TUTTI_E_UNSUPPORTED;
    const int n = snprintf(path, sizeof path, "%s/%s.waiting",
                           checkpoint->run_folder(checkpoint->ctx), c.who);
    if (n < 0 || (size_t)n >= sizeof path)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "%s: the run's folder is longer than %zu characters", c.who,
                          sizeof path - 1);
    c.path = path;
    c.log = (const tutti_log_v1 *)host->query(host->ctx, TUTTI_LOG_V1);
    c.memory = (size_t)tutti_param_i64(params, "queue_size") * 1024;
    c.limit_ms = (int64_t)(tutti_param_f64(params, "flush_timeout") * 1000.0);
    return outbox_create(&c, ret_outbox, err);
}

#endif
