/* event_file.h - one event file of this process: made when there is something to write, whole after a full disk. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORBOARD_EVENT_FILE_H
#define TENSORBOARD_EVENT_FILE_H

#include "../common/outbox.h"

typedef struct event_file {
    int fd;       /* -1: there is none yet */
    int64_t size; /* of what is whole */
    char folder[768];
    char path[1100];
} event_file;

/* Adds the records and has them on the disk; all or none of them.  Errors: E_IO.  */
TUTTI_NODISCARD tutti_status event_file_add(event_file *f, const outbox_record *records,
                                            uint32_t n, tutti_error *err);
void event_file_close(event_file *f);

#endif
