/* generate.c - tutti generate: a language model goes on with a text, on the terminal as it comes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/input_file.h"
#include "base/monotonic.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/generate_run.h"
#include "cli/numbers.h"
#include "train/generate/decoder.h"
#include "train/generate/sampler.h"
#include "train/generate/text_stream.h"
#include "tutti/rng.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 16 << 20 /* of a prompt */ };

/* One text under way. */
typedef struct generation {
    const cli_options *options;
    char *weights; /* the file that they come from */
    decoder *decoder;
    const tutti_vocabulary_v1 *vocabulary;
    void *vocabulary_self;
    sampler_options sampling;
    int64_t most; /* new tokens */
    uint64_t seed;
    text_buffer prompt;
    int32_t *tokens; /* of the prompt, then the new ones */
    uint64_t given, count;
    sampler_entry *scratch; /* (classes) */
    text_stream stream;
    text_buffer text; /* all that was given out */
    double prompt_seconds, seconds;
} generation;

/* ---- what the command line says ---- */

static bool read_numbers(generation *g)
{
    const cli_generating *o = &g->options->generating;
    int64_t seed = 0;
    g->most = 200;
    g->sampling.top_p = 1.0;
    const bool good =
        number_whole("--max-tokens", o->max_tokens, 1, 1 << 24, &g->most) &&
        number_real("--temperature", o->temperature, 0.0, 1e6, &g->sampling.temperature) &&
        number_whole("--top-k", o->top_k, 1, 1 << 24, &g->sampling.top_k) &&
        number_real("--top-p", o->top_p, 0.0, 1.0, &g->sampling.top_p) &&
        number_whole("--seed", o->seed, 0, INT64_MAX, &seed);
    g->seed = (uint64_t)seed;
    if (good && !(g->sampling.temperature > 0.0) && (o->top_k || o->top_p || o->seed)) {
        (void)fprintf(stderr,
                      "tutti: %s needs a --temperature above 0: without one nothing is "
                      "drawn\n",
                      o->top_k   ? "--top-k"
                      : o->top_p ? "--top-p"
                                 : "--seed");
        return false;
    }
    return good;
}

static tutti_status has_prompt(const generation *g, tutti_error *err)
{
    return g->prompt.failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for the prompt")
                            : TUTTI_OK;
}

/* The prompt's bytes, from wherever they come. */
static tutti_status read_prompt(generation *g, tutti_error *err)
{
    const cli_generating *o = &g->options->generating;
    char part[4096];
    size_t n;
    if (!o->prompt == !o->file)
        return tutti_fail(err, TUTTI_E_ARG, "generate needs %s",
                          o->file ? "either --prompt or --file"
                                  : "--prompt TEXT or --file FILE");
    if (o->prompt) {
        text_add_bytes(&g->prompt, o->prompt, strlen(o->prompt));
        return has_prompt(g, err);
    }
    FILE *file = stdin;
    const tutti_status s =
        strcmp(o->file, "-") == 0 ? TUTTI_OK : input_file_open(o->file, &file, err);
    if (s)
        return s;
    while ((n = fread(part, 1, sizeof part, file)) > 0 && g->prompt.size <= MOST_BYTES)
        text_add_bytes(&g->prompt, part, n);
    const bool bad = ferror(file) != 0;
    if (file != stdin)
        (void)fclose(file);
    if (bad)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot be read", o->file);
    return g->prompt.size > MOST_BYTES
               ? tutti_fail(err, TUTTI_E_RANGE, "%s: has more than %d MiB", o->file,
                            MOST_BYTES >> 20)
               : has_prompt(g, err);
}

/* ---- tokens ---- */

/* The prompt's tokens, with room for new ones.  A tokenizer that rewrites the text may make more tokens than it has
 * bytes. */
static tutti_status encode_prompt(generation *g, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    uint64_t capacity, wanted = g->prompt.size + (uint64_t)g->most;
    do {
        capacity = wanted;
        free(g->tokens);
        g->tokens = calloc(capacity, sizeof *g->tokens);
        if (!g->tokens)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the prompt");
        why = (tutti_error)TUTTI_ERROR_INIT;
        const tutti_status s =
            g->vocabulary->encode(g->vocabulary_self, g->prompt.data, g->prompt.size, g->tokens,
                                  capacity, &g->given, &why);
        wanted = g->given + (uint64_t)g->most;
        if (s && (s != TUTTI_E_RANGE || wanted <= capacity))
            return tutti_fail(err, s, "the prompt: %s", why.text);
    } while (wanted > capacity);
    return TUTTI_OK;
}

static tutti_status encode(generation *g, tutti_error *err)
{
    g->vocabulary = decoder_vocabulary(g->decoder, &g->vocabulary_self);
    if (!g->vocabulary)
        return tutti_fail(
            err, TUTTI_E_UNSUPPORTED,
            "the run's dataset does not say what its tokens stand for, as text does, "
            "and tokens_bin with vocab_file and merges_file");
    if (g->prompt.size == 0)
        return tutti_fail(err, TUTTI_E_ARG, "the prompt is empty, want a character or more");
    g->scratch = calloc((size_t)decoder_classes(g->decoder), sizeof *g->scratch);
    if (!g->scratch)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the prompt");
    const tutti_status s = encode_prompt(g, err);
    if (s)
        return s;
    g->count = g->given;
    if (g->given > (uint64_t)decoder_context(g->decoder))
        return tutti_fail(err, TUTTI_E_RANGE,
                          "the prompt has %llu tokens, the model sees %lld at most",
                          (unsigned long long)g->given, (long long)decoder_context(g->decoder));
    return TUTTI_OK;
}

/* What has become certain goes out. */
static tutti_status give_out(generation *g, bool end, tutti_error *err)
{
    char *text = text_stream_take(&g->stream, end);
    if (!text)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a text");
    text_add_bytes(&g->text, text, strlen(text));
    if (*text && !g->options->json) {
        (void)fputs(text, stdout);
        (void)cli_flush();
    }
    free(text);
    return g->text.failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for a text") : TUTTI_OK;
}

/* The next token out of the logits, and its text. */
static tutti_status take_token(generation *g, const float *logits, tutti_error *err)
{
    tutti_stream r = tutti_stream_at(
        g->seed, TUTTI_RNG_PLUGIN ^ (uint32_t)tutti_hash("generate"), 0, g->count - g->given);
    const int64_t token = sampler_draw(logits, decoder_classes(g->decoder), &g->sampling,
                                       tutti_stream_uniform(&r), g->scratch);
    uint64_t n = 0;
    if (token < 0)
        return tutti_fail(err, TUTTI_E_NUMERIC, "the model's logits are not finite");
    g->tokens[g->count++] = (int32_t)token;
    const char *bytes = g->vocabulary->token(g->vocabulary_self, token, &n);
    const tutti_status s = bytes ? text_stream_add(&g->stream, bytes, n, err) : TUTTI_OK;
    return s ? s : give_out(g, false, err);
}

static tutti_status go_on(generation *g, tutti_error *err)
{
    tutti_error unheard = TUTTI_ERROR_INIT;
    const float *logits = NULL;
    const double began = monotonic_s();
    tutti_status s = decoder_listen(g->decoder, err);
    if (!s)
        s = decoder_feed(g->decoder, g->tokens, (int64_t)g->given, &logits, err);
    g->prompt_seconds = monotonic_s() - began;
    while (!s) {
        const int number = decoder_signal(g->decoder);
        s = number ? tutti_fail(err, TUTTI_E_INTERRUPTED, "stopped by signal %d", number)
                   : take_token(g, logits, err);
        if (s || g->stream.stopped || g->count - g->given == (uint64_t)g->most)
            break;
        s = decoder_feed(g->decoder, &g->tokens[g->count - 1], 1, &logits, err);
    }
    g->seconds = monotonic_s() - began;
    if (s == TUTTI_E_INTERRUPTED) /* what was held back, such as the beginning of a stop text */
        (void)give_out(g, true, &unheard);
    return s ? s : give_out(g, true, err);
}

/* ---- what is told ---- */

/* New tokens a second, without the time for the prompt and the first of them, which it gives. */
static double rate(const generation *g)
{
    const double seconds = g->seconds - g->prompt_seconds;
    return seconds > 0.0 ? (double)(g->count - g->given - 1) / seconds : 0.0;
}

static tutti_status tell_json(const generation *g, tutti_error *err)
{
    text_buffer b = {0};
    char number[TEXT_REAL_SIZE];
    text_add(&b, "{\"prompt\": ");
    text_add_quoted(&b, g->prompt.data);
    text_add(&b, ", \"text\": ");
    text_add_quoted(&b, g->text.data ? g->text.data : "");
    text_add(&b, ", \"prompt_tokens\": [");
    for (uint64_t k = 0; k < g->count; k++)
        text_add(&b, "%s%d", k == g->given ? "], \"tokens\": [" : k ? ", " : "", g->tokens[k]);
    text_add(&b,
             "], \"ended_by\": \"%s\", \"context_shifts\": %lld, \"tokens_per_second\": %s}\n",
             g->stream.stopped ? "stop" : "max_tokens", (long long)decoder_shifts(g->decoder),
             text_real(rate(g), number));
    const bool failed = b.failed || !b.data;
    if (!failed)
        (void)fputs(b.data, stdout);
    free(b.data);
    return failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for the result") : TUTTI_OK;
}

static void tell(const generation *g)
{
    if (decoder_shifts(g->decoder))
        (void)fprintf(
            stderr,
            "tutti: the text became longer than the %lld tokens that the model sees; the "
            "older half of them was forgotten %lld time%s\n",
            (long long)decoder_context(g->decoder), (long long)decoder_shifts(g->decoder),
            decoder_shifts(g->decoder) == 1 ? "" : "s");
    if (g->options->talk.verbose)
        (void)fprintf(stderr,
                      "tutti: prompt of %llu tokens in %.3f s, %llu tokens in %.3f s: "
                      "%.1f tokens a second\n",
                      (unsigned long long)g->given, g->prompt_seconds,
                      (unsigned long long)(g->count - g->given), g->seconds, rate(g));
}

static tutti_status generate(generation *g, trainer *t, tutti_error *err)
{
    const cli_options *o = g->options;
    tutti_status s = decoder_check(t, err);
    if (s || (s = trainer_begin(t, g->weights, err)) ||
        (s = decoder_create(t, !o->generating.no_cache, &g->decoder, err)))
        return s;
    if (decoder_complaint(g->decoder))
        (void)fprintf(stderr, "tutti: every token is computed from all before it: %s\n",
                      decoder_complaint(g->decoder));
    if ((s = encode(g, err)) || (s = go_on(g, err)))
        return s;
    if (o->json)
        s = tell_json(g, err);
    else if (g->text.size && g->text.data[g->text.size - 1] != '\n')
        (void)putchar('\n');
    tell(g);
    return s;
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    generation g = {.options = o, .stream = {.stops = o->generating.stops}};
    tutti_error e = TUTTI_ERROR_INIT;
    trainer *t = NULL;
    run_file *run = NULL;
    registry *r = NULL;
    int status = CLI_USAGE;
    if (!read_numbers(&g))
        return status;
    if (read_prompt(&g, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        goto end;
    }
    r = cli_registry(o);
    run = r ? generate_run(o, r, g.prompt.size + (uint64_t)g.most, &g.weights) : NULL;
    if (!run)
        goto end;
    run_file_be_quiet(run);
    t = cli_trainer_of_model(o, run, r, ops);
    if (!t)
        goto end;
    status = CLI_OK;
    if (generate(&g, t, &e)) {
        (void)fprintf(stderr, "%stutti: %s\n", g.text.size && !o->json ? "\n" : "", e.text);
        status = e.status == TUTTI_E_INTERRUPTED ? cli_signal_status() : CLI_FAILED;
    }

end:
    decoder_destroy(g.decoder);
    trainer_destroy(t);
    run_file_free(run);
    registry_destroy(r);
    text_stream_fini(&g.stream);
    free(g.prompt.data);
    free(g.text.data);
    free(g.tokens);
    free(g.scratch);
    free(g.weights);
    return status;
}

const cli_command cli_generate = {
    .name = "generate",
    .args = "CHECKPOINT|FOLDER",
    .kind = CLI_VALUE_FILE,
    .summary = "let a language model go on with a text",
    .doc = "Lets the language model of a checkpoint go on with a text, and prints what it adds "
           "as it "
           "comes.  With --run the file may be another program's.  A folder of Hugging Face's "
           "libraries needs nothing else: its config.json and tokenizer.json say the rest.",
    .more = "Where a text becomes longer than what the model sees, the older half of that is "
            "forgotten.\n\n"
            "Exit status: 0 generated, 1 failed, 2 wrong usage or input, 128 + signal when "
            "stopped.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_TALK | CLI_TAKES_GENERATE |
             CLI_TAKES_JSON,
    .least = 1,
    .most = 1,
    .run = run,
};
