/* answers.c - what a language model adds to the prompts of an evaluation's batch, by one decoder. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/generate/answers.h"

#include "train/generate/decoder.h"
#include "train/generate/sampler.h"
#include "train/generate/text_stream.h"
#include "train/step/trainer_state.h"

#include <stdio.h>
#include <stdlib.h>

struct answers {
    const distributed *ranks;
    decoder *decoder;
    const tutti_vocabulary_v1 *vocabulary; /* of the training data; or NULL */
    void *vocabulary_self;
    sampler_entry *scratch; /* (classes) */
    int32_t *prompt;        /* (prompt_capacity) */
    int64_t prompt_capacity;
    int32_t *tokens; /* (tokens_capacity): of the batch */
    int64_t tokens_capacity;
    bool told; /* that prompts were cut */
};

void answers_free(answers *a)
{
    if (!a)
        return;
    decoder_destroy(a->decoder);
    free(a->scratch);
    free(a->prompt);
    free(a->tokens);
    free(a);
}

static tutti_status no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory to generate");
}

/* With the first batch that wants them. */
static tutti_status open_answers(trainer *t, answers **ret, tutti_error *err)
{
    answers *a = calloc(1, sizeof *a);
    if (!a)
        return no_memory(err);
    a->ranks = &t->distributed;
    const tutti_status s = decoder_create(t, true, &a->decoder, err);
    if (s) {
        answers_free(a);
        return s;
    }
    a->vocabulary = decoder_vocabulary(a->decoder, &a->vocabulary_self);
    a->scratch = calloc((size_t)decoder_classes(a->decoder), sizeof *a->scratch);
    if (!a->scratch) {
        answers_free(a);
        return no_memory(err);
    }
    if (decoder_complaint(a->decoder))
        run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", decoder_complaint(a->decoder));
    *ret = a;
    return TUTTI_OK;
}

static bool reserve(int32_t **memory, int64_t *capacity, int64_t count)
{
    if (count <= *capacity)
        return true;
    int32_t *more = realloc(*memory, (size_t)count * sizeof *more);
    if (more) {
        *memory = more;
        *capacity = count;
    }
    return more != NULL;
}

/* The prompts (B, P) of the batch, on the host. */
static tutti_status find_prompts(trainer *t, const run_data *spec, tutti_tensor *ret_prompts,
                                 tutti_error *err)
{
    char text[96];
    batch *b = tensors_batch(&t->tensors);
    slot *prompts = batch_find(b, ANSWERS_PROMPT);
    if (!prompts || !batch_find(b, ANSWERS_REFERENCES))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "the evaluation %s generates, and its data set %s has no column "
                          "\"%s\"; documents with \"references\" has prompt and references",
                          spec->label, spec->dataset.name,
                          prompts ? ANSWERS_REFERENCES : ANSWERS_PROMPT);
    const tutti_desc d = prompts->now.desc;
    if (d.rank != 2 || (d.dtype != TUTTI_I32 && d.dtype != TUTTI_I64))
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "the column \"" ANSWERS_PROMPT
                          "\" of the evaluation %s is %s, want rows of tokens (B, P)",
                          spec->label, tutti_desc_text(&d, text, sizeof text));
    return tensors_mirror_column(&t->tensors, "", prompts, ret_prompts, err);
}

static int64_t token_at(const tutti_tensor *x, int64_t k)
{
    return x->desc.dtype == TUTTI_I64 ? ((const int64_t *)x->data)[k]
                                      : ((const int32_t *)x->data)[k];
}

/* Row `row` of the prompts into a->prompt, up to what is no token. */
static tutti_status take_prompt(answers *a, const run_data *spec, const tutti_tensor *prompts,
                                int64_t row, int64_t *ret_count, tutti_error *err)
{
    const int64_t length = prompts->desc.dim[1];
    int64_t n = 0;
    if (!reserve(&a->prompt, &a->prompt_capacity, length))
        return no_memory(err);
    for (; n < length && token_at(prompts, row * length + n) >= 0; n++) {
        const int64_t token = token_at(prompts, row * length + n);
        a->prompt[n] = token > INT32_MAX ? INT32_MAX : (int32_t)token;
    }
    *ret_count = n;
    return n ? TUTTI_OK
             : tutti_fail(err, TUTTI_E_RANGE, "the evaluation %s: a prompt has no token",
                          spec->label);
}

/* Adds a token's bytes to the text; whether the stop text is there now. */
static tutti_status add_text(const answers *a, text_stream *text, int64_t token,
                             tutti_error *err)
{
    uint64_t n = 0;
    const char *bytes = a->vocabulary->token(a->vocabulary_self, token, &n);
    return bytes ? text_stream_add(text, bytes, (size_t)n, err) : TUTTI_OK;
}

/* Tokens behind the prompt, at most `most`, into `tokens`; those of the stop text are none of them. */
static tutti_status answer(answers *a, const run_data *spec, int64_t given, int32_t *tokens,
                           text_stream *text, tutti_error *err)
{
    static const sampler_options likeliest = {.top_p = 1.0};
    const float *logits = NULL;
    const int64_t most = spec->generate.max_new_tokens;
    int64_t before = 0; /* tokens whose text ends where the stop text begins, or earlier */
    decoder_restart(a->decoder);
    tutti_status s = decoder_feed(a->decoder, a->prompt, given, &logits, err);
    for (int64_t k = 0; k < most && !s && !text->stopped; k++) {
        const int64_t token =
            sampler_draw(logits, decoder_classes(a->decoder), &likeliest, 0.0, a->scratch);
        if (token < 0)
            return tutti_fail(err, TUTTI_E_NUMERIC,
                              "the evaluation %s: the model's logits are not finite",
                              spec->label);
        if (distributed_signal(a->ranks))
            return tutti_fail(err, TUTTI_E_INTERRUPTED, "stopped by signal %d",
                              distributed_signal(a->ranks));
        tokens[k] = (int32_t)token;
        before = k + 1;
        if (spec->generate.stop)
            s = add_text(a, text, token, err);
        if (!s && !text->stopped && k + 1 < most)
            s = decoder_feed(a->decoder, &tokens[k], 1, &logits, err);
    }
    for (uint64_t size = 0, at = 0, n; !s && text->stopped && at < (uint64_t)before; at++) {
        n = 0;
        (void)a->vocabulary->token(a->vocabulary_self, tokens[at], &n);
        size += n;
        if (size > text->all.size)
            before = (int64_t)at;
    }
    for (int64_t k = before; k < most; k++)
        tokens[k] = -1;
    return s;
}

static void tell_shifts(trainer *t, answers *a, const run_data *spec)
{
    char text[256];
    if (a->told || decoder_shifts(a->decoder) == 0)
        return;
    a->told = true;
    (void)snprintf(text, sizeof text,
                   "the evaluation %.60s: a text became longer than the %lld tokens that the "
                   "model sees; the older half of them was forgotten",
                   spec->label, (long long)decoder_context(a->decoder));
    run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
}

tutti_status answers_batch(trainer *t, answers **kept, const run_data *spec, tutti_error *err)
{
    const char *const stops[] = {spec->generate.stop, NULL};
    const int64_t most = spec->generate.max_new_tokens;
    tutti_tensor prompts = {.device = TUTTI_DEVICE_CPU};
    tutti_status s = find_prompts(t, spec, &prompts, err);
    if (s || (!*kept && (s = open_answers(t, kept, err))))
        return s;
    answers *a = *kept;
    const int64_t rows = prompts.desc.dim[0];
    if (spec->generate.stop && !a->vocabulary)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "the evaluation %s has \"stop\", and the training data's tokens have "
                          "no texts",
                          spec->label);
    if (!reserve(&a->tokens, &a->tokens_capacity, rows * most))
        return no_memory(err);
    for (int64_t row = 0; row < rows && !s; row++) {
        text_stream text = {.stops = stops};
        int64_t given = 0;
        s = take_prompt(a, spec, &prompts, row, &given, err);
        if (!s)
            s = answer(a, spec, given, a->tokens + row * most, &text, err);
        text_stream_fini(&text);
        tell_shifts(t, a, spec);
    }
    if (s)
        return s;
    t->tensors.noutputs = 1;
    t->tensors.outputs[0].now = (tutti_tensor){
        .data = a->tokens, .desc = {{rows, most}, 2, TUTTI_I32}, .device = TUTTI_DEVICE_CPU};
    return TUTTI_OK;
}
