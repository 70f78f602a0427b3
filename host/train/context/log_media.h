/* log_media.h - tables and images on their way to the loggers that take them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_LOG_MEDIA_H
#define HOST_TRAIN_CONTEXT_LOG_MEDIA_H

#include "train/context/run_log.h"

/* Each checks what a plugin gives, as tutti/metrics.h says, and sends it as of the run's batch.  Loggers that take none
 * are named once, in a message.  [step] */
TUTTI_NODISCARD tutti_status run_log_table(run_log *l, const tutti_table *table,
                                           tutti_error *err);
TUTTI_NODISCARD tutti_status run_log_images(run_log *l, const tutti_images *images,
                                            tutti_error *err);

#endif
