/* history_internal.h - what reading a log adds to a history; a failed allocation sets `nomem`. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_HISTORY_INTERNAL_H
#define HOST_REPORT_HISTORY_INTERNAL_H

#include "report/history.h"

void history_add(history *h, const char *name, double step, double time, double value);
void history_add_message(history *h, const log_message *from); /* texts are copied */
void history_add_media(history *h, const char *name, int64_t batch, bool images);
void history_add_call(history *h, const char *algorithm, const char *event,
                      const log_call *call);

#endif
