/* keep_record.c - how a run is started, for its record; when the record ends. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "train/record/record.h"
#include "train/step/trainer_state.h"
#include "train/trainer/trainer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

tutti_status trainer_keep_record(trainer *t, const record_options *o, tutti_error *err)
{
    char path[PATH_MAX];
    text_buffer b = {.data = NULL};
    const bool file = o->resume && strcmp(o->resume, "auto") != 0;
    text_add(&b, "{\"resume\": ");
    if (file)
        text_add_quoted(&b, realpath(o->resume, path) ? path : o->resume);
    else
        text_add(&b, "null");
    text_add(&b, ", \"duration\": ");
    if (o->duration)
        text_add_quoted(&b, o->duration);
    else
        text_add(&b, "null");
    text_add(&b, ", \"reset_time\": %s}", o->reset_time ? "true" : "false");
    if (b.failed) {
        free(b.data);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the run's record");
    }
    *t->record = (run_record){.version = o->version,
                              .start = b.data,
                              .repeats = o->repeats,
                              .resumes = o->resume && !o->repeats && !o->reset_time};
    return TUTTI_OK;
}

void trainer_end_record(trainer *t, tutti_status s, const char *why)
{
    record_end(t, s, why);
}
