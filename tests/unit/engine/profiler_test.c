/* profiler_test.c - the cyclic schedule, markers by hand, names of files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_check.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* One letter a batch: Skip, Warmup, Active, active and saVe. */
static const char *plan(const profile_schedule *s, int64_t batches, int64_t resumed)
{
    static char text[64];
    int64_t k = 0;
    for (; k < batches; k++)
        text[k] = "SWAV"[profile_action(s, k, batches, resumed)];
    text[k] = '\0';
    return text;
}

START_TEST(the_schedule_goes_in_cycles)
{
    const profile_schedule usual = {0, 0, 1, 4, 1};
    ck_assert_str_eq(plan(&usual, 12, 0), "WAAAVSSSSSSS");
    const profile_schedule twice = {2, 1, 1, 2, 2};
    ck_assert_str_eq(plan(&twice, 12, 0), "SSSWAVSWAVSS");
    const profile_schedule always = {1, 1, 1, 2, 0};
    ck_assert_str_eq(plan(&always, 12, 0), "SSWAVSWAVSWV");
    ck_assert_str_eq(plan(&usual, 12, 3), "SSSWAAAVSSSS");
    const profile_schedule bare = {0, 0, 0, 1, 0};
    ck_assert_str_eq(plan(&bare, 3, 0), "VVV");
    ck_assert_int_eq(profile_action(&usual, 4, -1, 0), TUTTI_PROFILE_ACTIVE_AND_SAVE);
}
END_TEST

static profiler *made(const char *folder, bool overwrite)
{
    const profiler_options options = {.schedule = {.warmup = 0, .active = 1, .repeat = 0},
                                      .folder = "{traces}",
                                      .filename = "{run_name}-{batch}-{rank}-{x}.json",
                                      .merged_trace_filename = "all.json",
                                      .num_traces_to_keep = -1,
                                      .overwrite = overwrite};
    const profiler_run run = {.name = "r", .folder = folder, .time = &clock_now};
    profiler *p = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(profiler_create(&options, &run, &p, &err), err);
    return p;
}

static void step(profiler *p, int32_t event)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_event e = {.id = event, .name = event_name(event)};
    profiler_enter(p, &e);
    ck_assert_ok(profiler_leave(p, &e, &err), err);
}

/* Events of a file as "B:name E:name". */
static void check_file(const char *path, const char *want)
{
    json_doc *doc = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    char got[512] = "";
    ck_assert_ok(json_read(path, 1 << 20, &doc, &err), err);
    for (size_t k = 0; k < json_count(json_root(doc)); k++) {
        const json_node *e = json_at(json_root(doc), k);
        const char *phase = json_string(json_get(e, "ph"));
        const size_t used = strlen(got);
        if (*phase != 'M')
            (void)snprintf(got + used, sizeof got - used, "%s%s:%s", used ? " " : "", phase,
                           json_string(json_get(e, "name")));
    }
    ck_assert_str_eq(got, want);
    json_free(doc);
}

START_TEST(markers_nest_and_files_are_whole)
{
    char folder[] = "/tmp/profiler_test_XXXXXX", path[PATH_MAX];
    tutti_error err = TUTTI_ERROR_INIT;
    uint32_t outer, inner, counter;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    profiler *p = made(folder, false);
    ck_assert_ok(profiler_start(p, false, &err), err);
    const tutti_profiler_v1 *s = profiler_service(p);
    ck_assert_ok(s->marker(s->ctx, "outer", "a,b", TUTTI_PROFILE_DEFAULT, &outer, &err), err);
    ck_assert_ok(s->marker(s->ctx, "inner \"x\"", NULL, TUTTI_PROFILE_DEFAULT, &inner, &err),
                 err);
    ck_assert_ok(s->marker(s->ctx, "count", NULL, TUTTI_PROFILE_DEFAULT, &counter, &err), err);
    clock_now.batch = 0;
    step(p, TUTTI_EVENT_EPOCH_START);
    s->instant(s->ctx, outer); /* the schedule skips what is outside of batches */
    step(p, TUTTI_EVENT_BEFORE_DATALOADER);
    ck_assert_int_eq(s->action(s->ctx), TUTTI_PROFILE_ACTIVE_AND_SAVE);
    step(p, TUTTI_EVENT_AFTER_DATALOADER);
    step(p, TUTTI_EVENT_BATCH_START);
    ck_assert_ok(s->start(s->ctx, outer, &err), err);
    ck_assert_ok(s->start(s->ctx, inner, &err), err);
    ck_assert_int_eq(s->start(s->ctx, inner, &err), TUTTI_E_STATE);
    ck_assert_error(err, TUTTI_E_STATE, "marker inner \"x\" is started already");
    const tutti_named_value v = {"n", 2.5};
    s->counter(s->ctx, counter, &v, 1);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(s->finish(s->ctx, outer, &err), err);
    ck_assert_int_eq(s->finish(s->ctx, inner, &err), TUTTI_E_STATE);
    ck_assert_error(err, TUTTI_E_STATE, "marker inner \"x\" is not started");
    clock_now.batch = 1;
    step(p, TUTTI_EVENT_BATCH_END);
    (void)snprintf(path, sizeof path, "%s/{traces}/r-1-0-{x}.json", folder);
    check_file(path,
               "B:event/epoch B:event/dataloader E:event/dataloader B:event/batch B:outer "
               "B:inner \"x\" C:count E:inner \"x\" E:outer E:event/batch E:event/epoch");
    clock_now.batch = 0;
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(profiler_finish(p, &err), err); /* nothing new */
    profiler_destroy(p);

    p = made(folder, false);
    (void)snprintf(path, sizeof path,
                   "%s/{traces}/all.json is there already: choose another folder, or set "
                   "overwrite",
                   folder);
    ck_assert_int_eq(profiler_start(p, false, &err), TUTTI_E_EXISTS);
    ck_assert_error(err, TUTTI_E_EXISTS, path);
    profiler_destroy(p);
    static const char *const left[] = {"/{traces}/r-1-0-{x}.json", "/{traces}/all.json",
                                       "/{traces}", ""};
    for (int k = 0; k < 4; k++) {
        (void)snprintf(path, sizeof path, "%s%s", folder, left[k]);
        ck_assert_int_eq(remove(path), 0);
    }
}
END_TEST

/* What spans took is summed by name, each its own part without those within; what the schedule skips is left out. */
START_TEST(spans_are_summed_by_name)
{
    char folder[] = "/tmp/profiler_test_XXXXXX", path[PATH_MAX];
    tutti_error err = TUTTI_ERROR_INIT;
    profiler_total t, work = {.count = 0}, part = {.count = 0};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    profiler *p = made(folder, false);
    ck_assert_ok(profiler_start(p, false, &err), err);
    profiler_end(p, profiler_begin_work(p, "work/skipped"));
    clock_now.batch = 0;
    step(p, TUTTI_EVENT_BEFORE_DATALOADER);
    const uint32_t m = profiler_begin_work(p, "work/all");
    profiler_span(p, "work/part", "op", 1000, 4000);
    profiler_span(p, "work/part", "op", 5000, 5500);
    profiler_end(p, m);
    for (uint32_t k = 0; profiler_total_at(p, k, &t); k++) {
        ck_assert(strcmp(t.name, "work/skipped") != 0 || t.count == 0);
        work = strcmp(t.name, "work/all") == 0 ? t : work;
        part = strcmp(t.name, "work/part") == 0 ? t : part;
    }
    ck_assert_uint_eq(part.count, 2);
    ck_assert_int_eq(part.ns, 3500);
    ck_assert_int_eq(part.own_ns, 3500);
    ck_assert_uint_eq(work.count, 1);
    ck_assert_int_eq(work.own_ns, work.ns - 3500);
    profiler_destroy(p);
    (void)snprintf(path, sizeof path, "%s/{traces}", folder);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(settings_are_checked)
{
    static const char text[] =
        "{\"schedule\": {\"active\": 0, \"repeats\": 2}, \"folder\": 3,\n"
        "\"overwrite\": 1, \"num_traces_to_keep\": -2, \"fold\": \"x\"}";
    static const char *const want[] = {
        "run:2: fold: unknown key; did you mean folder?",
        "run:1: folder: is 3, want a string that is not empty",
        "run:2: num_traces_to_keep: is -2, want an integer of at least -1 and of at most "
        "1000000000",
        "run:2: overwrite: is 1, want true or false",
        "run:1: schedule.repeats: unknown key; did you mean repeat?",
        "run:1: schedule.active: is 0, want an integer of at least 1 and of at most "
        "1000000000"};
    json_doc *doc = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    profiler_options options;
    faults *f = faults_create();
    ck_assert_ok(json_parse("run", text, sizeof text - 1, &doc, &err), err);
    profiler_read(json_root(doc), &options, f);
    ck_assert_uint_eq(faults_count(f), sizeof want / sizeof *want);
    for (size_t k = 0; k < faults_count(f); k++)
        ck_assert_str_eq(faults_text(f, k), want[k]);
    faults_destroy(f);
    json_free(doc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profiler");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_schedule_goes_in_cycles);
    tcase_add_test(tc, markers_nest_and_files_are_whole);
    tcase_add_test(tc, spans_are_summed_by_name);
    tcase_add_test(tc, settings_are_checked);
    return tutti_run(suite);
}
