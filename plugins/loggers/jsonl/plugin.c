/* plugin.c - jsonl: everything that is logged, as JSON lines that read back exactly. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables, images, tutti.files/1 */
#define TUTTI_MIN_MINOR 0 /* which an older host does not have */
#include "../common/json_images.h"
#include "../common/json_line.h"
#include "../log_file.h"

typedef struct jsonl {
    log_file file; /* first: the shared calls take it */
    const tutti_state_v1 *state;
} jsonl;

static tutti_status jsonl_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    jsonl *j = calloc(1, sizeof *j);
    if (!j)
        return tutti_fail(err, TUTTI_E_NOMEM, "jsonl: no memory");
    tutti_status s = log_file_init(&j->file, "jsonl", "log.jsonl", host, params, err);
    if (s == TUTTI_OK) {
        j->state = logger_service(host, "jsonl", TUTTI_STATE_V1, err);
        s = j->state ? TUTTI_OK : TUTTI_E_UNSUPPORTED;
    }
    if (s) {
        free(j);
        return s;
    }
    *ret_self = j;
    return TUTTI_OK;
}

static tutti_status jsonl_event(void *self, const tutti_event *event, tutti_error *err)
{
    return log_file_event(&((jsonl *)self)->file, event, err);
}

static tutti_status jsonl_close(void *self, tutti_error *err)
{
    const tutti_status s = log_file_close(&((jsonl *)self)->file, err);
    free(self);
    return s;
}

static tutti_status jsonl_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                  uint64_t step, tutti_error *err)
{
    jsonl *j = self;
    if (j->file.out)
        json_line_metrics(j->file.out, values, n, step, j->state->time->epoch);
    return log_file_check(&j->file, err);
}

static tutti_status jsonl_hyperparameters(void *self, const tutti_named_text *values,
                                          uint32_t n, tutti_error *err)
{
    jsonl *j = self;
    if (j->file.out)
        json_line_hyperparameters(j->file.out, values, n);
    return log_file_check(&j->file, err);
}

static tutti_status jsonl_trace(void *self, const tutti_trace *trace, tutti_error *err)
{
    jsonl *j = self;
    if (j->file.out && j->file.log_traces)
        json_line_trace(j->file.out, trace);
    return log_file_check(&j->file, err);
}

static tutti_status jsonl_message(void *self, int32_t level, const char *component,
                                  const char *text, tutti_error *err)
{
    jsonl *j = self;
    if (j->file.out)
        json_line_message(j->file.out, level, component, text);
    return log_file_check(&j->file, err);
}

static tutti_status jsonl_table(void *self, const tutti_table *table, uint64_t step,
                                tutti_error *err)
{
    jsonl *j = self;
    if (j->file.out)
        json_line_table(j->file.out, table, step);
    return log_file_check(&j->file, err);
}

static tutti_status jsonl_images(void *self, const tutti_images *images, uint64_t step,
                                 tutti_error *err)
{
    jsonl *j = self;
    const tutti_status s =
        j->file.out ? json_line_images(j->file.out, "jsonl", images, step, err) : TUTTI_OK;
    return s ? s : log_file_check(&j->file, err);
}

static tutti_status jsonl_sync(void *self, tutti_error *err)
{
    return log_file_sync(&((jsonl *)self)->file, err);
}

static tutti_status jsonl_begin_again(void *self, tutti_error *err)
{
    (void)err;
    return log_file_begin_again(&((jsonl *)self)->file);
}

static tutti_status jsonl_items(void *self, tutti_state_item *items, uint32_t capacity,
                                uint32_t *ret_count, tutti_error *err)
{
    return log_file_items(&((jsonl *)self)->file, items, capacity, ret_count, err);
}

static tutti_status jsonl_restored(void *self, tutti_error *err)
{
    (void)err;
    return log_file_restored(&((jsonl *)self)->file);
}

static const char *jsonl_location(void *self)
{
    return log_file_location(&((jsonl *)self)->file);
}

static const void *jsonl_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table,
                                          .metrics = jsonl_metrics,
                                          .hyperparameters = jsonl_hyperparameters,
                                          .trace = jsonl_trace,
                                          .message = jsonl_message,
                                          .sync = jsonl_sync,
                                          .begin_again = jsonl_begin_again,
                                          .table = jsonl_table,
                                          .images = jsonl_images,
                                          .location = jsonl_location};
    static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,
                                               .items = jsonl_items,
                                               .restored = jsonl_restored,
                                               .flags = TUTTI_STATEFUL_MAY_BE_NEW};
    (void)self;
    if (strcmp(interface_id, TUTTI_LOGGER_V1) == 0)
        return &table;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

LOGGER_PLUGIN("jsonl", .open = jsonl_open, .run_event = jsonl_event, .close = jsonl_close,
              .query = jsonl_query);
