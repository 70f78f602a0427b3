/* plugin.c - generate: a language model goes on from prompts, and the loggers get the texts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../callback.h"
#include "../interval.h"
#include "../one_item.h"
#include "sample.h"
#include "tutti/dataset.h"
#include "tutti/rng.h"
#include "tutti/train.h"
#include "tutti/vocabulary.h"
#include "write.h"

#include <stdio.h>
#include <stdlib.h>

enum { SHORTEST = 16 /* window */ };

/* A prompt and what came after it. */
typedef struct text {
    const char *prompt;
    int32_t *tokens; /* of the prompt, with room for the new ones */
    uint64_t given;
    uint64_t count; /* with the new ones so far */
} text;

typedef struct generate {
    const tutti_train_v1 *train;
    const tutti_state_v1 *state;
    const tutti_log_v1 *log;
    const tutti_vocabulary_v1 *vocabulary;
    void *dataset;
    interval interval;
    text *texts;
    uint32_t count;
    int32_t packed; /* the data have document_ids and position_ids, so the model takes them */
    int64_t new_tokens;
    double temperature;
    int64_t top_k;
    int64_t length;     /* T */
    int64_t classes;    /* tokens with a meaning */
    int64_t last_batch; /* that texts came after; -1: none.  In checkpoints */
    int32_t *window;    /* tokens (count, length), then as many document_ids and position_ids */
    float *scratch;     /* (classes) */
} generate;

static tutti_status generate_close(void *self, tutti_error *err)
{
    generate *g = self;
    (void)err;
    for (uint32_t k = 0; k < g->count; k++)
        free(g->texts[k].tokens);
    free(g->texts);
    free(g->window);
    free(g->scratch);
    free(g);
    return TUTTI_OK;
}

static tutti_status generate_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    const tutti_param *prompts = tutti_param_find(params, "prompts");
    generate *g = calloc(1, sizeof *g);
    if (!g)
        return tutti_fail(err, TUTTI_E_NOMEM, "generate: no memory");
    tutti_status s = TUTTI_E_UNSUPPORTED;
    g->train = callback_service(host, "generate", TUTTI_TRAIN_V1, err);
    g->state = callback_service(host, "generate", TUTTI_STATE_V1, err);
    g->log = callback_service(host, "generate", TUTTI_LOG_V1, err);
    if (!g->train || !g->state || !g->log)
        goto fail;
    if (!TUTTI_HAS(g->train, tutti_train_v1, dataset)) {
        (void)tutti_fail(err, s, "generate: this host's " TUTTI_TRAIN_V1 " has no forward");
        goto fail;
    }
    g->interval = (interval){.state = g->state, .every = tutti_param_time(params, "interval")};
    g->new_tokens = tutti_param_i64(params, "max_new_tokens");
    g->temperature = tutti_param_f64(params, "temperature");
    g->top_k = tutti_param_i64(params, "top_k");
    g->last_batch = -1;
    g->texts = calloc(prompts->count, sizeof *g->texts);
    if (!g->texts) {
        s = tutti_fail(err, TUTTI_E_NOMEM, "generate: no memory");
        goto fail;
    }
    g->count = (uint32_t)prompts->count;
    for (uint32_t k = 0; k < g->count; k++)
        g->texts[k].prompt = prompts->items[k]->s;
    *ret_self = g;
    return TUTTI_OK;

fail:
    (void)generate_close(g, NULL);
    return s;
}

/* ---- before training ---- */

/* A tokenizer may give more tokens than a prompt has bytes: then the room is made again for all of them. */
static tutti_status encode_prompt(generate *g, uint32_t k, tutti_error *err)
{
    text *t = &g->texts[k];
    const uint64_t size = strlen(t->prompt);
    tutti_error why = TUTTI_ERROR_INIT;
    tutti_status s = TUTTI_OK;
    uint64_t room = size;
    t->given = 0;
    do {
        room = t->given > room ? t->given : room;
        free(t->tokens);
        t->tokens = calloc(room + (uint64_t)g->new_tokens, sizeof *t->tokens);
        if (!t->tokens)
            return tutti_fail(err, TUTTI_E_NOMEM, "generate: no memory for prompt %u", k);
        why = (tutti_error)TUTTI_ERROR_INIT;
        s = g->vocabulary->encode(g->dataset, t->prompt, size, t->tokens, room, &t->given,
                                  &why);
    } while ((s == TUTTI_OK || s == TUTTI_E_RANGE) && t->given > room);
    if (s)
        return tutti_fail(err, s, "generate: prompt %u: %s", k, why.text);
    if (t->given < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          "generate: prompt %u is empty, want a token or more", k);
    return TUTTI_OK;
}

/* Finds the data's vocabulary and block length, and encodes the prompts. */
static tutti_status generate_prepare(generate *g, tutti_error *err)
{
    tutti_dataset_info info = {.struct_size = sizeof info};
    void *self = NULL;
    const tutti_dataset_v1 *data = g->train->dataset(g->train->ctx, TUTTI_DATASET_V1, &self);
    g->vocabulary = g->train->dataset(g->train->ctx, TUTTI_VOCABULARY_V1, &g->dataset);
    if (!data || !g->vocabulary)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "generate: the training dataset has no " TUTTI_VOCABULARY_V1
                          ", so its tokens mean nothing; text has one, and tokens_bin with "
                          "vocab_file and merges_file");
    tutti_status s = data->info(self, &info, err);
    if (s)
        return s;
    if (info.columns[0].desc.rank != 1 || info.columns[0].desc.dim[0] < 1 ||
        info.columns[0].classes < 1)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "generate: the dataset's first column is no row of tokens");
    g->length = info.columns[0].desc.dim[0];
    g->classes = info.columns[0].classes;
    free(g->window);
    free(g->scratch);
    g->packed = 0;
    for (uint32_t k = 0; k < info.ncolumns; k++)
        g->packed |= strcmp(info.columns[k].name, "document_ids") == 0;
    g->window = calloc((size_t)g->count * (size_t)g->length * 3, sizeof *g->window);
    g->scratch = calloc((size_t)g->classes, sizeof *g->scratch);
    if (!g->window || !g->scratch)
        return tutti_fail(err, TUTTI_E_NOMEM, "generate: no memory");
    for (uint32_t k = 0; k < g->count && s == TUTTI_OK; k++)
        s = encode_prompt(g, k, err);
    return s;
}

/* ---- a text ---- */

/* How many tokens the model is to see: as few as hold all texts, in a few steps, since each length has
 * a plan of its own; T at most. */
static int64_t window_length(const generate *g)
{
    uint64_t longest = 1;
    for (uint32_t k = 0; k < g->count; k++)
        longest = g->texts[k].count > longest ? g->texts[k].count : longest;
    int64_t length = SHORTEST;
    while (length < g->length && (uint64_t)length < longest)
        length *= 2;
    return length < g->length ? length : g->length;
}

/* The logits for the newest tokens of every text, which stand at the left of the window. */
static tutti_status run_model(generate *g, int64_t length, tutti_tensor *ret_logits,
                              tutti_error *err)
{
    memset(g->window, 0, (size_t)g->count * (size_t)length * sizeof *g->window);
    for (uint32_t k = 0; k < g->count; k++) {
        const text *t = &g->texts[k];
        const uint64_t n = t->count < (uint64_t)length ? t->count : (uint64_t)length;
        memcpy(g->window + (int64_t)k * length, t->tokens + (t->count - n),
               n * sizeof *g->window);
    }
    int32_t *const documents = g->window + (int64_t)g->count * length;
    int32_t *const positions = documents + (int64_t)g->count * length;
    const tutti_desc shape = {{g->count, length}, 2, TUTTI_I32};
    const tutti_tensor inputs[3] = {
        {.data = g->window, .desc = shape, .device = TUTTI_DEVICE_CPU},
        {.data = documents, .desc = shape, .device = TUTTI_DEVICE_CPU},
        {.data = positions, .desc = shape, .device = TUTTI_DEVICE_CPU}};
    for (int64_t k = 0; g->packed && k < g->count * length; k++) {
        documents[k] = 0;
        positions[k] = (int32_t)(k % length);
    }
    const tutti_status s =
        g->train->forward(g->train->ctx, inputs, g->packed ? 3 : 1, ret_logits, 1, err);
    const tutti_desc *d = &ret_logits->desc;
    if (s == TUTTI_OK && (d->rank != 3 || d->dtype != TUTTI_F32 || d->dim[0] != g->count ||
                          d->dim[1] != length || d->dim[2] < g->classes ||
                          ret_logits->device != TUTTI_DEVICE_CPU)) {
        char got[96];
        return tutti_fail(
            err, TUTTI_E_SHAPE,
            "generate: the model's output is %s, want logits F32 (%u, %lld, %lld) "
            "in the host's memory",
            tutti_desc_text(d, got, sizeof got), g->count, (long long)length,
            (long long)g->classes);
    }
    return s;
}

/* Draws the next token of text k from the logits at its last position; -1: they are no numbers. */
static int64_t generate_draw(generate *g, uint32_t k, int64_t length,
                             const tutti_tensor *logits)
{
    const text *t = &g->texts[k];
    const uint32_t purpose = TUTTI_RNG_PLUGIN ^ (uint32_t)tutti_hash("generate");
    const int64_t n = t->count < (uint64_t)length ? (int64_t)t->count : length;
    tutti_stream r = tutti_stream_at(*g->state->seed, purpose, (uint64_t)g->state->time->batch,
                                     (t->count - t->given) * g->count + k);
    return sample_token(
        (const float *)logits->data + ((int64_t)k * length + n - 1) * logits->desc.dim[2],
        g->classes, g->temperature, g->top_k, tutti_stream_uniform(&r), g->scratch);
}

/* Adds tokens to all texts; *ret_broken: the logits were no numbers. */
static tutti_status go_on(generate *g, bool *ret_broken, tutti_error *err)
{
    *ret_broken = false;
    for (uint32_t k = 0; k < g->count; k++)
        g->texts[k].count = g->texts[k].given;
    for (int64_t step = 0; step < g->new_tokens; step++) {
        tutti_tensor logits = {.device = TUTTI_DEVICE_CPU};
        const int64_t length = window_length(g);
        const tutti_status s = run_model(g, length, &logits, err);
        if (s)
            return s;
        for (uint32_t k = 0; k < g->count; k++) {
            const int64_t token = generate_draw(g, k, length, &logits);
            if (token < 0) {
                *ret_broken = true;
                return TUTTI_OK;
            }
            g->texts[k].tokens[g->texts[k].count++] = (int32_t)token;
        }
    }
    return TUTTI_OK;
}

static tutti_status print_text(const generate *g, const text *t, tutti_error *err)
{
    uint64_t size = 0, used = 0, n = 0;
    for (uint64_t k = 0; k < t->count; k++)
        size += g->vocabulary->token(g->dataset, t->tokens[k], &n) ? n : 0;
    char *all = malloc(size + 1);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "generate: no memory for a text");
    for (uint64_t k = 0; k < t->count; k++) {
        const char *part = g->vocabulary->token(g->dataset, t->tokens[k], &n);
        if (part) {
            memcpy(all + used, part, n);
            used += n;
        }
    }
    const tutti_status s = write_lines(g->log, all, used, err);
    free(all);
    return s;
}

static tutti_status print_all(generate *g, tutti_error *err)
{
    char line[128];
    bool broken;
    tutti_status s = go_on(g, &broken, err);
    if (s)
        return s;
    g->last_batch = g->state->time->batch;
    if (broken) {
        g->log->write(g->log->ctx, TUTTI_LOG_WARNING,
                      "no text: the model's logits are not finite");
        return TUTTI_OK;
    }
    for (uint32_t k = 0; k < g->count && s == TUTTI_OK; k++) {
        (void)snprintf(line, sizeof line,
                       "after batch %lld, from prompt %u:", (long long)g->last_batch, k);
        g->log->write(g->log->ctx, TUTTI_LOG_INFO, line);
        s = print_text(g, &g->texts[k], err);
    }
    return s;
}

static tutti_status generate_event(void *self, const tutti_event *event, tutti_error *err)
{
    generate *g = self;
    switch (event->id) {
    case TUTTI_EVENT_FIT_START:
        interval_begin(&g->interval);
        return generate_prepare(g, err);
    case TUTTI_EVENT_BATCH_START:
        interval_batch(&g->interval);
        return TUTTI_OK;
    default:
        return g->state->time->batch != g->last_batch && interval_due(&g->interval, event->id)
                   ? print_all(g, err)
                   : TUTTI_OK;
    }
}

CALLBACK_KEEPS(generate, last_batch, .dtype = TUTTI_I64)

CALLBACK_PLUGIN("generate", .open = generate_open, .run_event = generate_event,
                .close = generate_close, .query = callback_query);
