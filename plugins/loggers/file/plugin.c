/* plugin.c - file: everything that is logged, a line each, in a text file. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables, tutti.files/1 */
#define TUTTI_MIN_MINOR 0 /* which an older host does not have */
#include "../common/json_line.h"
#include "../log_file.h"

#include <stdio.h>

static tutti_status file_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    log_file *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "file: no memory");
    const tutti_status s = log_file_init(f, "file", "log.txt", host, params, err);
    if (s) {
        free(f);
        return s;
    }
    *ret_self = f;
    return TUTTI_OK;
}

static tutti_status file_event(void *self, const tutti_event *event, tutti_error *err)
{
    return log_file_event(self, event, err);
}

static tutti_status file_close(void *self, tutti_error *err)
{
    const tutti_status s = log_file_close(self, err);
    free(self);
    return s;
}

static tutti_status file_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                 uint64_t step, tutti_error *err)
{
    log_file *f = self;
    char text[64];
    for (uint32_t k = 0; f->out && k < n; k++)
        (void)fprintf(f->out, "[metric][batch=%llu]: %s: %s \n", (unsigned long long)step,
                      values[k].name, number_text(values[k].value, text, sizeof text));
    return log_file_check(f, err);
}

static tutti_status file_hyperparameters(void *self, const tutti_named_text *values, uint32_t n,
                                         tutti_error *err)
{
    log_file *f = self;
    for (uint32_t k = 0; f->out && k < n; k++)
        (void)fprintf(f->out, "[hyperparameter]: %s: %s \n", values[k].name, values[k].text);
    return log_file_check(f, err);
}

static tutti_status file_trace(void *self, const tutti_trace *trace, tutti_error *err)
{
    log_file *f = self;
    char key[256];
    if (f->out && f->log_traces)
        (void)fprintf(f->out, "[trace]: %s:%d\n", trace_key(trace, key, sizeof key),
                      trace->ran ? 1 : 0);
    return log_file_check(f, err);
}

static tutti_status file_message(void *self, int32_t level, const char *component,
                                 const char *text, tutti_error *err)
{
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    log_file *f = self;
    if (f->out)
        (void)fprintf(f->out, "[message][%s]: %s: %s\n", levels[level & 3], component, text);
    return log_file_check(f, err);
}

/* As upstream: on one line, in pandas' split form. */
static tutti_status file_table(void *self, const tutti_table *table, uint64_t step,
                               tutti_error *err)
{
    log_file *f = self;
    (void)step;
    if (f->out) {
        (void)fprintf(f->out, "[table]: %s: ", table->name);
        json_line_split(f->out, table);
        (void)fputc('\n', f->out);
    }
    return log_file_check(f, err);
}

static tutti_status file_sync(void *self, tutti_error *err)
{
    return log_file_sync(self, err);
}

static tutti_status file_begin_again(void *self, tutti_error *err)
{
    (void)err;
    return log_file_begin_again(self);
}

static tutti_status file_items(void *self, tutti_state_item *items, uint32_t capacity,
                               uint32_t *ret_count, tutti_error *err)
{
    return log_file_items(self, items, capacity, ret_count, err);
}

static tutti_status file_restored(void *self, tutti_error *err)
{
    (void)err;
    return log_file_restored(self);
}

static const char *file_location(void *self)
{
    return log_file_location(self);
}

static const void *file_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table,
                                          .metrics = file_metrics,
                                          .hyperparameters = file_hyperparameters,
                                          .trace = file_trace,
                                          .message = file_message,
                                          .sync = file_sync,
                                          .begin_again = file_begin_again,
                                          .table = file_table,
                                          .location = file_location};
    static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,
                                               .items = file_items,
                                               .restored = file_restored,
                                               .flags = TUTTI_STATEFUL_MAY_BE_NEW};
    (void)self;
    if (strcmp(interface_id, TUTTI_LOGGER_V1) == 0)
        return &table;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

LOGGER_PLUGIN("file", .open = file_open, .run_event = file_event, .close = file_close,
              .query = file_query);
