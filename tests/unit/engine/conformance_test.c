/* conformance_test.c - the conformance cases for time, intervals and dispatch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/training_time.h"
#include "engine_check.h"

#include <stdio.h>

/* The cases of a file of tests/conformance/cases; the caller frees them. */
static json_doc *read_cases(const char *file)
{
    const char *source = getenv("TUTTI_SOURCE");
    char path[4096];
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    (void)snprintf(path, sizeof path, "%s/tests/conformance/cases/%s", source ? source : ".",
                   file);
    ck_assert_ok(json_read(path, 1 << 24, &doc, &err), err);
    ck_assert_uint_gt(json_count(json_root(doc)), 0);
    return doc;
}

static tutti_time operand(const char *text)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_time t;
    char *end = NULL;
    const double number = strtod(text, &end);
    if (*end == '\0')
        return duration_number(number);
    ck_assert_ok(duration_parse(text, &t, &err), err);
    return t;
}

static void check_operation(const json_node *op, const json_node *expect)
{
    const tutti_time a = operand(json_string(json_at(op, 0))),
                     b = operand(json_string(json_at(op, 2)));
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_time got = {0};
    tutti_status s = TUTTI_E_FAIL;
    char text[64];
    switch (json_string(json_at(op, 1))[0]) {
    case '+':
        s = duration_add(a, b, &got, &err);
        break;
    case '-':
        s = duration_sub(a, b, &got, &err);
        break;
    case '*':
        s = duration_mul(a, b, &got, &err);
        break;
    case '/':
        s = duration_div(a, b, &got, &err);
        break;
    case '%':
        s = duration_mod(a, b, &got, &err);
        break;
    default:
        ck_abort_msg("unknown operation %s", json_string(json_at(op, 1)));
    }
    if (json_get(expect, "error")) {
        ck_assert_str_eq(json_string(json_get(expect, "error")), "unit_mismatch");
        ck_assert_int_eq(s, TUTTI_E_ARG);
        return;
    }
    ck_assert_ok(s, err);
    ck_assert_str_eq(duration_text(got, text, sizeof text),
                     json_string(json_get(expect, "result")));
}

START_TEST(time_parses_and_computes)
{
    json_doc *doc = read_cases("time.json");
    const json_node *cases = json_root(doc);
    for (size_t k = 0; k < json_count(cases); k++) {
        const json_node *c = json_at(cases, k), *expect = json_get(c, "expect");
        if (json_get(c, "op")) {
            check_operation(json_get(c, "op"), expect);
            continue;
        }
        tutti_error err = TUTTI_ERROR_INIT;
        tutti_time got = {0};
        const tutti_status s = duration_parse(json_string(json_get(c, "parse")), &got, &err);
        const json_node *error = json_get(expect, "error");
        if (error) {
            const int integral = strcmp(json_string(error), "not_integral") == 0;
            ck_assert_int_eq(s, integral ? TUTTI_E_ARG : TUTTI_E_FORMAT);
            continue;
        }
        ck_assert_ok(s, err);
        ck_assert_str_eq(duration_unit(got.unit), json_string(json_get(expect, "unit")));
        ck_assert_close(got.unit == TUTTI_UNIT_DURATION ? got.fraction : (double)got.count,
                        json_real(json_get(expect, "value")), 0.0);
    }
    json_free(doc);
}
END_TEST

/* One fit of the case, as the trainer would step: "ba@4 ep@10" where the interval is due. */
typedef struct fit {
    tutti_interval v;
    tutti_time max;
    int64_t per_epoch;
    tutti_timestamp now;
    tutti_timestamp previous;
    bool has_previous;
    char *text;
    size_t size;
} fit;

static void ask(fit *f, int32_t event, const char *code)
{
    tutti_error err = TUTTI_ERROR_INIT;
    bool due = false;
    ck_assert_ok(interval_due(&f->v, event, &f->now, f->has_previous ? &f->previous : NULL,
                              f->max, f->per_epoch, &due, &err),
                 err);
    const size_t used = strlen(f->text);
    if (due)
        (void)snprintf(f->text + used, f->size - used, "%s%s@%lld", used ? " " : "", code,
                       (long long)f->now.batch);
}

static void walk(const json_node *c, bool checkpoint, char *text, size_t size)
{
    fit f = {.v = {operand(json_string(json_get(c, "interval"))), true, checkpoint, -1},
             .max = operand(json_string(json_get(c, "max_duration"))),
             .per_epoch = json_int(json_get(c, "batches_per_epoch")),
             .text = text,
             .size = size};
    const int64_t samples = json_int(json_get(c, "samples_per_batch"));
    text[0] = '\0';
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

START_TEST(intervals_are_due_where_upstream_says)
{
    json_doc *doc = read_cases("interval.json");
    const json_node *cases = json_root(doc);
    for (size_t k = 0; k < json_count(cases); k++) {
        const json_node *c = json_at(cases, k), *expect = json_get(c, "expect");
        char text[1024];
        walk(c, true, text, sizeof text);
        ck_assert_str_eq(text, json_string(json_get(expect, "checkpoint")));
        walk(c, false, text, sizeof text);
        ck_assert_str_eq(text, json_string(json_get(expect, "eval")));
    }
    json_free(doc);
}
END_TEST

static void add_all(engine *e, const json_node *names, const char *kind, actor *cast,
                    char (*labels)[96], size_t *used, const int32_t *event)
{
    for (size_t k = 0; names && k < json_count(names); k++) {
        const char *name = json_string(json_at(names, k));
        ck_assert_uint_lt(*used, 64);
        actor *a = &cast[*used];
        (void)snprintf(labels[*used], sizeof labels[0], "%s:%s", kind, name);
        *a = (actor){.name = labels[*used], .match = 1};
        ++*used;
        participant p = as_participant(a, kind, event, 1);
        p.object = p.name = name;
        add(e, &p);
    }
}

START_TEST(dispatch_runs_in_the_order_of_upstream)
{
    json_doc *doc = read_cases("dispatch.json");
    const json_node *cases = json_root(doc);
    for (size_t k = 0; k < json_count(cases); k++) {
        const json_node *c = json_at(cases, k);
        const json_node *order = json_get(json_get(c, "expect"), "order");
        static actor cast[64];
        static char labels[64][96];
        const int32_t event = event_find(json_string(json_get(c, "event")));
        engine *e = new_engine(NULL);
        char want[4096] = "";
        size_t used = 0;
        add_all(e, json_get(c, "algorithms"), "algorithm", cast, labels, &used, &event);
        add_all(e, json_get(c, "callbacks"), "callback", cast, labels, &used, &event);
        add_all(e, json_get(c, "loggers"), "logger", cast, labels, &used, &event);
        seal(e);
        for (size_t j = 0; j < json_count(order); j++) {
            const size_t length = strlen(want);
            (void)snprintf(want + length, sizeof want - length, "%s%s", j ? " " : "",
                           json_string(json_at(order, j)));
        }
        run(e, event);
        ck_assert_str_eq(journal, want);
        engine_destroy(e);
    }
    json_free(doc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conformance");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, time_parses_and_computes);
    tcase_add_test(tc, intervals_are_due_where_upstream_says);
    tcase_add_test(tc, dispatch_runs_in_the_order_of_upstream);
    return tutti_run(suite);
}
