/* eval_output_logging_test.c - the callback through its entry function: classes, texts and numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "run_check.h"
#include "tutti/train.h"
#include "tutti/vocabulary.h"

static stage run;
static subject it;

/* Letters; token 3 is half of a character, 4 has none. */
static const char *token(void *self, int64_t token, uint64_t *ret_size)
{
    static const char *const tokens[] = {"a", "\"", "\n", "\xc3"};
    (void)self;
    *ret_size = 1;
    return token < 4 ? tokens[token] : NULL;
}

static const tutti_vocabulary_v1 letters = {.struct_size = sizeof letters, .token = token};
static const tutti_vocabulary_v1 *known; /* of the data */

static const void *dataset(void *ctx, const char *interface_id, void **ret_self)
{
    (void)ctx;
    *ret_self = NULL;
    return strcmp(interface_id, TUTTI_VOCABULARY_V1) == 0 ? known : NULL;
}

static const tutti_train_v1 train = {.struct_size = sizeof train, .dataset = dataset};

static void open_it(int tokens, int incorrect, int64_t subset)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_bool(&g, "log_tokens", tokens);
    test_settings_bool(&g, "print_only_incorrect", incorrect);
    test_settings_int(&g, "subset_sample", subset);
    stage_init(&run);
    run.services[6] = (service){TUTTI_TRAIN_V1, &train};
    run.label = "test";
    run.time.batch = 20;
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "eval_output_logging", &g,
                              run.services, &err),
                 err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
}

static void close_it(void)
{
    subject_close(&it);
    stage_fini(&run);
    known = NULL;
}

static float outputs[] = {0, 2, 1, 5, 2, 1, 0, 2, 3, 1, 1, 0};

/* Two parts of two samples with three classes: 1, 0, then 2, 0. */
static void classify(void)
{
    static int32_t targets[] = {1, 2, 2, 0};
    static float inputs[] = {0.5f, 1, 2, -3, 4, 5, 6, 7.25f};
    for (int part = 0; part < 2; part++) {
        stage_tensor(&run, "outputs", outputs + 6 * part, (tutti_desc){{2, 3}, 2, TUTTI_F32});
        stage_tensor(&run, "target", targets + 2 * part, (tutti_desc){{2}, 1, TUTTI_I32});
        stage_tensor(&run, "input", inputs + 4 * part, (tutti_desc){{2, 2}, 2, TUTTI_F32});
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_AFTER_FORWARD);
    }
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
}

START_TEST(classes_of_all_parts_are_one_table)
{
    open_it(0, 0, -1);
    classify();
    ck_assert_str_eq(run.told.table, "test_step_20\n"
                                     "outputs | labels | correct | input | run_name\n"
                                     "1 | 1 | true | [0.5,1] | \"trial\"\n"
                                     "0 | 2 | false | [2,-3] | \"trial\"\n"
                                     "2 | 2 | true | [4,5] | \"trial\"\n"
                                     "0 | 0 | true | [6,7.25] | \"trial\"\n");
    run.time.batch = 40; /* the next one begins anew */
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    ck_assert_uint_eq(run.told.ntables, 1);
    close_it();
}
END_TEST

START_TEST(print_only_incorrect_leaves_right_ones_out)
{
    open_it(0, 1, -1);
    classify();
    ck_assert_str_eq(run.told.table, "test_step_20\n"
                                     "outputs | labels | correct | input | run_name\n"
                                     "0 | 2 | false | [2,-3] | \"trial\"\n");
    close_it();
}
END_TEST

/* Each pair of rows comes as often as any other; those of one batch and seed are always the same. */
START_TEST(subset_sample_draws_rows_evenly)
{
    enum { DRAWS = 600 };
    char before[sizeof run.told.table];
    uint32_t seen[4] = {0};
    static const char *const rows[] = {"\n1 | 1", "\n0 | 2", "\n2 | 2", "\n0 | 0"};
    open_it(0, 0, 2);
    for (int k = 0; k < DRAWS; k++) {
        run.time.batch = k;
        classify();
        uint32_t found = 0;
        for (int r = 0; r < 4; r++)
            if (strstr(run.told.table, rows[r])) {
                seen[r]++;
                found++;
            }
        ck_assert_uint_eq(found, 2);
    }
    for (int r = 0; r < 4; r++)
        ck_assert_msg(seen[r] > DRAWS / 2 - 75 && seen[r] < DRAWS / 2 + 75, "%u", seen[r]);
    (void)snprintf(before, sizeof before, "%s", run.told.table);
    classify();
    ck_assert_str_eq(run.told.table, before);
    close_it();
}
END_TEST

/* Three positions, the second without a target; the classes are the tokens 3 to 0. */
START_TEST(tokens_are_texts_where_the_data_know_them)
{
    static float logits[] = {0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0};
    static int32_t inputs[] = {1, 2, 9}, targets[] = {3, -100, 0};
    for (int tokens = 0; tokens < 2; tokens++) {
        known = &letters;
        open_it(tokens, 0, -1);
        stage_tensor(&run, "outputs", logits, (tutti_desc){{1, 3, 4}, 3, TUTTI_F32});
        stage_tensor(&run, "target", targets, (tutti_desc){{1, 3}, 2, TUTTI_I32});
        stage_tensor(&run, "input", inputs, (tutti_desc){{1, 3}, 2, TUTTI_I32});
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_AFTER_FORWARD);
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
        ck_assert_str_eq(
            run.told.table,
            tokens ? "test_step_20\n"
                     "outputs | labels | correct | input | input_tokens | label_tokens | "
                     "run_name\n"
                     "\"\\ufffda\" | \"\\ufffda\" | true | \"\\\"\\u000a\xef\xbf\xbd\" | "
                     "[1,2,9] | [3,-100,0] | \"trial\"\n"
                   : "test_step_20\n"
                     "outputs | labels | correct | input | run_name\n"
                     "\"\\ufffda\" | \"\\ufffda\" | true | \"\\\"\\u000a\xef\xbf\xbd\" | "
                     "\"trial\"\n");
        close_it();
    }
}
END_TEST

START_TEST(numbers_stand_beside_numbers)
{
    static float said[] = {1.5f, NAN}, want[] = {0.1f, 2};
    open_it(0, 1, -1);
    stage_tensor(&run, "outputs", said, (tutti_desc){{2, 1}, 2, TUTTI_F32});
    stage_tensor(&run, "target", want, (tutti_desc){{2, 1}, 2, TUTTI_F32});
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_AFTER_FORWARD);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    ck_assert_str_eq(run.told.table, "test_step_20\n"
                                     "outputs | labels | run_name\n"
                                     "1.5 | 0.100000001 | \"trial\"\n"
                                     "\"NaN\" | 2 | \"trial\"\n");
    close_it();
}
END_TEST

START_TEST(what_is_no_row_is_told_once)
{
    static float maps[8];
    static int32_t classes[4];
    open_it(0, 0, -1);
    stage_tensor(&run, "outputs", maps, (tutti_desc){{1, 2, 2, 2}, 4, TUTTI_F32});
    stage_tensor(&run, "target", classes, (tutti_desc){{1, 2, 2}, 3, TUTTI_I32});
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_AFTER_FORWARD);
    ck_assert_str_eq(run.noted,
                     "outputs and targets are no classes, rows of classes or numbers "
                     "of a sample, so there is no table of them");
    run.noted[0] = '\0';
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_AFTER_FORWARD);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_END);
    ck_assert_str_eq(run.noted, "");
    ck_assert_uint_eq(run.told.ntables, 0);
    close_it();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("eval_output_logging");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, classes_of_all_parts_are_one_table);
    tcase_add_test(tc, print_only_incorrect_leaves_right_ones_out);
    tcase_add_test(tc, subset_sample_draws_rows_evenly);
    tcase_add_test(tc, tokens_are_texts_where_the_data_know_them);
    tcase_add_test(tc, numbers_stand_beside_numbers);
    tcase_add_test(tc, what_is_no_row_is_told_once);
    return tutti_run(suite);
}
