/* conformance_test.c - schedules against the open conformance file, settings from their manifests. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../schedule_check.h"
#include "base/duration.h"
#include "base/json.h"

#include <stdio.h>

static const char *folder(void)
{
    static char path[4096];
    const char *build = getenv("TUTTI_BUILD");
    (void)snprintf(path, sizeof path, "%s/lib/tutti/plugins", build ? build : ".");
    return path;
}

static tutti_time time_of(const json_node *value)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_time t;
    ck_assert_ok(duration_parse(json_string(value), &t, &err), err);
    return t;
}

/* Sets `name` to `value` as the manifest's `spec` says. */
static void set(test_settings *g, const char *name, const json_node *spec,
                const json_node *value)
{
    const char *type = json_string(json_get(spec, "type"));
    if (strcmp(type, "float") == 0) {
        test_settings_float(g, name, json_real(value));
    } else if (strcmp(type, "bool") == 0) {
        test_settings_bool(g, name, json_bool(value));
    } else if (strcmp(type, "time") == 0) {
        test_settings_slot(g, name, TUTTI_PARAM_TIME)->t = time_of(value);
    } else {
        ck_assert_str_eq(type, "list");
        tutti_param *items =
            test_settings_list(g, name, TUTTI_PARAM_TIME, (uint32_t)json_count(value));
        for (size_t k = 0; k < json_count(value); k++)
            items[k].t = time_of(json_at(value, k));
    }
}

/* All settings of the manifest: those of `wanted`, else their defaults.  Returns how many of
 * `wanted`'s members were not used; `missing` counts required ones without a value. */
static size_t settings(test_settings *g, const json_node *params, const json_node *wanted,
                       size_t *missing)
{
    size_t used = 0;
    *missing = 0;
    test_settings_init(g);
    for (size_t k = 0; k < json_count(params); k++) {
        const json_node *spec = json_at(params, k);
        const char *name = json_key(spec);
        const json_node *value = wanted ? json_get(wanted, name) : NULL;
        used += value != NULL;
        if (!value)
            value = json_get(spec, "default");
        if (value)
            set(g, name, spec, value);
        else
            ++*missing;
    }
    return wanted ? json_count(wanted) - 1 - used : 0; /* all but "name" */
}

static json_doc *manifest_of(const char *name)
{
    char path[4200];
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    (void)snprintf(path, sizeof path, "%s/%s/plugin.json", folder(), name);
    ck_assert_ok(json_read(path, 1 << 20, &doc, &err), err);
    return doc;
}

static const json_node *params_of(const json_doc *doc)
{
    return json_get(json_at(json_get(json_root(doc), "objects"), 0), "params");
}

static void run_case(const json_node *c)
{
    const json_node *wanted = json_get(c, "schedule");
    const char *name = json_string(json_get(wanted, "name"));
    json_doc *doc = manifest_of(name);
    char path[4200];
    test_settings g;
    course run;
    size_t missing = 0;
    ck_assert_uint_eq(settings(&g, params_of(doc), wanted, &missing), 0);
    ck_assert_uint_eq(missing, 0);
    (void)snprintf(path, sizeof path, "%s/%s/%s.so", folder(), name, name);
    course_open(&run, path, name, &g, NULL);
    run.max_duration =
        course_time(json_int(json_get(c, "max_duration_epochs")), TUTTI_UNIT_EPOCH);
    run.dataloader_len = json_int(json_get(c, "batches_per_epoch"));
    run.scale_ratio = json_real(json_get(c, "scale_schedule_ratio"));
    const json_node *expect = json_get(c, "expect");
    for (size_t k = 0; k < json_count(expect); k++) {
        const json_node *point = json_at(expect, k);
        const int64_t batch = json_int(json_get(point, "batch"));
        const double want = json_real(json_get(point, "alpha")), got = course_at(&run, batch);
        ck_assert_msg(fabs(got - want) <= json_real(json_get(c, "tolerance")),
                      "%s at batch %lld is %.9g, want %.9g", name, (long long)batch, got, want);
    }
    subject_close(&run.subject);
    json_free(doc);
}

START_TEST(schedules_are_as_upstream)
{
    const char *source = getenv("TUTTI_SOURCE");
    char path[4096];
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    (void)snprintf(path, sizeof path, "%s/tests/conformance/cases/schedule.json",
                   source ? source : ".");
    ck_assert_ok(json_read(path, 1 << 24, &doc, &err), err);
    ck_assert_uint_gt(json_count(json_root(doc)), 0);
    for (size_t k = 0; k < json_count(json_root(doc)); k++)
        run_case(json_at(json_root(doc), k));
    json_free(doc);
}
END_TEST

/* Every schedule, its manifest and its code: they agree on the names of the settings, and the
 * defaults open and give a number at the start and the end of a run. */
START_TEST(every_schedule_works_with_its_defaults)
{
    static const char *const names[] = {"step",
                                        "multistep",
                                        "constant",
                                        "linear",
                                        "exponential",
                                        "cosine_annealing",
                                        "cosine_annealing_warm_restarts",
                                        "polynomial",
                                        "multistep_with_warmup",
                                        "constant_with_warmup",
                                        "linear_with_warmup",
                                        "cosine_annealing_with_warmup",
                                        "polynomial_with_warmup"};
    const char *name = names[_i];
    json_doc *doc = manifest_of(name);
    char path[4200];
    test_settings g;
    course run;
    size_t missing = 0;
    (void)settings(&g, params_of(doc), NULL, &missing);
    if (missing) { /* required: times, gamma of exponential, power, milestones */
        const json_node *params = params_of(doc);
        const tutti_time milestone = course_time(3, TUTTI_UNIT_EPOCH);
        if (json_get(params, "t_warmup"))
            test_settings_time(&g, "t_warmup", 1, TUTTI_UNIT_EPOCH);
        if (json_get(params, "step_size"))
            test_settings_time(&g, "step_size", 1, TUTTI_UNIT_EPOCH);
        if (json_get(params, "t_0"))
            test_settings_time(&g, "t_0", 1, TUTTI_UNIT_EPOCH);
        if (json_get(params, "milestones"))
            test_settings_times(&g, "milestones", &milestone, 1);
        if (strcmp(name, "exponential") == 0)
            test_settings_float(&g, "gamma", 0.5);
        if (strcmp(name, "polynomial") == 0)
            test_settings_float(&g, "power", 2.0);
    }
    (void)snprintf(path, sizeof path, "%s/%s/%s.so", folder(), name, name);
    course_open(&run, path, name, &g, NULL);
    const int warms = strstr(name, "_with_warmup") != NULL;
    ck_assert_factor(&run, 0, warms ? 0.0 : 1.0);
    if (warms)
        ck_assert_factor(&run, 100, 1.0);
    ck_assert(isfinite(course_at(&run, 1000)));
    subject_close(&run.subject);
    json_free(doc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule_conformance");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, schedules_are_as_upstream);
    tcase_add_loop_test(tc, every_schedule_works_with_its_defaults, 0, 13);
    return tutti_run(suite);
}
