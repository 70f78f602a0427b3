/* time_case.c - parsing and arithmetic of durations; when intervals are due. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance.h"
#include "engine/training_time.h"
#include "tutti/events.h"

#include <stdio.h>
#include <stdlib.h>

/* An operand: a duration, or a plain number, as text or as JSON number. */
static tutti_status operand(const json_node *n, tutti_time *ret, tutti_error *err)
{
    const char *text = json_string(n);
    char *end = NULL;
    if (!text) {
        *ret = duration_number(json_real(n));
        return TUTTI_OK;
    }
    const double number = strtod(text, &end);
    if (*text && *end == '\0') {
        *ret = duration_number(number);
        return TUTTI_OK;
    }
    return duration_parse(text, ret, err);
}

static const char *compared(const char *sign, int order)
{
    const bool holds = strcmp(sign, "==") == 0   ? order == 0
                       : strcmp(sign, "!=") == 0 ? order != 0
                       : strcmp(sign, "<") == 0  ? order < 0
                       : strcmp(sign, "<=") == 0 ? order <= 0
                       : strcmp(sign, ">") == 0  ? order > 0
                                                 : order >= 0;
    return holds ? "true" : "false";
}

static void run_operation(const json_node *op, text_buffer *got)
{
    tutti_error e = TUTTI_ERROR_INIT;
    tutti_time a = {0}, b = {0}, r = {0};
    const char *sign = json_string(json_at(op, 1));
    char text[64];
    int order = 0;
    tutti_status s = operand(json_at(op, 0), &a, &e);
    if (s == TUTTI_OK)
        s = operand(json_at(op, 2), &b, &e);
    const bool comparison = sign && (strchr("<>!", sign[0]) || strcmp(sign, "==") == 0);
    if (s == TUTTI_OK && comparison)
        s = duration_compare(a, b, &order, &e);
    else if (s == TUTTI_OK)
        s = !sign            ? TUTTI_E_FORMAT
            : sign[0] == '+' ? duration_add(a, b, &r, &e)
            : sign[0] == '-' ? duration_sub(a, b, &r, &e)
            : sign[0] == '*' ? duration_mul(a, b, &r, &e)
            : sign[0] == '/' ? duration_div(a, b, &r, &e)
                             : duration_mod(a, b, &r, &e);
    if (s == TUTTI_E_ARG)
        text_add(got, "unit_mismatch");
    else if (s)
        text_add(got, "%s", e.text);
    else
        text_add(got, "%s",
                 comparison ? compared(sign, order) : duration_text(r, text, sizeof text));
}

/* A result as the cases write it: text, or true and false. */
static void put_result(const json_node *n, text_buffer *want)
{
    char *text = n && !json_string(n) ? json_text(n) : NULL;
    text_add(want, "%s", text ? text : n ? json_string(n) : "?");
    free(text);
}

static void put_time(double value, const char *unit, text_buffer *b)
{
    char number[TEXT_REAL_SIZE];
    text_add(b, "%s %s", text_real(value, number), unit);
}

void run_time_case(const json_node *c, registry *plugins, verdict *v)
{
    const json_node *expect = member(c, "expect");
    const char *error = text_of(expect, "error");
    tutti_error e = TUTTI_ERROR_INIT;
    tutti_time t = {0};
    if (member(c, "op")) {
        if (*error)
            text_add(&v->want, "%s", error);
        else
            put_result(member(expect, "result"), &v->want);
        run_operation(member(c, "op"), &v->got);
        return;
    }
    const json_node *parse = member(c, "parse");
    if (*error)
        text_add(&v->want, "%s", error);
    else
        put_time(json_real(member(expect, "value")), text_of(expect, "unit"), &v->want);
    /* A bare number is as bad as the text of one. */
    const tutti_status s =
        json_string(parse) ? duration_parse(json_string(parse), &t, &e) : TUTTI_E_FORMAT;
    if (s)
        text_add(&v->got, "%s", s == TUTTI_E_ARG ? "not_integral" : "bad_string");
    else
        put_time(t.unit == TUTTI_UNIT_DURATION ? t.fraction : (double)t.count,
                 duration_unit(t.unit), &v->got);
}

/* ---- intervals ---- */

/* One fit of the case, as the trainer steps: "ba@4 ep@10" where the interval is due. */
typedef struct fit {
    tutti_interval v;
    tutti_time max;
    int64_t per_epoch;
    tutti_timestamp now;
    tutti_timestamp previous;
    bool has_previous;
    text_buffer *out;
    size_t dues;
} fit;

static void ask(fit *f, int32_t event, const char *code)
{
    tutti_error err = TUTTI_ERROR_INIT;
    bool due = false;
    if (interval_due(&f->v, event, &f->now, f->has_previous ? &f->previous : NULL, f->max,
                     f->per_epoch, &due, &err))
        text_add(f->out, " %s", err.text);
    if (due)
        text_add(f->out, "%s%s@%lld", f->dues++ ? " " : "", code, (long long)f->now.batch);
}

static void walk(const json_node *c, bool checkpoint, text_buffer *out)
{
    tutti_error e = TUTTI_ERROR_INIT;
    fit f = {.v = {.include_end = true, .checkpoint_events = checkpoint, .last_batch = -1},
             .per_epoch = int_of(c, "batches_per_epoch", 1),
             .out = out};
    const int64_t samples = int_of(c, "samples_per_batch", 1);
    if (duration_parse(text_of(c, "interval"), &f.v.every, &e) ||
        duration_parse(text_of(c, "max_duration"), &f.max, &e)) {
        text_add(out, "%s", e.text);
        return;
    }
    while (duration_elapsed(&f.now, f.max) < 1.0) {
        for (int64_t b = 0; b < f.per_epoch && duration_elapsed(&f.now, f.max) < 1.0; b++) {
            f.previous = f.now;
            f.has_previous = true;
            timestamp_next_batch(&f.now, samples, 0, 0);
            ask(&f, checkpoint ? TUTTI_EVENT_BATCH_CHECKPOINT : TUTTI_EVENT_BATCH_END, "ba");
        }
        if (f.now.batch_in_epoch < f.per_epoch)
            break;
        f.previous = f.now;
        timestamp_next_epoch(&f.now, 0);
        ask(&f, checkpoint ? TUTTI_EVENT_EPOCH_CHECKPOINT : TUTTI_EVENT_EPOCH_END, "ep");
    }
    if (!checkpoint)
        ask(&f, TUTTI_EVENT_FIT_END, "fit_end");
}

void run_interval_case(const json_node *c, registry *plugins, verdict *v)
{
    const json_node *expect = member(c, "expect");
    const bool both[] = {member(expect, "checkpoint") != NULL, member(expect, "eval") != NULL};
    static const char *const names[] = {"checkpoint", "eval"};
    for (int k = 0; k < 2; k++) {
        if (!both[k])
            continue;
        text_add(&v->want, "%s: %s; ", names[k], text_of(expect, names[k]));
        text_add(&v->got, "%s: ", names[k]);
        walk(c, k == 0, &v->got);
        text_add(&v->got, "; ");
    }
}
