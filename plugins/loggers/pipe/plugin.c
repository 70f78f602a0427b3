/* plugin.c - pipe: everything that is logged, as JSON lines to a program of the user's. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables */
#define TUTTI_MIN_MINOR 0 /* which an older host does not send */
#include "../common/json_line.h"
#include "../common/outbox_logger.h"
#include "child.h"

typedef struct pipe_logger {
    outbox *outbox;
    const tutti_state_v1 *state;
    child child; /* the outbox's thread has it */
    bool log_traces;
    const char **argv;
    char output[800];
} pipe_logger;

static tutti_status pipe_send(void *ctx, const outbox_record *records, uint32_t n,
                              uint32_t *ret_sent, tutti_error *err)
{
    pipe_logger *p = ctx;
    const tutti_status s = child_start(&p->child, err);
    return s ? s : child_feed(&p->child, p->outbox, records, n, ret_sent, err);
}

static tutti_status pipe_finish(void *ctx, tutti_error *err)
{
    pipe_logger *p = ctx;
    return child_finish(&p->child, p->outbox, err);
}

static void pipe_free(pipe_logger *p)
{
    free(p->argv);
    free(p);
}

static tutti_status read_command(pipe_logger *p, const tutti_params *params, tutti_error *err)
{
    const tutti_param *command = tutti_param_find(params, "command");
    p->argv = calloc(command->count + 1, sizeof *p->argv);
    if (!p->argv)
        return tutti_fail(err, TUTTI_E_NOMEM, "pipe: no memory");
    for (uint64_t k = 0; k < command->count; k++)
        p->argv[k] = command->items[k]->s;
    p->child = (child){.argv = p->argv, .output = p->output, .in = -1};
    return TUTTI_OK;
}

static tutti_status pipe_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    pipe_logger *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "pipe: no memory");
    tutti_status s = read_command(p, params, err);
    const tutti_checkpoint_v1 *checkpoint = host->query(host->ctx, TUTTI_CHECKPOINT_V1);
    p->state = s ? NULL : logger_service(host, "pipe", TUTTI_STATE_V1, err);
    if (!s && !p->state)
        s = TUTTI_E_UNSUPPORTED;
    if (checkpoint)
        (void)snprintf(p->output, sizeof p->output, "%s/pipe.output",
                       checkpoint->run_folder(checkpoint->ctx));
    p->log_traces = tutti_param_i64(params, "log_traces") != 0;
    if (!s)
        s = outbox_logger_open(
            (outbox_config){.who = "pipe", .ctx = p, .send = pipe_send, .finish = pipe_finish},
            host, params, &p->outbox, err);
    if (s) {
        pipe_free(p);
        return s;
    }
    *ret_self = p;
    return TUTTI_OK;
}

static tutti_status pipe_close(void *self, tutti_error *err)
{
    pipe_logger *p = self;
    (void)err;
    outbox_destroy(p->outbox);
    pipe_free(p);
    return TUTTI_OK;
}

static tutti_status pipe_event(void *self, const tutti_event *event, tutti_error *err)
{
    return outbox_event(((pipe_logger *)self)->outbox, event, err);
}

/* ---- lines ---- */

typedef struct line {
    char *text;
    size_t size;
    FILE *out;
} line;

static bool line_begin(line *l)
{
    *l = (line){0};
    l->out = open_memstream(&l->text, &l->size);
    return l->out != NULL;
}

static tutti_status line_end(line *l, pipe_logger *p, tutti_error *err)
{
    const bool whole = fclose(l->out) == 0;
    if (whole)
        outbox_put(p->outbox, l->text, l->size);
    free(l->text);
    return whole ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "pipe: no memory for a line");
}

static tutti_status no_line(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "pipe: no memory for a line");
}

static tutti_status pipe_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                 uint64_t step, tutti_error *err)
{
    pipe_logger *p = self;
    line l;
    if (!line_begin(&l))
        return no_line(err);
    json_line_metrics(l.out, values, n, step, p->state->time->epoch);
    return line_end(&l, p, err);
}

static tutti_status pipe_hyperparameters(void *self, const tutti_named_text *values, uint32_t n,
                                         tutti_error *err)
{
    line l;
    if (!line_begin(&l))
        return no_line(err);
    json_line_hyperparameters(l.out, values, n);
    return line_end(&l, self, err);
}

static tutti_status pipe_trace(void *self, const tutti_trace *trace, tutti_error *err)
{
    pipe_logger *p = self;
    line l;
    if (!p->log_traces)
        return TUTTI_OK;
    if (!line_begin(&l))
        return no_line(err);
    json_line_trace(l.out, trace);
    return line_end(&l, p, err);
}

static tutti_status pipe_message(void *self, int32_t level, const char *component,
                                 const char *text, tutti_error *err)
{
    line l;
    if (!line_begin(&l))
        return no_line(err);
    json_line_message(l.out, level, component, text);
    return line_end(&l, self, err);
}

static tutti_status pipe_table(void *self, const tutti_table *table, uint64_t step,
                               tutti_error *err)
{
    line l;
    if (!line_begin(&l))
        return no_line(err);
    json_line_table(l.out, table, step);
    return line_end(&l, self, err);
}

static tutti_status pipe_sync(void *self, tutti_error *err)
{
    (void)err;
    outbox_sync(((pipe_logger *)self)->outbox);
    return TUTTI_OK;
}

static tutti_status pipe_begin_again(void *self, tutti_error *err)
{
    return outbox_begin_again(((pipe_logger *)self)->outbox, err);
}

static const void *pipe_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table,
                                          .metrics = pipe_metrics,
                                          .hyperparameters = pipe_hyperparameters,
                                          .trace = pipe_trace,
                                          .message = pipe_message,
                                          .sync = pipe_sync,
                                          .begin_again = pipe_begin_again,
                                          .table = pipe_table};
    (void)self;
    return strcmp(interface_id, TUTTI_LOGGER_V1) == 0 ? &table : NULL;
}

LOGGER_PLUGIN("pipe", .open = pipe_open, .run_event = pipe_event, .close = pipe_close,
              .query = pipe_query);
