/* log_units_test.c - rows of a batch or an evaluation that a signal stops are given to loggers once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "train/context/log_units.h"
#include "tutti_check.h"

static log_units u;

static bool known(int32_t kind, int32_t event, const char *name, uint64_t step)
{
    return log_units_take(&u, &(log_row){kind, event, name, step});
}

/* The next process has what a checkpoint of this one keeps; as the text has it. */
static const char *resume(void)
{
    static char kept[1024];
    text_buffer b = {0};
    json_doc *doc = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    text_add(&b, "{\"a\": 1");
    (void)log_units_write(&u, &b);
    text_add(&b, "}");
    ck_assert(!b.failed);
    log_units_fini(&u);
    ck_assert_ok(json_parse("kept", b.data, strlen(b.data), &doc, &err), err);
    log_units_read(&u, json_get(json_root(doc), "logged"));
    json_free(doc);
    (void)snprintf(kept, sizeof kept, "%s", b.data);
    free(b.data);
    return kept;
}

START_TEST(what_a_left_batch_has_logged_is_known_once)
{
    log_units_open(&u, TRACE_BATCH);
    ck_assert(!known(LOG_METRIC, 0, "a \"b\"", 7));
    ck_assert(!known(LOG_METRIC, 0, "twice", 7));
    ck_assert(!known(LOG_METRIC, 0, "twice", 7));
    ck_assert(!known(LOG_TRACE, 5, "ema", 7));
    ck_assert(!known(LOG_TABLE, 0, "ema", 7));
    log_units_leave(&u, TRACE_BATCH);
    ck_assert_str_eq(resume(),
                     "{\"a\": 1, \"logged\": [[0, 0, 0, 7, \"a \\\"b\\\"\"], [0, 0, 0, 7, "
                     "\"twice\"], [0, 0, 0, 7, \"twice\"], [0, 3, 5, 7, \"ema\"], [0, 1, 0, 7, "
                     "\"ema\"]]}");
    ck_assert(!known(LOG_METRIC, 0, "twice", 7)); /* before the batch */
    log_units_open(&u, TRACE_BATCH);
    ck_assert(log_units_repeats(&u));
    ck_assert(known(LOG_METRIC, 0, "twice", 7));
    ck_assert(!known(LOG_METRIC, 0, "twice", 8));
    ck_assert(!known(LOG_TRACE, 6, "ema", 7));
    ck_assert(known(LOG_TRACE, 5, "ema", 7));
    ck_assert(!known(LOG_IMAGES, 0, "ema", 7));
    /* Left once more, earlier than before: of both attempts. */
    (void)resume();
    log_units_open(&u, TRACE_BATCH);
    ck_assert(known(LOG_METRIC, 0, "a \"b\"", 7));
    ck_assert(known(LOG_METRIC, 0, "twice", 7));
    ck_assert(known(LOG_METRIC, 0, "twice", 7));
    ck_assert(!known(LOG_METRIC, 0, "twice", 7));
    ck_assert(known(LOG_TABLE, 0, "ema", 7));
    log_units_close(&u, TRACE_BATCH);
    ck_assert_str_eq(resume(), "{\"a\": 1}");
    log_units_fini(&u);
}
END_TEST

START_TEST(an_evaluation_is_a_unit_of_its_own)
{
    log_units_open(&u, TRACE_BATCH);
    ck_assert(!known(LOG_METRIC, 0, "of the batch", 3));
    log_units_open(&u, TRACE_EVALUATION);
    ck_assert(!known(LOG_TABLE, 0, "of both", 3));
    log_units_close(&u, TRACE_BATCH);
    log_units_leave(&u, TRACE_EVALUATION);
    log_units_open(&u, TRACE_EVALUATION); /* what is behind it, of the same attempt */
    ck_assert(!known(LOG_METRIC, 0, "behind", 3));
    ck_assert_str_eq(resume(),
                     "{\"a\": 1, \"logged\": [[1, 1, 0, 3, \"of both\"], [1, 0, 0, 3, "
                     "\"behind\"]]}");
    log_units_open(&u, TRACE_BATCH);
    ck_assert(!known(LOG_METRIC, 0, "behind", 3)); /* the unit is another one */
    log_units_open(&u, TRACE_EVALUATION);
    ck_assert(known(LOG_METRIC, 0, "behind", 3));
    log_units_fini(&u);
}
END_TEST

START_TEST(what_is_muted_is_no_row)
{
    log_units_open(&u, TRACE_EVALUATION);
    u.muted = true;
    ck_assert(log_units_repeats(&u));
    ck_assert(known(LOG_METRIC, 0, "a", 1));
    u.muted = false;
    ck_assert(!log_units_repeats(&u));
    ck_assert_str_eq(resume(), "{\"a\": 1}");
    log_units_fini(&u);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("log_units");
    TCase *t = tcase_create("units");
    tcase_add_test(t, what_a_left_batch_has_logged_is_known_once);
    tcase_add_test(t, an_evaluation_is_a_unit_of_its_own);
    tcase_add_test(t, what_is_muted_is_no_row);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
