/* mlperf_test.c - the callback through its entry function: its files beside those of Composer's MLPerfCallback. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#include "run_check.h"
#include "stateful_check.h"

#include <sys/stat.h>

static stage run;
static subject it;
static test_settings g;
static char text[16384];
static uint32_t sets = 2; /* of data */

static int32_t data(void *ctx, uint32_t k, tutti_data *ret)
{
    (void)ctx;
    ret->label = k ? "test" : "train";
    ret->samples = k ? 20 : 40;
    ret->batch_size = 10;
    return k < sets;
}

static int64_t microbatch_size(void *ctx)
{
    (void)ctx;
    return 5;
}

static const char *device(void *ctx)
{
    (void)ctx;
    return "cpu";
}

static void begin(void)
{
    stage_init(&run);
    run.seed = 17;
    run.tables.state.data = data;
    run.tables.state.microbatch_size = microbatch_size;
    run.tables.state.device = device;
    sets = 2;
}

static void open_it(const char *benchmark, const char *system, const char *command)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_path(&g, "root_folder", run.run_folder);
    test_settings_int(&g, "index", 0);
    test_settings_enum(&g, "benchmark", benchmark, 0);
    test_settings_float(&g, "target", 0.7);
    test_settings_enum(&g, "division", "open", 0);
    test_settings_string(&g, "metric_name", "accuracy");
    test_settings_string(&g, "metric_label", "test");
    test_settings_string(&g, "submitter", "Nobody");
    if (system)
        test_settings_string(&g, "system_name", system);
    else
        test_settings_null(&g, "system_name");
    test_settings_enum(&g, "status", "onprem", 0);
    if (command)
        test_settings_string(&g, "cache_clear_cmd", command);
    else
        test_settings_null(&g, "cache_clear_cmd");
    test_settings_int(&g, "host_processors_per_node", 2);
    test_settings_bool(&g, "exit_at_target", 1);
    ck_assert_ok(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "mlperf", &g, run.services, &err),
        err);
}

static void begin_epoch(void)
{
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_START);
    for (int k = 0; k < 4; k++)
        stage_next_batch(&run);
    stage_next_epoch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
}

static void train_an_epoch(double accuracy)
{
    begin_epoch();
    stage_value(&run, "metrics/test/accuracy", accuracy);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
}

/* The file without times and places in the source. */
static const char *lines(const char *name)
{
    static char whole[16384];
    char *to = text;
    (void)stage_file(&run, name, whole, sizeof whole);
    for (const char *from = whole; *from; from++) {
        if (strncmp(from, "\"time_ms\": ", 11) == 0)
            from = strchr(from, ',') + 2;
        if (strncmp(from, "\"file\": ", 8) == 0) {
            from = strstr(from, "\"lineno\": ") + 10;
            from += strspn(from, "0123456789");
            from += strncmp(from, ", ", 2) == 0 ? 2 : 0;
        }
        *to++ = *from;
    }
    *to = '\0';
    return text;
}

#define LINE(type, key, value, metadata)                                                       \
    ":::MLLOG {\"namespace\": \"\", \"event_type\": \"" type "\", \"key\": \"" key             \
    "\", \"value\": " value ", \"metadata\": {" metadata "}}\n"
#define POINT(key, value, metadata) LINE("POINT_IN_TIME", key, value, metadata)
#define EPOCH_BEGINS(at)                                                                       \
    POINT("epoch_start", "null", "\"epoch_num\": " at)                                         \
    POINT("block_start", "null", "\"first_epoch_num\": " at ", \"epoch_count\": 1")
#define EPOCH_ENDS(at, accuracy)                                                               \
    POINT("epoch_stop", "null", "\"epoch_num\": " at)                                          \
    EVALUATED(at, accuracy)
#define EVALUATED(at, accuracy)                                                                \
    POINT("eval_start", "null", "\"epoch_num\": " at)                                          \
    POINT("eval_stop", "null", "\"epoch_num\": " at)                                           \
    POINT("eval_accuracy", accuracy, "\"epoch_num\": " at)                                     \
    POINT("block_stop", "null", "\"first_epoch_num\": " at)
#define BEGINS(benchmark)                                                                      \
    LINE("INTERVAL_START", "cache_clear", "null", "")                                          \
    LINE("INTERVAL_START", "init_start", "null", "")                                           \
    POINT("submission_benchmark", "\"" benchmark "\"", "")                                     \
    POINT("submission_division", "\"open\"", "")                                               \
    POINT("submission_org", "\"Nobody\"", "")                                                  \
    POINT("submission_platform", "\"box\"", "")                                                \
    POINT("submission_status", "\"onprem\"", "")                                               \
    POINT("seed", "17", "")                                                                    \
    POINT("global_batch_size", "10", "")                                                       \
    POINT("device_train_microbatch_size", "5", "")                                             \
    POINT("train_samples", "40", "")                                                           \
    POINT("eval_samples", "20", "")                                                            \
    POINT("init_stop", "null", "")                                                             \
    POINT("run_start", "null", "")

/* What composer 0.32.1 and mlperf_logging 4.1.68 wrote at the same events, whose rulesets 1.0.0 and 2.0.0 for
 * resnet in the open division find no fault in it. */
START_TEST(the_result_is_upstreams_line_by_line)
{
    begin();
    open_it("resnet", "box", "true");
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_an_epoch(0.5);
    ck_assert_str_eq(run.stopped, "");
    train_an_epoch(0.75);
    ck_assert_str_eq(run.stopped, "mlperf: the target is met");
    train_an_epoch(0.8); /* the timed run is over */
    ck_assert_str_eq(lines("results/box/resnet/result_0.txt"),
                     BEGINS("resnet") EPOCH_BEGINS("0") EPOCH_ENDS("1", "0.5") EPOCH_BEGINS("1")
                         EPOCH_ENDS("2", "0.75")
                             POINT("run_stop", "null", "\"status\": \"success\""));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(bert_counts_samples)
{
    begin();
    open_it("bert", "box", "true");
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_an_epoch(0.5);
    ck_assert_str_eq(lines("results/box/bert/result_0.txt"),
                     BEGINS("bert") EPOCH_BEGINS("0") EPOCH_ENDS("40", "0.5"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* The next process takes the run up as it is now. */
static void resume(void)
{
    stateful_resume(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, &g);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
}

/* It has the lines of one that nothing stopped. */
START_TEST(a_run_that_is_resumed_goes_on_in_its_file)
{
    begin();
    open_it("resnet", "box", "true");
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_an_epoch(0.5);
    resume();
    train_an_epoch(0.75);
    static const char want[] =
        BEGINS("resnet") EPOCH_BEGINS("0") EPOCH_ENDS("1", "0.5") EPOCH_BEGINS("1")
            EPOCH_ENDS("2", "0.75") POINT("run_stop", "null", "\"status\": \"success\"");
    ck_assert_str_eq(lines("results/box/resnet/result_0.txt"), want);
    resume();
    train_an_epoch(0.8); /* the timed run is over */
    ck_assert_str_eq(lines("results/box/resnet/result_0.txt"), want);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* An evaluation behind each of so many batches. */
static void train_an_iteration(int batches)
{
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_START);
    for (int k = 0; k < batches; k++) {
        stage_next_batch(&run);
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
        stage_value(&run, "metrics/test/accuracy", 0.5);
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    }
}

/* An iteration given in tokens begins the data and its epoch anew, and the epoch's number stays. */
START_TEST(a_checkpoint_behind_an_iteration_in_tokens_has_its_lines)
{
    begin();
    open_it("resnet", "box", "true");
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_an_iteration(1);
    run.time.batch_in_epoch = run.time.sample_in_epoch = 0;
    resume();              /* behind the iteration */
    train_an_iteration(0); /* left before its first batch */
    resume();
    train_an_iteration(1);
    resume();                                            /* amid the iteration, */
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_START); /* which `tutti run` tells of */
    ck_assert_str_eq(lines("results/box/resnet/result_0.txt"),
                     BEGINS("resnet") EPOCH_BEGINS("0") EVALUATED("0", "0.5") EPOCH_BEGINS("0")
                         EVALUATED("0", "0.5"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

/* What a killed process wrote behind its last checkpoint comes again, and an evaluation that was cut, or left without a
 * word (_i). */
START_TEST(what_is_done_again_is_there_once)
{
    char command[600];
    begin();
    open_it("resnet", "box", "true");
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    begin_epoch();
    run.cut = 1;
    if (!_i)
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    run.cut = 0;
    (void)snprintf(command, sizeof command,
                   "echo undone >>'%s/results/box/resnet/result_0.txt'", run.run_folder);
    tutti_state_item items[STATEFUL_ITEMS];
    (void)stateful_items(&it, items);
    const int64_t mark = *(const int64_t *)items[0].tensor.data;
    subject_close(&it);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) our own folder */
    open_it("resnet", "box", "true");
    (void)stateful_items(&it, items);
    memcpy(items[0].tensor.data, &mark, sizeof mark);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
    stage_value(&run, "metrics/test/accuracy", 0.5);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    ck_assert_str_eq(lines("results/box/resnet/result_0.txt"),
                     BEGINS("resnet") EPOCH_BEGINS("0") EPOCH_ENDS("1", "0.5"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_file_that_is_gone_begins_late_and_that_is_told)
{
    begin();
    open_it("resnet", "box", "true");
    run.time.batch = 4;
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    ck_assert_str_eq(lines("results/box/resnet/result_0.txt"), BEGINS("resnet"));
    ck_assert_ptr_nonnull(strstr(run.noted,
                                 "result_0.txt is not there; it begins after batch 4, "
                                 "so that it is no valid submission"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(the_system_is_described)
{
    begin();
    open_it("resnet", "box", "true");
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    (void)stage_file(&run, "systems/box.json", text, sizeof text);
    static const char *const parts[] = {
        "{\n    \"submitter\": \"Nobody\",\n    \"division\": \"open\",\n    \"status\": "
        "\"onprem\",\n    \"number_of_nodes\": 1.0,\n    \"host_processors_per_node\": "
        "\"2\",\n",
        "    \"accelerators_per_node\": \"0\",\n", "    \"framework\": \"Tutti\",\n",
        "    \"system_name\": \"box\"\n}\n"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        ck_assert_msg(strstr(text, parts[k]) != NULL, "no %s in\n%s", parts[k], text);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(without_a_command_the_operator_is_told_and_the_system_gets_a_name)
{
    char path[400];
    struct stat st;
    begin();
    open_it("resnet", NULL, NULL);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_str_eq(run.noted, "cache_clear_cmd is not set: a valid submission needs it");
    (void)snprintf(path, sizeof path, "%s/results", run.run_folder);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_nlink, 3); /* one folder: 1x..._tutti */
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

static void ck_fails(int32_t event, tutti_status status, const char *sentence)
{
    tutti_error err = TUTTI_ERROR_INIT;
    (void)stage_event(&run, &it, event, &err);
    ck_assert_int_eq(err.status, status);
    ck_assert_msg(strstr(err.text, sentence) != NULL, "%s", err.text);
}

START_TEST(what_is_wrong_ends_the_run)
{
    begin();
    open_it("resnet", "box", "true");
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    sets = 3;
    ck_fails(TUTTI_EVENT_FIT_START, TUTTI_E_ARG,
             "mlperf: want training data and exactly one evaluation");
    sets = 2;
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    ck_fails(TUTTI_EVENT_EVAL_END, TUTTI_E_NOTFOUND, "there is no metrics/test/accuracy");
    subject_close(&it);
    open_it("resnet", "box", "true");
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_fails(TUTTI_EVENT_FIT_START, TUTTI_E_EXISTS, "already exists; give another index");
    subject_close(&it);
    open_it("resnet", "other", "false");
    ck_fails(TUTTI_EVENT_INIT, TUTTI_E_FAIL,
             "mlperf: cache_clear_cmd \"false\" ended with status 1");
    subject_close(&it);
    open_it("resnet", "third", "no_such_program_at_all x");
    ck_fails(TUTTI_EVENT_INIT, TUTTI_E_FAIL, "cache_clear_cmd \"no_such_program_at_all x\": ");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlperf");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_result_is_upstreams_line_by_line);
    tcase_add_test(tc, bert_counts_samples);
    tcase_add_test(tc, a_run_that_is_resumed_goes_on_in_its_file);
    tcase_add_test(tc, a_checkpoint_behind_an_iteration_in_tokens_has_its_lines);
    tcase_add_loop_test(tc, what_is_done_again_is_there_once, 0, 2);
    tcase_add_test(tc, a_file_that_is_gone_begins_late_and_that_is_told);
    tcase_add_test(tc, the_system_is_described);
    tcase_add_test(tc, without_a_command_the_operator_is_told_and_the_system_gets_a_name);
    tcase_add_test(tc, what_is_wrong_ends_the_run);
    return tutti_run(suite);
}
