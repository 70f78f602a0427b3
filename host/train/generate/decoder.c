/* decoder.c - prompts by plans of many tokens, then a plan of one, over a key-value cache; or windows without it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/generate/decoder.h"

#include "graph/runtime/device_memory.h"
#include "train/context/signals.h"
#include "train/step/plan_step.h"
#include "train/step/trainer_state.h"

#include <stdlib.h>
#include <string.h>

enum { PROMPT_TOKENS = 64, LEAST_WINDOW = 16 };

struct decoder {
    trainer *t;
    int32_t *tokens; /* all that were fed */
    int64_t count, capacity;
    int64_t first;  /* of them that the model sees */
    int64_t length; /* tokens of the data's samples */
    int64_t context;
    int64_t classes;
    int64_t shifts;
    int64_t *column; /* (context): what a plan gets of them, in the column's dtype */
    int32_t *places; /* (context) */
    float *logits;
    int32_t dtype; /* of the column */
    bool cached;
    bool listens;
    atomic_int heard; /* the signal of any rank; -1: they are not heard */
    tutti_error complaint;
};

/* ---- a run of a plan ---- */

static tutti_status give(const decoder *d, plan *p, uint32_t k, const void *from,
                         tutti_error *err)
{
    plan_set_input(p, k, NULL);
    const tutti_tensor to = plan_input(p, k);
    return to.data ? device_copy(context_device(&d->t->run), to.data, from,
                                 tutti_nbytes(&to.desc), TUTTI_COPY_TO_DEVICE, err)
                   : tutti_fail(err, TUTTI_E_NOMEM, "no memory for tokens");
}

/* The plan for `length` tokens; with the cache it goes on. */
static tutti_status plan_for(const decoder *d, int64_t length, plan **ret_plan,
                             tutti_error *err)
{
    plan_request r = {.kind = d->cached ? PLAN_CONTINUE : PLAN_EVAL,
                      .ninputs = d->cached ? 2 : 1,
                      .inputs = {{{1, length}, 2, d->dtype}, {{length}, 1, TUTTI_I32}},
                      .context = d->cached ? d->length : 0};
    return net_plan(d->t->run.net, &r, ret_plan, err);
}

/* Runs tokens [begin, begin + n) in a plan of `length`; logits of position `row` go to d->logits. */
static tutti_status run_tokens(decoder *d, int64_t begin, int64_t n, int64_t length,
                               int64_t row, tutti_error *err)
{
    plan *p;
    tutti_status s = plan_for(d, length, &p, err);
    if (s)
        return s;
    for (int64_t k = 0; k < length;
         k++) { /* those behind the text are overwritten before they are seen */
        const int32_t token = k < n ? d->tokens[begin + k] : 0;
        d->places[k] = (int32_t)(begin - d->first + k);
        if (d->dtype == TUTTI_I64)
            d->column[k] = token;
        else
            ((int32_t *)d->column)[k] = token;
    }
    if ((s = give(d, p, 0, d->column, err)) ||
        (d->cached && (s = give(d, p, 1, d->places, err))) ||
        (s = trainer_run(d->t, p, SEGMENT_FORWARD, 1.0f, err)))
        return s;
    const float *from = (const float *)plan_output(p, 0).data + row * d->classes;
    return device_copy(context_device(&d->t->run), d->logits, from,
                       (uint64_t)d->classes * sizeof *d->logits, TUTTI_COPY_FROM_DEVICE, err);
}

/* Tokens [begin, count) behind what the cache has. */
static tutti_status run_cached(decoder *d, int64_t begin, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    while (begin < d->count && !s) {
        const int64_t left = d->count - begin, place = begin - d->first;
        const int64_t length =
            left > 1 && place + PROMPT_TOKENS <= d->context ? PROMPT_TOKENS : 1;
        const int64_t n = left < length ? left : length;
        s = run_tokens(d, begin, n, length, n - 1, err);
        begin += n;
    }
    return s;
}

/* For n tokens one of a few lengths, since each has a plan of its own; with the cache tokens go one by one. */
static int64_t window_length(const decoder *d, int64_t n)
{
    int64_t length = d->cached ? 1 : LEAST_WINDOW;
    while (length < n)
        length *= 2;
    return length < d->context ? length : d->context;
}

/* All that the model sees. */
static tutti_status run_window(decoder *d, tutti_error *err)
{
    const int64_t n = d->count - d->first;
    return run_tokens(d, d->first, n, window_length(d, n), n - 1, err);
}

/* ---- beginning ---- */

/* The tokens' column, as the data have it. */
static tutti_status find_column(const trainer *t, const tutti_column **ret_column,
                                tutti_error *err)
{
    const char *const *names = t->run.model_table ? t->run.model_table->inputs : NULL;
    const tutti_column *c = NULL;
    uint32_t n = 0;
    const tutti_column *columns = t->train.loader ? loader_columns(t->train.loader, &n) : NULL;
    for (uint32_t k = 0; k < n && names && names[0]; k++)
        c = strcmp(columns[k].name, names[0]) == 0 ? &columns[k] : c;
    if (!c || c->desc.rank != 1 || c->desc.dim[0] < 1 ||
        (c->desc.dtype != TUTTI_I32 && c->desc.dtype != TUTTI_I64))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s does not take rows of tokens: it is no language model",
                          t->run.file->model.name);
    *ret_column = c;
    return TUTTI_OK;
}

tutti_status decoder_check(const trainer *t, tutti_error *err)
{
    const tutti_column *c = NULL;
    return find_column(t, &c, err);
}

static tutti_status reserve(decoder *d, int64_t more, tutti_error *err)
{
    if (d->count + more <= d->capacity)
        return TUTTI_OK;
    const int64_t capacity = 2 * (d->count + more);
    int32_t *tokens = realloc(d->tokens, (size_t)capacity * sizeof *tokens);
    if (!tokens)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %lld tokens", (long long)capacity);
    d->tokens = tokens;
    d->capacity = capacity;
    return TUTTI_OK;
}

/* Whether the model can go on, and how far: without the cache it sees as much. */
static tutti_status try_cache(decoder *d, tutti_error *err)
{
    const bool wanted = d->cached;
    plan *p;
    d->context = d->length;
    d->cached = true;
    const tutti_status s = plan_for(d, 1, &p, &d->complaint);
    d->cached = wanted && !s;
    if (s && s != TUTTI_E_UNSUPPORTED)
        return tutti_fail(err, s, "%s", d->complaint.text);
    if (!s)
        d->context = plan_context(p);
    if (!wanted) /* and nothing is missing */
        d->complaint = (tutti_error)TUTTI_ERROR_INIT;
    return TUTTI_OK;
}

/* Takes memory for what goes into plans and comes out. */
static tutti_status measure(decoder *d, tutti_error *err)
{
    const size_t capacity = (size_t)(d->context > PROMPT_TOKENS ? d->context : PROMPT_TOKENS);
    const int64_t length = window_length(d, 1);
    plan *p;
    const tutti_status s = plan_for(d, length, &p, err);
    if (s)
        return s;
    const tutti_desc y = plan_output(p, 0).desc;
    char text[96];
    if (y.rank != 3 || y.dtype != TUTTI_F32 || y.dim[1] != length || y.dim[2] < 1)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s gives %s for %lld tokens, want logits F32 (1, %lld, V): it is no "
                          "language model",
                          d->t->run.file->model.name, tutti_desc_text(&y, text, sizeof text),
                          (long long)length, (long long)length);
    d->classes = y.dim[2];
    d->logits = calloc((size_t)d->classes, sizeof *d->logits);
    d->column = calloc(capacity, sizeof *d->column);
    d->places = calloc(capacity, sizeof *d->places);
    return d->logits && d->column && d->places
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for tokens");
}

/* Without the cache nothing says that tokens do not see later ones: two windows do, which differ in the last. */
static tutti_status check_causal(decoder *d, tutti_error *err)
{
    const int64_t length = d->context < LEAST_WINDOW ? d->context : LEAST_WINDOW;
    float *first = NULL;
    tutti_status s = reserve(d, length, err);
    for (int round = 0; round < 2 && !s; round++) {
        for (int64_t k = 0; k < length; k++)
            d->tokens[k] = k + 1 == length && round;
        s = run_tokens(d, 0, length, length, 0, err);
        if (s || round)
            break;
        first = malloc((size_t)d->classes * sizeof *first + 1);
        s = first ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for logits");
        if (!s)
            memcpy(first, d->logits, (size_t)d->classes * sizeof *first);
    }
    if (!s && length > 1 && memcmp(first, d->logits, (size_t)d->classes * sizeof *first) != 0)
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED,
                       "%s lets tokens see later ones: it is no language model that goes on "
                       "with a text",
                       d->t->run.file->model.name);
    free(first);
    return s;
}

static tutti_status begin_decoder(decoder *d, tutti_error *err)
{
    const tutti_column *c = NULL;
    tutti_status s = find_column(d->t, &c, err);
    if (!s) {
        d->length = c->desc.dim[0];
        d->dtype = c->desc.dtype;
    }
    if (s || (s = try_cache(d, err)) || (s = measure(d, err)))
        return s;
    return d->cached ? TUTTI_OK : check_causal(d, err);
}

tutti_status decoder_create(trainer *t, bool cached, decoder **ret_decoder, tutti_error *err)
{
    decoder *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to generate");
    *d = (decoder){.t = t, .cached = cached, .complaint = TUTTI_ERROR_INIT};
    const tutti_status s = begin_decoder(d, err);
    if (s)
        decoder_destroy(d);
    else
        *ret_decoder = d;
    return s;
}

void decoder_destroy(decoder *d)
{
    if (!d)
        return;
    if (d->listens)
        world_drain(d->t->distributed.world);
    free(d->tokens);
    free(d->column);
    free(d->places);
    free(d->logits);
    free(d);
}

/* ---- what is asked of one ---- */

const char *decoder_complaint(const decoder *d)
{
    return *d->complaint.text ? d->complaint.text : NULL;
}

int64_t decoder_context(const decoder *d)
{
    return d->context;
}

int64_t decoder_classes(const decoder *d)
{
    return d->classes;
}

const tutti_vocabulary_v1 *decoder_vocabulary(const decoder *d, void **ret_self)
{
    const tutti_vocabulary_v1 *table =
        d->t->train.dataset ? instance_query(d->t->train.dataset, TUTTI_VOCABULARY_V1) : NULL;
    if (table)
        *ret_self = instance_self(d->t->train.dataset);
    return table;
}

int64_t decoder_shifts(const decoder *d)
{
    return d->shifts;
}

tutti_status decoder_listen(decoder *d, tutti_error *err)
{
    const distributed *ranks = &d->t->distributed;
    d->listens = distributed_on(ranks);
    return d->listens ? world_start_watch(ranks->world, &d->heard, err) : TUTTI_OK;
}

int decoder_signal(decoder *d)
{
    const int heard = atomic_load(&d->heard), own = trainer_first_signal();
    const int number = own ? own : heard;
    if (number <= 0)
        return 0;
    trainer_accept_signal(number);
    return number;
}

void decoder_restart(decoder *d)
{
    d->count = d->first = d->shifts = 0;
}

tutti_status decoder_feed(decoder *d, const int32_t *tokens, int64_t n,
                          const float **ret_logits, tutti_error *err)
{
    tutti_status s = reserve(d, n, err);
    if (s)
        return s;
    int64_t begin = d->count; /* what the cache does not have */
    memcpy(d->tokens + d->count, tokens, (size_t)n * sizeof *tokens);
    d->count += n;
    if (d->count - d->first > d->context) {
        d->first = begin = d->count - (d->context + 1) / 2;
        d->shifts++;
    }
    s = d->cached ? run_cached(d, begin, err) : run_window(d, err);
    if (!s)
        *ret_logits = d->logits;
    return s;
}
