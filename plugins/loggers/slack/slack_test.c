/* slack_test.c - the logger through its entry function, against a server that takes, refuses, is slow or down. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server_check.h"

#include <signal.h>

/* Guarded by there.lock. */
static char got[1 << 16]; /* bodies, a line each */
static char type[64];
static bool slow;    /* answers only after that */
static bool asked;   /* a request has come */
static int troubles; /* answers that are none, before the good ones */
static const char *trouble;

static size_t answer(server *s, const server_request *r, char *out, size_t room)
{
    asked = true;
    (void)pthread_cond_broadcast(&s->changed);
    while (slow)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    if (s->requests < (uint32_t)troubles)
        return (size_t)snprintf(out, room, "%s", trouble);
    const size_t used = strlen(got);
    (void)snprintf(got + used, sizeof got - used, "%s %s %s\n", r->method, r->path, r->body);
    (void)server_header(r, "Content-Type", type, sizeof type);
    return server_reply(out, room, 200, "", "ok");
}

static const tutti_logger_v1 *open_it(const char *key, int64_t interval, int32_t unit,
                                      double flush_timeout)
{
    static char url[128];
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d/services/T0/secret", there.port);
    test_settings_init(&g);
    test_settings_string(&g, "webhook_url", url);
    tutti_param *keys = test_settings_list(&g, "include_keys", TUTTI_PARAM_STRING, key ? 1 : 0);
    if (key)
        keys[0].s = key;
    test_settings_time(&g, "log_interval", interval, unit);
    test_settings_int(&g, "max_logs_per_message", 3);
    test_settings_int(&g, "queue_size", 64);
    test_settings_float(&g, "flush_timeout", flush_timeout);
    ck_assert_ok(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "slack", &g, run.services, &err),
        err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    return subject_query(&it, TUTTI_LOGGER_V1);
}

static void log_value(const tutti_logger_v1 *table, const char *name, double value)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {name, value};
    ck_assert_ok(table->metrics(it.self, &v, 1, (uint64_t)run.time.batch, &err), err);
}

static void train_batch(const tutti_logger_v1 *table, double loss)
{
    stage_next_batch(&run);
    log_value(table, "loss", loss);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
}

#define MESSAGE(n, sections)                                                                   \
    "POST /services/T0/secret {\"text\":\"Logged " n " items to Slack\",\"blocks\":[" sections \
    "]}\n"
#define SECTION(text)                                                                          \
    "{\"type\":\"section\",\"text\":{\"type\":\"mrkdwn\",\"text\":\"" text "\"}}"
#define LOSS(v) MESSAGE("1", SECTION("*loss:* " v))

START_TEST(values_are_posted_at_the_interval_and_when_there_are_many)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_text h = {"model", "\"cnn\""};
    const tutti_trace trace = {
        .struct_size = sizeof trace, .name = "mixup", .event_name = "before_loss", .ran = 1};
    server_start(&there);
    const tutti_logger_v1 *table = open_it(NULL, 2, TUTTI_UNIT_BATCH, 100);
    ck_assert_ok(table->hyperparameters(it.self, &h, 1, &err), err);
    train_batch(table, 0.5); /* the first batch has a message whatever the interval */
    log_value(table, "a", 1);
    ck_assert_ok(table->trace(it.self, &trace, &err), err);
    train_batch(table, 0.25); /* the third value */
    train_batch(table, 0.125);
    train_batch(table, 2); /* the same key has one value */
    train_batch(table, NAN);
    subject_close(&it);
    ck_assert_str_eq(
        got,
        MESSAGE("2", SECTION("*model:* \\\"cnn\\\"") "," SECTION("*loss:* 0.5000")) MESSAGE(
            "3",
            SECTION("*a:* 1") "," SECTION(
                "*algorithm_traces/mixup/Event.BEFORE_LOSS:* 1") "," SECTION("*loss:* 0.2500"))
            LOSS("2") LOSS("nan"));
    ck_assert_str_eq(type, "application/json");
    ck_assert_str_eq(run.noted, "");
}
END_TEST

START_TEST(keys_are_chosen_by_how_they_begin)
{
    server_start(&there);
    const tutti_logger_v1 *table = open_it("lo.*/train|metrics", 1, TUTTI_UNIT_EPOCH, 100);
    log_value(table, "loss/train/total", 1);
    log_value(table, "time/loss/train", 2);
    log_value(table, "metrics/eval/accuracy", 3);
    stage_next_batch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
    stage_next_epoch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_END);
    subject_close(&it);
    ck_assert_str_eq(got, MESSAGE("2", SECTION("*loss/train/total:* 1") "," SECTION(
                                           "*metrics/eval/accuracy:* 3")));
}
END_TEST

START_TEST(a_server_that_is_down_gets_everything_when_it_is_back)
{
    char want[256];
    const tutti_logger_v1 *table = open_it(NULL, 1, TUTTI_UNIT_BATCH, 100);
    train_batch(table, 1);
    train_batch(table, 2);
    server_wait_note();
    (void)snprintf(want, sizeof want, "slack: cannot send to 127.0.0.1:%d: ", there.port);
    ck_assert_int_eq(strncmp(run.noted, want, strlen(want)), 0);
    ck_assert_ptr_nonnull(
        strstr(run.noted, "; what is logged is kept and sent when it can be"));
    ck_assert_ptr_null(strstr(run.noted, "secret"));
    server_start(&there);
    train_batch(table, 3);
    subject_close(&it);
    ck_assert_str_eq(got, LOSS("1") LOSS("2") LOSS("3"));
    ck_assert_str_eq(run.noted, "slack: can send again");
}
END_TEST

static const struct {
    const char *answer, *told;
} not_good[] = {
    {"nonsense from a printer\r\n\r\n", "cannot send to "},
    {"", "cannot send to "},
    {"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy",
     "does not take a message with status 503: busy"},
    {"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n",
     "does not take a message with status 429"},
    {"HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: "
     "0\r\nConnection: close\r\n\r\n",
     "does not take a message with status 302"},
};

START_TEST(an_answer_that_is_not_good_is_told_and_the_message_sent_again)
{
    troubles = 2;
    trouble = not_good[_i].answer;
    server_start(&there);
    const tutti_logger_v1 *table = open_it(NULL, 1, TUTTI_UNIT_BATCH, 100);
    train_batch(table, 1);
    server_wait_note();
    ck_assert_msg(strstr(run.noted, not_good[_i].told), "%s", run.noted);
    subject_close(&it);
    ck_assert_str_eq(got, LOSS("1"));
}
END_TEST

START_TEST(a_message_that_is_refused_is_left_out)
{
    char want[256];
    troubles = 1;
    trouble = "HTTP/1.1 404 No\r\nContent-Length: 10\r\nConnection: close\r\n\r\nno_service";
    server_start(&there);
    const tutti_logger_v1 *table = open_it(NULL, 1, TUTTI_UNIT_BATCH, 100);
    train_batch(table, 1);
    server_wait_note();
    (void)snprintf(want, sizeof want,
                   "slack: 127.0.0.1:%d refuses a message with status 404: no_service; that "
                   "record is left out",
                   there.port);
    ck_assert_str_eq(run.noted, want);
    train_batch(table, 2);
    subject_close(&it);
    ck_assert_str_eq(got, LOSS("2"));
}
END_TEST

START_TEST(a_slow_server_holds_up_neither_training_nor_its_end)
{
    slow = true;
    server_start(&there);
    const tutti_logger_v1 *table = open_it(NULL, 1, TUTTI_UNIT_BATCH, 0);
    for (int k = 0; k < 2000; k++) /* more than memory holds */
        train_batch(table, k);
    (void)pthread_mutex_lock(&there.lock);
    while (!asked)
        (void)pthread_cond_wait(&there.changed, &there.lock);
    (void)pthread_mutex_unlock(&there.lock);
    subject_close(&it); /* does not wait for the answer */
    ck_assert_ptr_nonnull(
        strstr(run.noted, "slack: 2000 records were not sent within 0 s; they wait in "));
    (void)pthread_mutex_lock(&there.lock);
    slow = false;
    (void)pthread_cond_broadcast(&there.changed);
    (void)pthread_mutex_unlock(&there.lock);
    server_wait(&there, 1);
}
END_TEST

START_TEST(settings_that_cannot_be_are_refused)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    (void)unsetenv("SLACK_WEBHOOK_URL");
    test_settings_init(&g);
    test_settings_null(&g, "webhook_url");
    tutti_param *keys = test_settings_list(&g, "include_keys", TUTTI_PARAM_STRING, 1);
    keys[0].s = "loss";
    ck_assert_int_eq(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "slack", &g, run.services, &err),
        TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "slack: there is no webhook_url, nor SLACK_WEBHOOK_URL in the environment, "
                    "want the https address of a webhook");
    err = (tutti_error)TUTTI_ERROR_INIT;
    keys[0].s = "(loss";
    ck_assert_int_eq(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "slack", &g, run.services, &err),
        TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "slack: include_keys has no regular expressions: Unmatched ( or \\(");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slack");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, server_setup, server_teardown);
    tcase_add_test(tc, values_are_posted_at_the_interval_and_when_there_are_many);
    tcase_add_test(tc, keys_are_chosen_by_how_they_begin);
    tcase_add_test(tc, a_server_that_is_down_gets_everything_when_it_is_back);
    tcase_add_loop_test(tc, an_answer_that_is_not_good_is_told_and_the_message_sent_again, 0,
                        sizeof not_good / sizeof *not_good);
    tcase_add_test(tc, a_message_that_is_refused_is_left_out);
    tcase_add_test(tc, a_slow_server_holds_up_neither_training_nor_its_end);
    tcase_add_test(tc, settings_that_cannot_be_are_refused);
    return tutti_run(suite);
}
