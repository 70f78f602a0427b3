/* open_file.c - a checkpoint here or elsewhere, by the plugins of the run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/open_file.h"

#include "base/text.h"
#include "train/context/signals.h"
#include "train/fetch/fetch.h"

#include <stdio.h>

static bool is_stopped(void)
{
    return trainer_signal() != 0 || trainer_pending_signal() != 0;
}

tutti_status trainer_open_file(trainer *t, const char *path, checkpoint **ret_checkpoint,
                               tutti_error *err)
{
    char text[640];
    run_file *file = t->run.file;
    const fetch_source from = {t->run.registry, t->run.participants.items,
                               t->run.participants.count, is_stopped};
    if (text_is_address(path) && !file->source.fetched) {
        (void)snprintf(text, sizeof text, "fetches %.600s", path);
        run_log_message(&t->run.log, TUTTI_LOG_INFO, "train", text);
    }
    const tutti_status s = fetch_open(&from, path, &file->source.fetched, ret_checkpoint, err);
    fetched_free(file->source.fetched); /* an open file needs no name */
    file->source.fetched = NULL;
    return s;
}
