/* mlflow_test.c - the logger through its entry function, against a server that knows the calls of MLflow. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables, images */
#include "server_check.h"

/* Guarded by there.lock. */
static char got[1 << 17];                         /* a line each: method, path, body */
static bool has_experiment;                       /* else it is made */
static bool slow;                                 /* answers only after that */
static bool has_run;                              /* runs/search finds one */
static const char *no_answer;                     /* to the first call */
static const char *no_batch;                      /* to the first runs/log-batch */
static bool no_tag;                               /* at the first runs/set-tag */
static int runs;                                  /* made so far */
static const char *kept_at = "mlflow-artifacts:"; /* the run's files */

/* The path behind the server's API. */
static const char *called(const server_request *r)
{
    static const char api[] = "/api/2.0/mlflow";
    ck_assert_int_eq(strncmp(r->path, api, sizeof api - 1), 0);
    return r->path + sizeof api - 1 + (r->path[sizeof api - 1] == '/');
}

static size_t answer(server *s, const server_request *r, char *out, size_t room)
{
    while (slow)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    const char *path = called(r);
    char body[256] = "{}";
    const size_t used = strlen(got);
    if (no_answer && s->requests == 0)
        return (size_t)snprintf(out, room, "%s", no_answer);
    (void)snprintf(got + used, sizeof got - used, "%s %s %s\n", r->method, path,
                   r->size > 4 && memcmp(r->body, "\x89PNG", 4) == 0 ? "PNG" : r->body);
    if (strncmp(path, "experiments/get-by-name?", 24) == 0) {
        if (!has_experiment)
            return server_reply(out, room, 404, "",
                                "{\"error_code\":\"RESOURCE_DOES_NOT_EXIST\"}");
        (void)snprintf(body, sizeof body, "{\"experiment\":{\"experiment_id\":\"7\"}}");
    } else if (strcmp(path, "experiments/create") == 0)
        (void)snprintf(body, sizeof body, "{\"experiment_id\":\"8\"}");
    else if (strcmp(path, "runs/create") == 0)
        (void)snprintf(body, sizeof body, "{\"run\":{\"info\":{\"run_id\":\"run%d\"}}}",
                       ++runs);
    else if (strncmp(path, "runs/get?", 9) == 0)
        (void)snprintf(
            body, sizeof body,
            "{\"run\":{\"info\":{\"artifact_uri\":\"%s/7/run1/artifacts\"},\"data\":"
            "{\"tags\":[{\"key\":\"mlflow.loggedArtifacts\",\"value\":\"[{\\\"path\\\":"
            "\\\"old.json\\\",\\\"type\\\":\\\"table\\\"}]\"}]}}}",
            kept_at);
    else if (strcmp(path, "runs/search") == 0 && has_run)
        (void)snprintf(body, sizeof body, "{\"runs\":[{\"info\":{\"run_id\":\"found\"}}]}");
    else if (strcmp(path, "runs/log-batch") == 0 && no_batch) {
        const char *refusal = no_batch;
        no_batch = NULL;
        return server_reply(out, room, 400, "", refusal);
    } else if (strcmp(path, "runs/set-tag") == 0 && no_tag) {
        no_tag = false;
        return server_reply(out, room, 503, "", "");
    }
    return server_reply(out, room, 200, "", body);
}

/* What the server got, times as 0. */
static const char *calls(void)
{
    static char text[sizeof got];
    char *to = text;
    for (const char *from = got; *from;) {
        const bool time =
            strncmp(from, "time\":1", 7) == 0 || strncmp(from, "timestamp\":1", 12) == 0;
        if (!time) {
            *to++ = *from++;
            continue;
        }
        const size_t n = strcspn(from, "1");
        memcpy(to, from, n);
        to += n;
        *to++ = '0';
        from += n + strspn(from + n, "0123456789");
    }
    *to = '\0';
    return text;
}

typedef struct options {
    const char *ignored; /* pattern of metrics; NULL: none */
    bool resume;
    double flush_timeout;
} options;

static const char *user = ""; /* "NAME:PASSWORD@" in the address */

static const tutti_logger_v1 *open_it(options o)
{
    static char url[128];
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    (void)snprintf(url, sizeof url, "http://%s127.0.0.1:%d/", user, there.port);
    test_settings_init(&g);
    test_settings_string(&g, "tracking_uri", url);
    test_settings_string(&g, "experiment_name", "my trials");
    test_settings_null(&g, "run_name");
    test_settings_string(&g, "run_group", "all");
    test_settings_list(&g, "tags", TUTTI_PARAM_STRING, 1)->s = "who=me";
    tutti_param *patterns =
        test_settings_list(&g, "ignore_metrics", TUTTI_PARAM_STRING, o.ignored ? 1 : 0);
    if (o.ignored)
        patterns->s = o.ignored;
    (void)test_settings_list(&g, "ignore_hyperparameters", TUTTI_PARAM_STRING, 0);
    test_settings_bool(&g, "resume", o.resume);
    test_settings_int(&g, "flush_interval", 2);
    test_settings_int(&g, "log_duplicated_metric_every_n_steps", 3);
    test_settings_int(&g, "queue_size", 64);
    test_settings_float(&g, "flush_timeout", o.flush_timeout);
    ck_assert_ok(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "mlflow", &g, run.services, &err),
        err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    return subject_query(&it, TUTTI_LOGGER_V1);
}

static void train_batch(const tutti_logger_v1 *table, double loss)
{
    tutti_error err = TUTTI_ERROR_INIT;
    stage_next_batch(&run);
    const tutti_named_value v[] = {{"loss", loss}, {"time/batch", (double)run.time.batch}};
    ck_assert_ok(table->metrics(it.self, v, 2, (uint64_t)run.time.batch, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
}

#define FIND_EXPERIMENT "GET experiments/get-by-name?experiment_name=my%20trials \n"
#define CREATE(experiment)                                                                     \
    "POST runs/create "                                                                        \
    "{\"run_name\":\"trial\",\"start_time\":0,\"tags\":[{\"key\":\"run_name\",\"value\":"      \
    "\"trial\"},{\"key\":\"run_group\",\"value\":\"all\"},{\"key\":\"who\",\"value\":\"me\"}]" \
    ","                                                                                        \
    "\"experiment_id\":\"" experiment "\"}\n"
#define METRIC(v, step) "{\"key\":\"loss\",\"value\":" v ",\"timestamp\":0,\"step\":" step "}"
#define BATCH(run, metrics)                                                                    \
    "POST runs/log-batch {\"run_id\":\"" run "\",\"metrics\":[" metrics "]}\n"
#define PARAM(run, key, value)                                                                 \
    "POST runs/log-batch {\"run_id\":\"" run "\",\"params\":[{\"key\":\"" key                  \
    "\",\"value\":" value "}]}\n"
#define UPDATE(run, status)                                                                    \
    "POST runs/update {\"run_id\":\"" run "\",\"status\":\"" status "\",\"end_time\":0}\n"
#define GOES_ON(run) "POST runs/update {\"run_id\":\"" run "\",\"status\":\"RUNNING\"}\n"

START_TEST(a_run_is_made_fed_and_ended)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_text h[] = {{"seed", "17"}, {"model", "\"cnn\""}, {"sizes", "[1, 2]"}};
    server_start(&there);
    const tutti_logger_v1 *table =
        open_it((options){.ignored = "time/*", .flush_timeout = 100});
    ck_assert_ok(table->hyperparameters(it.self, h, 3, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 0.5);
    train_batch(table, NAN);
    train_batch(table, 2);
    train_batch(table, 2); /* the same, soon */
    train_batch(table, 2);
    train_batch(table, 2); /* three batches later */
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_str_eq(calls(), FIND_EXPERIMENT
                     "POST experiments/create {\"name\":\"my trials\"}\n" CREATE("8")
                         PARAM("run1", "seed", "\"17\"") PARAM("run1", "model", "\"cnn\"")
                             PARAM("run1", "sizes", "\"[1, 2]\"")
                                 BATCH("run1", METRIC("0.5", "1") "," METRIC("\"NaN\"", "2"))
                                     BATCH("run1", METRIC("2", "3"))
                                         BATCH("run1", METRIC("2", "6"))
                                             UPDATE("run1", "FINISHED"));
    ck_assert_str_eq(run.noted, "");
}
END_TEST

static void log_media(const tutti_logger_v1 *table)
{
    tutti_error err = TUTTI_ERROR_INIT;
    uint8_t bytes[2] = {0, 255};
    const int32_t classes[] = {1, 0};
    const tutti_tensor pixels = {bytes, {{2, 1, 1, 1}, 4, TUTTI_U8}, TUTTI_DEVICE_CPU, 0};
    const tutti_image_mask mask = {"prediction", classes};
    const tutti_images images = {.struct_size = sizeof images,
                                 .nmasks = 1,
                                 .name = "Images/Train",
                                 .pixels = &pixels,
                                 .masks = &mask};
    const tutti_table answers = stage_a_table("all answers");
    ck_assert_ok(table->table(it.self, &answers, 3, &err), err);
    ck_assert_ok(table->table(it.self, &answers, 4, &err), err);
    ck_assert_ok(table->images(it.self, &images, 4, &err), err);
}

#define FILES "PUT -artifacts/artifacts/7/run1/artifacts/"
#define TABLE                                                                                  \
    FILES                                                                                      \
    "all%20answers.json {\"columns\":[\"sample\",\"said\"],\"data\":[[0,\"a \\\"b\\\"\"],"     \
    "[1,[1,2.5]]]}\n"

#define TAG                                                                                    \
    "POST runs/set-tag {\"run_id\":\"run1\",\"key\":\"mlflow.loggedArtifacts\",\"value\":"     \
    "\"[{\\\"path\\\": \\\"old.json\\\", \\\"type\\\": \\\"table\\\"}, {\\\"path\\\": "        \
    "\\\"all answers.json\\\", \\\"type\\\": \\\"table\\\"}]\"}\n"
#define FILES_ASKED "GET runs/get?run_id=run1 \n"

START_TEST(tables_and_images_are_files_of_the_run)
{
    has_experiment = true;
    server_start(&there);
    const tutti_logger_v1 *table = open_it((options){.flush_timeout = 100});
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    log_media(table);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_str_eq(
        calls(), FIND_EXPERIMENT CREATE("7") FILES_ASKED TABLE TAG TABLE FILES
        "images/Images/Train_0/step_4.png PNG\n" FILES
        "images/Images/Train_1/step_4.png PNG\n" FILES
        "images/Images/Train_prediction/step_4.png PNG\n" UPDATE("run1", "FINISHED"));
    ck_assert_str_eq(run.noted, "");
}
END_TEST

/* The server's list is asked for again, for it may have that table all the same. */
START_TEST(a_tag_that_fails_is_sent_again)
{
    has_experiment = no_tag = true;
    server_start(&there);
    const tutti_logger_v1 *table = open_it((options){.flush_timeout = 100});
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    log_media(table);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    static const char want[] =
        FIND_EXPERIMENT CREATE("7") FILES_ASKED TABLE TAG FILES_ASKED TABLE TAG TABLE FILES;
    ck_assert_int_eq(strncmp(calls(), want, sizeof want - 1), 0);
}
END_TEST

START_TEST(files_that_no_server_passes_on_are_left_out)
{
    has_experiment = true;
    kept_at = "s3://bucket";
    server_start(&there);
    const tutti_logger_v1 *table =
        open_it((options){.ignored = "time/*", .flush_timeout = 100});
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    log_media(table);
    server_wait_note();
    ck_assert_ptr_nonnull(strstr(run.noted,
                                 "mlflow: the run's files are kept at "
                                 "s3://bucket/7/run1/artifacts, which no server "
                                 "passes on (mlflow server --serve-artifacts does)"));
    train_batch(table, 1);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    kept_at = "mlflow-artifacts:";
    ck_assert_ptr_nonnull(strstr(calls(), BATCH("run1", METRIC("1", "1"))));
    ck_assert_ptr_null(strstr(calls(), "PUT "));
}
END_TEST

START_TEST(a_run_that_goes_on_is_the_same_on_the_server)
{
    has_experiment = true;
    server_start(&there);
    const tutti_logger_v1 *table =
        open_it((options){.ignored = "time/*", .flush_timeout = 100});
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    subject_close(&it); /* interrupted */
    ck_assert_str_eq(calls(), FIND_EXPERIMENT CREATE("7") BATCH("run1", METRIC("1", "1"))
                                  UPDATE("run1", "KILLED"));
    got[0] = '\0';
    table = open_it((options){.ignored = "time/*", .flush_timeout = 100});
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START); /* at batch 1 */
    train_batch(table, 2);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_str_eq(calls(), GOES_ON("run1") BATCH("run1", METRIC("2", "2"))
                                  UPDATE("run1", "FINISHED"));
}
END_TEST

START_TEST(a_run_of_the_same_name_is_found)
{
    has_experiment = has_run = true;
    server_start(&there);
    (void)open_it((options){.resume = true, .flush_timeout = 100});
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_str_eq(
        calls(), FIND_EXPERIMENT
        "POST runs/search {\"experiment_ids\":[\"7\"],\"filter\":\"tags.run_name = "
        "\\\"trial\\\"\",\"max_results\":1}\n" GOES_ON("found") UPDATE("found", "FINISHED"));
}
END_TEST

START_TEST(what_a_server_that_is_down_misses_goes_to_that_run_later)
{
    has_experiment = true;
    const tutti_logger_v1 *table = open_it((options){.ignored = "time/*", .flush_timeout = 0});
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    server_wait_note();
    ck_assert_ptr_nonnull(strstr(run.noted, "mlflow: cannot send to 127.0.0.1:"));
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_ptr_nonnull(
        strstr(run.noted, "mlflow: 3 records were not sent within 0 s; they wait in "));
    server_start(&there);
    run.time.batch = 0; /* another run in the same folder */
    table = open_it((options){.ignored = "time/*", .flush_timeout = 100});
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 2);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_str_eq(calls(),
                     FIND_EXPERIMENT CREATE("7") BATCH("run1", METRIC("1", "1"))
                         UPDATE("run1", "FINISHED") FIND_EXPERIMENT CREATE("7")
                             BATCH("run2", METRIC("2", "1")) UPDATE("run2", "FINISHED"));
}
END_TEST

static const struct {
    const char *answer, *told;
} not_good[] = {
    {"garbage\r\n\r\n", "mlflow: cannot send to 127.0.0.1:"},
    {"HTTP/1.1 200 Fine\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>",
     "answers experiments/get-by-name with no JSON"},
    {"HTTP/1.1 200 Fine\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
     "answers experiments without an experiment_id"},
    {"HTTP/1.1 403 No\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlogin",
     "refuses experiments/get-by-name with status 403: login"},
};

/* None of its calls is over before training is; what was logged comes with the next run in the folder, in order. */
START_TEST(a_slow_server_holds_up_neither_training_nor_its_end)
{
    enum { BATCHES = 800 }; /* more than memory holds */
    char metric[32];
    slow = true;
    server_start(&there);
    const tutti_logger_v1 *table = open_it((options){.ignored = "time/*", .flush_timeout = 0});
    for (int k = 0; k < BATCHES; k++)
        train_batch(table, k);
    subject_close(&it); /* does not wait for the answer */
    ck_assert_ptr_nonnull(
        strstr(run.noted, " records were not sent within 0 s; they wait in "));
    (void)pthread_mutex_lock(&there.lock);
    slow = false;
    (void)pthread_cond_broadcast(&there.changed);
    (void)pthread_mutex_unlock(&there.lock);
    table = open_it((options){.flush_timeout = 100});
    (void)table;
    subject_close(&it);
    const char *at = got;
    for (int k = 0; k < BATCHES; k++) {
        (void)snprintf(metric, sizeof metric, "\"step\":%d}", k + 1);
        at = strstr(at, metric);
        ck_assert_msg(at, "batch %d is not there", k + 1);
    }
}
END_TEST

START_TEST(a_server_that_answers_garbage_is_asked_again)
{
    has_experiment = true;
    no_answer = not_good[_i].answer;
    server_start(&there);
    const tutti_logger_v1 *table =
        open_it((options){.ignored = "time/*", .flush_timeout = 100});
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    server_wait_note();
    ck_assert_msg(strstr(run.noted, not_good[_i].told), "%s", run.noted);
    train_batch(table, 1);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_str_eq(calls(), FIND_EXPERIMENT CREATE("7") BATCH("run1", METRIC("1", "1"))
                                  UPDATE("run1", "FINISHED"));
}
END_TEST

START_TEST(a_batch_that_is_refused_is_told_and_left_out)
{
    has_experiment = true;
    no_batch = "{\"error_code\":\"INVALID_PARAMETER_VALUE\"}";
    server_start(&there);
    const tutti_logger_v1 *table =
        open_it((options){.ignored = "time/*", .flush_timeout = 100});
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    train_batch(table, 2);
    server_wait_note();
    ck_assert_ptr_nonnull(strstr(run.noted,
                                 "refuses runs/log-batch with status 400: "
                                 "{\"error_code\":\"INVALID_PARAMETER_VALUE\"}; that record is "
                                 "left out"));
    train_batch(table, 3);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_ptr_nonnull(
        strstr(calls(), BATCH("run1", METRIC("3", "3")) UPDATE("run1", "FINISHED")));
}
END_TEST

START_TEST(its_place_is_the_address_without_a_password)
{
    char expected[64];
    user = "me:secret@";
    const tutti_logger_v1 *table = open_it((options){.flush_timeout = 0});
    (void)snprintf(expected, sizeof expected, "http://127.0.0.1:%d", there.port);
    ck_assert_str_eq(table->location(it.self), expected);
    subject_close(&it);
    user = "";
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlflow");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, server_setup, server_teardown);
    tcase_add_test(tc, a_run_is_made_fed_and_ended);
    tcase_add_test(tc, tables_and_images_are_files_of_the_run);
    tcase_add_test(tc, a_tag_that_fails_is_sent_again);
    tcase_add_test(tc, files_that_no_server_passes_on_are_left_out);
    tcase_add_test(tc, a_run_that_goes_on_is_the_same_on_the_server);
    tcase_add_test(tc, a_run_of_the_same_name_is_found);
    tcase_add_test(tc, what_a_server_that_is_down_misses_goes_to_that_run_later);
    tcase_add_test(tc, a_slow_server_holds_up_neither_training_nor_its_end);
    tcase_add_loop_test(tc, a_server_that_answers_garbage_is_asked_again, 0,
                        sizeof not_good / sizeof *not_good);
    tcase_add_test(tc, a_batch_that_is_refused_is_told_and_left_out);
    tcase_add_test(tc, its_place_is_the_address_without_a_password);
    return tutti_run(suite);
}
