/* event_counts_case.c - how often each event fires in a real fit of a small model, and in which order at
 * which times. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "conformance.h"
#include "op_table.h"
#include "train/trainer/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct counts {
    int64_t of[COMPOSER_EVENT_END];
    text_buffer
        sequence; /* "batch_end:0.1.4.1": epochs, batches, samples, batches of the epoch */
} counts;

/* An evaluation's events have its own clock, but for those around all evaluations. */
static const tutti_timestamp *clock_of(const tutti_event *event)
{
    const bool around =
        event->id == TUTTI_EVENT_EVAL_BEFORE_ALL || event->id == TUTTI_EVENT_EVAL_AFTER_ALL;
    return strncmp(event->name, "eval_", 5) == 0 && !around ? event->eval_time : event->time;
}

static void count(void *ctx, const tutti_event *event)
{
    counts *n = ctx;
    if (event->id >= COMPOSER_EVENT_END)
        return;
    const tutti_timestamp *t = clock_of(event);
    n->of[event->id]++;
    text_add(&n->sequence, "%s%s:%lld.%lld.%lld.%lld", n->sequence.size ? " " : "", event->name,
             (long long)t->epoch, (long long)t->batch, (long long)t->sample,
             (long long)t->batch_in_epoch);
}

static void put_data(text_buffer *b, const json_node *fit, const char *prefix,
                     const char *subset)
{
    char samples[64], size[64];
    (void)snprintf(samples, sizeof samples, "%ssamples", prefix);
    (void)snprintf(size, sizeof size, "%sbatch_size", prefix);
    text_add(b,
             "\"dataset\": {\"name\": \"glyphs\", \"samples\": %lld}, \"transforms\": "
             "[{\"name\": \"normalize\", \"mean\": [0.1], \"std\": [0.3]}], \"workers\": 1, "
             "\"drop_last\": false, \"batch_size\": %lld, \"subset_num_batches\": %lld",
             (long long)int_of(fit, samples, 16), (long long)int_of(fit, size, 4),
             (long long)int_of(fit, subset, -1));
}

/* The case's fit as a run file. */
static char *run_text(const json_node *fit)
{
    text_buffer b = {0};
    const char *interval = text_of(fit, "eval_interval"), *max = text_of(fit, "max_duration");
    text_add(&b, "{\"name\": \"counts\", \"model\": {\"name\": \"mlp\", \"hidden\": [4]}, "
                 "\"optimizer\": {\"name\": \"sgd\", \"lr\": 0.01}, \"threads\": 1, ");
    text_add(&b, "\"max_duration\": \"%s\", \"microbatch_size\": %lld, \"train\": {",
             *max ? max : "1ep", (long long)int_of(fit, "microbatch_size", 0));
    put_data(&b, fit, "", "train_subset_num_batches");
    text_add(&b, "}, \"eval\": [");
    for (int64_t k = 0; k < int_of(fit, "evaluators", 0); k++) {
        text_add(&b, "%s{\"label\": \"eval%lld\", \"interval\": \"%s\", ", k ? ", " : "",
                 (long long)k, *interval ? interval : "1ep");
        put_data(&b, fit, "eval_", "eval_subset_num_batches");
        text_add(&b, "}");
    }
    text_add(&b, "]}");
    return b.data;
}

static void run_fit(const json_node *fit, registry *plugins, counts *n, text_buffer *got)
{
    tutti_error e = TUTTI_ERROR_INIT;
    run_file *run = NULL;
    trainer *t = NULL;
    char *text = run_text(fit);
    faults *f = faults_create();
    tutti_status s = text && f ? TUTTI_OK : tutti_fail(&e, TUTTI_E_NOMEM, "no memory");
    if (s == TUTTI_OK)
        s = run_file_parse("case", text, ".", RUN_FILE_TRAIN, NULL, plugins, &run, f);
    if (s == TUTTI_OK)
        s = trainer_create(run, plugins, tutti_op_table, &t, &e);
    if (s == TUTTI_OK) {
        engine_watch(trainer_engine(t), count, n);
        s = trainer_fit(t, &(fit_options){.resume = NULL}, &e);
    }
    if (s)
        text_add(got, "%s ", e.text);
    for (size_t k = 0; f && k < faults_count(f); k++)
        text_add(got, "%s ", faults_text(f, k));
    trainer_destroy(t);
    run_file_free(run);
    faults_destroy(f);
    free(text);
}

void run_event_counts_case(const json_node *c, registry *plugins, verdict *v)
{
    const json_node *expect = member(c, "expect");
    const char *sequence = text_of(expect, "sequence");
    counts n = {{0}, {0}};
    run_fit(member(c, "fit"), plugins, &n, &v->got);
    if (*sequence) {
        text_add(&v->want, "%s", sequence);
        text_add(&v->got, "%s", n.sequence.data ? n.sequence.data : "");
    }
    for (size_t k = 0; !*sequence && expect && k < json_count(expect); k++) {
        const json_node *one = json_at(expect, k);
        const int32_t event = event_find(json_key(one));
        const int64_t got = event >= 0 && event < COMPOSER_EVENT_END ? n.of[event] : -1;
        if (got == json_int(one))
            continue;
        text_add(&v->want, "%s %lld times ", json_key(one), (long long)json_int(one));
        text_add(&v->got, "%s %lld times ", json_key(one), (long long)got);
    }
    free(n.sequence.data);
}
