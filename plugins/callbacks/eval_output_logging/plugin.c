/* plugin.c - eval_output_logging: what the model answers to each sample of an evaluation, as a table. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2 /* tables, tutti_eval_is_cut */
#define TUTTI_MIN_MINOR 1
#include "../callback.h"
#include "cells.h"
#include "tutti/dataset.h"
#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/rng.h"
#include "tutti/state.h"
#include "tutti/train.h"

enum { MOST_NUMBERS = 64 /* of an input that is shown */, MOST_COLUMNS = 8 };
enum { RNG_PURPOSE = TUTTI_RNG_PLUGIN ^ 0x6f757470 };

/* What an answer is. */
enum { NOTHING, CLASSES, NUMBERS };

/* One part of an evaluation; shapes are (samples, ...). */
typedef struct answers {
    int kind;
    bool has_input;
    tutti_tensor outputs, target, input;
    int64_t samples, each; /* classes or numbers of a sample */
} answers;

typedef struct eval_output_logging {
    const tutti_state_v1 *state;
    const tutti_metrics_v1 *metrics;
    const tutti_train_v1 *train;
    const tutti_log_v1 *log; /* may be NULL */
    bool log_tokens, only_incorrect;
    int64_t subset;
    vocabulary vocabulary;
    const tutti_class_names_v1 *names; /* of classes, or NULL */
    void *named;                       /* who knows them */
    const char *columns[MOST_COLUMNS]; /* of the evaluation under way */
    uint32_t ncolumns;                 /* 0: nothing was seen of it */
    FILE *out;                         /* its cells */
    char *text;
    size_t size;
    int32_t *likeliest; /* classes of a sample */
    bool told;          /* that there is nothing to show */
} eval_output_logging;

static tutti_status fail_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "eval_output_logging: no memory for a table");
}

static tutti_status eval_output_logging_open(const tutti_host *host, const tutti_params *params,
                                             void **ret_self, tutti_error *err)
{
    static const char who[] = "eval_output_logging";
    eval_output_logging e = {.state = callback_service(host, who, TUTTI_STATE_V1, err),
                             .metrics = callback_service(host, who, TUTTI_METRICS_V1, err),
                             .train = callback_service(host, who, TUTTI_TRAIN_V1, err),
                             .log = host->query(host->ctx, TUTTI_LOG_V1),
                             .log_tokens = tutti_param_i64(params, "log_tokens") != 0,
                             .only_incorrect =
                                 tutti_param_i64(params, "print_only_incorrect") != 0,
                             .subset = tutti_param_i64(params, "subset_sample")};
    if (!e.state || !e.metrics || !e.train)
        return TUTTI_E_UNSUPPORTED;
    eval_output_logging *self = malloc(sizeof *self);
    if (!self)
        return fail_memory(err);
    *self = e;
    *ret_self = self;
    return TUTTI_OK;
}

static void logging_drop(eval_output_logging *e)
{
    if (e->out)
        (void)fclose(e->out);
    free(e->text);
    free(e->likeliest);
    e->out = NULL;
    e->text = NULL;
    e->likeliest = NULL;
    e->ncolumns = 0;
}

static tutti_status eval_output_logging_close(void *self, tutti_error *err)
{
    (void)err;
    logging_drop(self);
    free(self);
    return TUTTI_OK;
}

/* ---- what there is to show ---- */

/* Where the target is a class for each row of outputs, or as many numbers. */
static int kind_of(const tutti_desc *outputs, const tutti_desc *target)
{
    if (outputs->dtype != TUTTI_F32 || outputs->rank < 1)
        return NOTHING;
    if (target->dtype == TUTTI_F32 && target->rank <= 2 &&
        tutti_numel(outputs) == tutti_numel(target))
        return NUMBERS;
    if (target->dtype != TUTTI_I32 || target->rank > 2 || outputs->rank != target->rank + 1)
        return NOTHING;
    for (int32_t k = 0; k < target->rank; k++)
        if (outputs->dim[k] != target->dim[k])
            return NOTHING;
    return CLASSES;
}

static bool shows_input(const eval_output_logging *e, const tutti_desc *d)
{
    return (d->dtype == TUTTI_I32 && d->rank == 2 && e->vocabulary.table) ||
           (d->rank <= 2 && d->dim[1] <= MOST_NUMBERS &&
            (d->dtype == TUTTI_F32 || d->dtype == TUTTI_I32));
}

static tutti_status look_at_part(const eval_output_logging *e, answers *ret, tutti_error *err)
{
    const tutti_state_v1 *state = e->state;
    tutti_error none = TUTTI_ERROR_INIT;
    answers a = {.kind = NOTHING};
    const tutti_status s = state->get(state->ctx, "outputs", &a.outputs, err);
    if (s)
        return s;
    if (state->get(state->ctx, "target", &a.target, &none) == TUTTI_OK)
        a.kind = kind_of(&a.outputs.desc, &a.target.desc);
    a.samples = a.outputs.desc.dim[0];
    a.each = a.samples ? tutti_numel(&a.target.desc) / a.samples : 0;
    none = (tutti_error)TUTTI_ERROR_INIT;
    a.has_input = state->get(state->ctx, "input", &a.input, &none) == TUTTI_OK &&
                  shows_input(e, &a.input.desc) && a.input.desc.dim[0] == a.samples;
    *ret = a;
    return TUTTI_OK;
}

/* Upstream's, as far as they are here. */
static void name_columns(eval_output_logging *e, const answers *a)
{
    const bool texts = e->vocabulary.table && a->kind == CLASSES && a->target.desc.rank == 2;
    uint32_t n = 0;
    e->columns[n++] = "outputs";
    e->columns[n++] = "labels";
    if (a->kind == CLASSES)
        e->columns[n++] = "correct";
    if (a->has_input)
        e->columns[n++] = "input";
    if (a->has_input && texts && e->log_tokens)
        e->columns[n++] = "input_tokens";
    if (texts && e->log_tokens)
        e->columns[n++] = "label_tokens";
    e->columns[n++] = "run_name";
    e->ncolumns = n;
}

/* ---- rows ---- */

/* The class with the largest number at each place of sample `row`; places whose target is below 0 count for nothing, and
 * are -1.  Returns whether all are right. */
static bool choose_classes(const eval_output_logging *e, const answers *a, int64_t row)
{
    const tutti_desc *d = &a->outputs.desc;
    const int64_t classes = d->dim[d->rank - 1];
    const int32_t *target = (const int32_t *)a->target.data + row * a->each;
    bool right = true;
    for (int64_t k = 0; k < a->each; k++) {
        const float *p = (const float *)a->outputs.data + (row * a->each + k) * classes;
        int32_t best = 0;
        for (int32_t c = 1; c < classes; c++)
            best = p[c] > p[best] ? c : best;
        e->likeliest[k] = target[k] < 0 ? -1 : best;
        right = right && (target[k] < 0 || target[k] == best);
    }
    return right;
}

static bool write_classes(const eval_output_logging *e, const answers *a,
                          const int32_t *classes)
{
    const bool list = a->target.desc.rank > 1;
    if (list && e->vocabulary.table)
        return cell_text(e->out, &e->vocabulary, classes, a->each);
    const char *name =
        !list && e->names && *classes >= 0 ? e->names->name(e->named, NULL, *classes) : NULL;
    if (name) {
        cell_string(e->out, name);
        return true;
    }
    cell_integers(e->out, classes, a->each, list);
    return true;
}

static bool write_input(const eval_output_logging *e, const answers *a, int64_t row)
{
    const tutti_desc *d = &a->input.desc;
    const int64_t each = tutti_numel(d) / a->samples;
    if (d->dtype == TUTTI_F32)
        cell_numbers(e->out, (const float *)a->input.data + row * each, each, d->rank > 1);
    else if (e->vocabulary.table && d->rank == 2)
        return cell_text(e->out, &e->vocabulary, (const int32_t *)a->input.data + row * each,
                         each);
    else
        cell_integers(e->out, (const int32_t *)a->input.data + row * each, each, d->rank > 1);
    return true;
}

/* Cells in the order of name_columns. */
static bool write_row(eval_output_logging *e, const answers *a, int64_t row)
{
    const int32_t *classes = (const int32_t *)a->target.data + row * a->each;
    bool kept = true;
    if (a->kind == NUMBERS) {
        const bool list = a->each > 1;
        cell_numbers(e->out, (const float *)a->outputs.data + row * a->each, a->each, list);
        cell_numbers(e->out, (const float *)a->target.data + row * a->each, a->each, list);
    } else {
        const bool right = choose_classes(e, a, row);
        if (right && e->only_incorrect)
            return true;
        kept = write_classes(e, a, e->likeliest) && write_classes(e, a, classes);
        cell_bool(e->out, right);
    }
    for (uint32_t c = 2; c < e->ncolumns; c++) {
        const char *name = e->columns[c];
        if (strcmp(name, "input") == 0)
            kept = write_input(e, a, row) && kept;
        else if (strcmp(name, "input_tokens") == 0)
            cell_integers(e->out, (const int32_t *)a->input.data + row * a->input.desc.dim[1],
                          a->input.desc.dim[1], true);
        else if (strcmp(name, "label_tokens") == 0)
            cell_integers(e->out, classes, a->each, true);
        else if (strcmp(name, "run_name") == 0)
            cell_string(e->out, e->state->run_name(e->state->ctx));
    }
    return kept;
}

static tutti_status add_part(eval_output_logging *e, tutti_error *err)
{
    answers a = {.kind = NOTHING};
    const tutti_status s = look_at_part(e, &a, err);
    if (s)
        return s;
    if (a.kind == NOTHING) {
        if (e->log && !e->told)
            e->log->write(e->log->ctx, TUTTI_LOG_WARNING,
                          "outputs and targets are no classes, rows of classes or numbers of a "
                          "sample, so there is no table of them");
        e->told = true;
        return TUTTI_OK;
    }
    if (!e->ncolumns)
        name_columns(e, &a);
    free(e->likeliest);
    e->likeliest = calloc((size_t)a.each + 1, sizeof(int32_t));
    e->out = e->out ? e->out : open_memstream(&e->text, &e->size);
    bool kept = e->likeliest && e->out;
    for (int64_t row = 0; row < a.samples && kept; row++)
        kept = write_row(e, &a, row);
    return kept && !ferror(e->out) ? TUTTI_OK : fail_memory(err);
}

/* ---- the table ---- */

/* Keeps `want` of n rows, in their order, each with the same chance: row k is taken with the chance that is left. */
static uint64_t draw_rows(const eval_output_logging *e, const char **cells, uint64_t n,
                          uint64_t want)
{
    uint64_t kept = 0;
    for (uint64_t k = 0; k < n && kept < want; k++) {
        const tutti_rng4 r =
            tutti_rng(*e->state->seed, RNG_PURPOSE, (uint64_t)e->state->time->batch, k);
        const uint64_t number = (uint64_t)r.v[0] << 32 | r.v[1];
        if (number % (n - k) >= want - kept)
            continue;
        memmove(cells + kept * e->ncolumns, cells + k * e->ncolumns,
                e->ncolumns * sizeof *cells);
        kept++;
    }
    return kept;
}

static tutti_status send_table(eval_output_logging *e, tutti_error *err)
{
    char name[192];
    uint64_t n = 0;
    for (size_t k = 0; k < e->size; k++)
        n += e->text[k] == '\0';
    const char **cells = malloc((n ? n : 1) * sizeof *cells);
    if (!cells)
        return fail_memory(err);
    const char *at = e->text;
    for (uint64_t k = 0; k < n; k++) {
        cells[k] = at;
        at += strlen(at) + 1;
    }
    uint64_t rows = n / e->ncolumns;
    if (e->subset > 0 && (uint64_t)e->subset < rows)
        rows = draw_rows(e, cells, rows, (uint64_t)e->subset);
    (void)snprintf(name, sizeof name, "%s_step_%lld", e->state->eval_label(e->state->ctx),
                   (long long)e->state->time->batch);
    const tutti_table table = {sizeof table, e->ncolumns, name, e->columns, cells, rows};
    const tutti_status s = e->metrics->log_table(e->metrics->ctx, &table, err);
    free(cells);
    return s;
}

static tutti_status finish_table(eval_output_logging *e, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (e->out && fclose(e->out) != 0)
        s = fail_memory(err);
    e->out = NULL;
    if (!s && e->ncolumns)
        s = send_table(e, err);
    return s;
}

static tutti_status eval_output_logging_event(void *self, const tutti_event *event,
                                              tutti_error *err)
{
    eval_output_logging *e = self;
    switch (event->id) {
    case TUTTI_EVENT_EVAL_START:
        logging_drop(e);
        e->vocabulary.table =
            e->train->dataset(e->train->ctx, TUTTI_VOCABULARY_V1, &e->vocabulary.dataset);
        e->names = e->train->dataset(e->train->ctx, TUTTI_CLASS_NAMES_V1, &e->named);
        return TUTTI_OK;
    case TUTTI_EVENT_EVAL_AFTER_FORWARD:
        return add_part(e, err);
    default: {
        const tutti_status s = tutti_eval_is_cut(e->state) ? TUTTI_OK : finish_table(e, err);
        logging_drop(e);
        return s;
    }
    }
}

CALLBACK_PLUGIN("eval_output_logging", .open = eval_output_logging_open,
                .run_event = eval_output_logging_event, .close = eval_output_logging_close);
