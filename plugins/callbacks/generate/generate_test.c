/* generate_test.c - the callback through its entry function, with a model that counts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"
#include "stateful_check.h"

#include "tutti/dataset.h"
#include "tutti/rng.h"
#include "tutti/train.h"
#include "tutti/vocabulary.h"

#include <stdbool.h>
#include <stdio.h>

/* Tokens are the letters a to g, a newline and half a character; the model gives logits for 10. */
enum { LENGTH = 4, LONG = 24, CLASSES = 9, LOGITS = 10, ROWS = 2, LINES = 16 };
static const char letters[] = "abcdefg\n\xe2";

typedef struct theatre {
    stage stage;
    service services[8];
    tutti_train_v1 train;
    tutti_log_v1 log;
    int32_t next[CLASSES]; /* the token that the model puts after each */
    int32_t runs;
    int32_t broken; /* logits are NaN */
    int32_t rank;   /* of the output */
    int32_t has_words;
    int32_t even; /* all tokens are as likely */
    int32_t nlines;
    char lines[LINES][128];
    int32_t window[ROWS * LONG]; /* of the last run */
    float logits[ROWS * LONG * LOGITS];
    int64_t length;        /* T */
    int64_t lengths[LONG]; /* of the windows of the first runs */
} theatre;

static theatre t;
static test_settings g;

static tutti_status words_encode(void *self, const char *words, uint64_t size, int32_t *tokens,
                                 uint64_t capacity, uint64_t *ret_count, tutti_error *err)
{
    ck_assert_ptr_eq(self, &t);
    for (uint64_t k = 0; k < size; k++) {
        const char *at = memchr(letters, words[k], CLASSES);
        if (!at)
            return tutti_fail(err, TUTTI_E_NOTFOUND, "the text to encode: has a %c", words[k]);
        if (k < capacity)
            tokens[k] = (int32_t)(at - letters);
    }
    *ret_count = size;
    return TUTTI_OK;
}

static const char *words_token(void *self, int64_t token, uint64_t *ret_size)
{
    ck_assert_ptr_eq(self, &t);
    ck_assert_int_lt(token, CLASSES);
    *ret_size = 1;
    return &letters[token];
}

static tutti_status data_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    (void)self, (void)err;
    ret->ncolumns = 2;
    ret->columns[0].desc = (tutti_desc){{t.length}, 1, TUTTI_I32};
    ret->columns[0].classes = CLASSES;
    return TUTTI_OK;
}

static const void *train_dataset(void *ctx, const char *id, void **ret_self)
{
    static const tutti_dataset_v1 data = {.struct_size = sizeof data, .info = data_info};
    static const tutti_vocabulary_v1 words = {
        .struct_size = sizeof words, .encode = words_encode, .token = words_token};
    *ret_self = ctx;
    if (strcmp(id, TUTTI_VOCABULARY_V1) == 0)
        return t.has_words ? &words : NULL;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &data : NULL;
}

static tutti_status train_forward(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                                  tutti_tensor *ret, uint32_t noutputs, tutti_error *err)
{
    (void)ctx, (void)err;
    ck_assert_uint_eq(ninputs, 1);
    ck_assert_uint_eq(noutputs, 1);
    const int64_t rows = inputs->desc.dim[0], length = inputs->desc.dim[1];
    ck_assert_int_le(rows, ROWS);
    ck_assert_int_le(length, t.length);
    if (t.runs < LONG)
        t.lengths[t.runs] = length;
    memcpy(t.window, inputs->data, (size_t)tutti_nbytes(&inputs->desc));
    for (int64_t k = 0; k < rows * length; k++)
        for (int64_t c = 0; c < LOGITS; c++) /* the last has no token and must not be drawn */
            t.logits[k * LOGITS + c] = t.broken                   ? NAN
                                       : t.even                   ? 0.0f
                                       : c == CLASSES             ? 99.0f
                                       : c == t.next[t.window[k]] ? 50.0f
                                                                  : 0.0f;
    t.runs++;
    *ret = (tutti_tensor){.data = t.logits,
                          .desc = {{rows, length, LOGITS}, t.rank, TUTTI_F32},
                          .device = TUTTI_DEVICE_CPU};
    return TUTTI_OK;
}

static void note(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    ck_assert_int_lt(t.nlines, LINES);
    (void)snprintf(t.lines[t.nlines++], sizeof t.lines[0], "%s%s",
                   level == TUTTI_LOG_WARNING ? "warning: " : "", text);
}

static void start(void)
{
    memset(&t, 0, sizeof t);
    stage_init(&t.stage);
    t.stage.max.unit = TUTTI_UNIT_BATCH;
    t.stage.max.count = 5;
    t.train = (tutti_train_v1){.struct_size = sizeof t.train,
                               .ctx = &t,
                               .forward = train_forward,
                               .dataset = train_dataset};
    t.log = (tutti_log_v1){.struct_size = sizeof t.log, .write = note};
    const service all[] = {{TUTTI_STATE_V1, &t.stage.tables.state},
                           {TUTTI_TRAIN_V1, &t.train},
                           {TUTTI_LOG_V1, &t.log},
                           {NULL, NULL}};
    memcpy(t.services, all, sizeof all);
    t.has_words = 1;
    t.rank = 3;
    t.length = LENGTH;
    for (int32_t k = 0; k < CLASSES; k++)
        t.next[k] = (k + 1) % 7;
}

static void end(void)
{
    stage_fini(&t.stage);
}

static void settings(const char *const *prompts, uint32_t n, int64_t tokens, int64_t every)
{
    test_settings_init(&g);
    test_settings_strings(&g, "prompts", prompts, n);
    test_settings_int(&g, "max_new_tokens", tokens);
    test_settings_float(&g, "temperature", 0.5);
    test_settings_null(&g, "top_k");
    test_settings_time(&g, "interval", every, TUTTI_UNIT_BATCH);
}

static void open_it(subject *it)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(
        subject_open(it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "generate", &g, t.services, &err),
        err);
}

static void one_batch(subject *it)
{
    ck_assert_hears(&t.stage, it, TUTTI_EVENT_BATCH_START);
    stage_next_batch(&t.stage);
    ck_assert_hears(&t.stage, it, TUTTI_EVENT_BATCH_CHECKPOINT);
}

START_TEST(prompts_go_on_with_the_newest_tokens_in_view)
{
    static const char *const prompts[] = {"ab", "g"};
    subject it;
    settings(prompts, 2, 5, 1);
    open_it(&it);
    ck_assert_hears(&t.stage, &it, TUTTI_EVENT_FIT_START);
    ck_assert_int_eq(t.runs, 0);
    one_batch(&it);
    ck_assert_int_eq(t.runs, 5);
    ck_assert_int_eq(t.nlines, 4);
    ck_assert_str_eq(t.lines[0], "after batch 1, from prompt 0:");
    ck_assert_str_eq(t.lines[1], "| abcdefg");
    ck_assert_str_eq(t.lines[2], "after batch 1, from prompt 1:");
    ck_assert_str_eq(t.lines[3], "| gabcde");
    /* the last run saw c d e f, and a b c d of the text from g */
    static const int32_t seen[] = {2, 3, 4, 5, 0, 1, 2, 3};
    for (int k = 0; k < ROWS * LENGTH; k++)
        ck_assert_int_eq(t.window[k], seen[k]);
    one_batch(&it); /* starts over from the prompts */
    ck_assert_str_eq(t.lines[5], "| abcdefg");
    subject_close(&it);
}
END_TEST

START_TEST(the_window_grows_with_the_text)
{
    static const char *const prompts[] = {"ab"};
    subject it;
    t.length = LONG;
    settings(prompts, 1, 30, 1);
    open_it(&it);
    ck_assert_hears(&t.stage, &it, TUTTI_EVENT_FIT_START);
    one_batch(&it);
    ck_assert_int_eq(t.runs, 30);
    ck_assert_int_eq(t.lengths[0], 16);
    ck_assert_int_eq(t.lengths[14], 16); /* 16 tokens to see */
    ck_assert_int_eq(t.lengths[15], LONG);
    ck_assert_str_eq(t.lines[1], "| abcdefgabcdefgabcdefgabcdefgabcd");
    subject_close(&it);
}
END_TEST

START_TEST(lines_and_broken_characters_are_made_fit_for_loggers)
{
    static const char *const prompts[] = {"a"};
    subject it;
    t.next[0] = 7; /* a, newline, half a character, b c ... */
    t.next[7] = 8;
    t.next[8] = 1;
    settings(prompts, 1, 4, 1);
    open_it(&it);
    ck_assert_hears(&t.stage, &it, TUTTI_EVENT_FIT_START);
    one_batch(&it);
    ck_assert_int_eq(t.nlines, 3);
    ck_assert_str_eq(t.lines[1], "| a");
    ck_assert_str_eq(t.lines[2], "| \xef\xbf\xbd"
                                 "bc");
    subject_close(&it);
}
END_TEST

START_TEST(texts_come_every_interval_and_at_the_end)
{
    static const char *const prompts[] = {"a"};
    subject it;
    settings(prompts, 1, 1, 2);
    open_it(&it);
    ck_assert_hears(&t.stage, &it, TUTTI_EVENT_FIT_START);
    static const int32_t after[] = {0, 1, 1, 2, 3}; /* batches 2, 4 and the last, 5 */
    for (int k = 0; k < 5; k++) {
        one_batch(&it);
        ck_assert_int_eq(t.runs, after[k]);
    }
    ck_assert_hears(&t.stage, &it, TUTTI_EVENT_EPOCH_CHECKPOINT);
    ck_assert_int_eq(t.runs, 3); /* not twice after the same batch */
    subject_close(&it);
}
END_TEST

/* The time before the first batch. */
static const tutti_timestamp *before_it(void *ctx)
{
    static const tutti_timestamp zero = {.struct_size = sizeof zero};
    (void)ctx;
    return &zero;
}

/* The end of an epoch, and of training, may come at the batch of the checkpoint that the run goes on from. */
START_TEST(a_run_that_is_resumed_prints_no_text_again)
{
    static const char *const prompts[] = {"a"};
    subject it;
    settings(prompts, 1, 1, 1);
    open_it(&it);
    ck_assert_hears(&t.stage, &it, TUTTI_EVENT_FIT_START);
    t.stage.tables.state.previous = before_it;
    one_batch(&it);
    ck_assert_int_eq(t.runs, 1);
    stateful_resume(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, &g);
    ck_assert_hears(&t.stage, &it, TUTTI_EVENT_FIT_START);
    ck_assert_hears(&t.stage, &it, TUTTI_EVENT_EPOCH_CHECKPOINT);
    ck_assert_int_eq(t.runs, 1);
    subject_close(&it);
}
END_TEST

START_TEST(draws_depend_on_the_batch_and_come_again)
{
    static const char *const prompts[] = {"a"};
    char first[2][128];
    t.even = 1;
    for (int round = 0; round < 2; round++) {
        subject it;
        settings(prompts, 1, 20, 1);
        t.stage.time.batch = t.nlines = 0;
        open_it(&it);
        ck_assert_hears(&t.stage, &it, TUTTI_EVENT_FIT_START);
        one_batch(&it);
        if (round == 0) {
            memcpy(first[0], t.lines[1], sizeof first[0]);
            t.nlines = 0;
            one_batch(&it);
            ck_assert_str_ne(t.lines[1], first[0]);
        } else {
            ck_assert_str_eq(t.lines[1], first[0]);
        }
        subject_close(&it);
    }
}
END_TEST

START_TEST(logits_that_are_no_numbers_are_a_warning)
{
    static const char *const prompts[] = {"a"};
    subject it;
    t.broken = 1;
    settings(prompts, 1, 3, 1);
    open_it(&it);
    ck_assert_hears(&t.stage, &it, TUTTI_EVENT_FIT_START);
    one_batch(&it);
    ck_assert_int_eq(t.runs, 1);
    ck_assert_int_eq(t.nlines, 1);
    ck_assert_str_eq(t.lines[0], "warning: no text: the model's logits are not finite");
    subject_close(&it);
}
END_TEST

/* Opens with these prompts and expects fit_start, or the first batch, to fail. */
static void refused(const char *prompt, bool at_start, tutti_status status, const char *text)
{
    const char *const prompts[] = {prompt};
    tutti_error err = TUTTI_ERROR_INIT;
    subject it;
    settings(prompts, 1, 3, 1);
    open_it(&it);
    if (at_start) {
        ck_assert_int_eq(stage_event(&t.stage, &it, TUTTI_EVENT_FIT_START, &err), status);
    } else {
        ck_assert_hears(&t.stage, &it, TUTTI_EVENT_FIT_START);
        ck_assert_hears(&t.stage, &it, TUTTI_EVENT_BATCH_START);
        stage_next_batch(&t.stage);
        ck_assert_int_eq(stage_event(&t.stage, &it, TUTTI_EVENT_BATCH_CHECKPOINT, &err),
                         status);
    }
    ck_assert_error(err, status, text);
    subject_close(&it);
}

START_TEST(what_cannot_generate_is_refused)
{
    refused("x", true, TUTTI_E_NOTFOUND, "generate: prompt 0: the text to encode: has a x");
    refused("", true, TUTTI_E_ARG, "generate: prompt 0 is empty, want a token or more");
    t.rank = 2;
    refused("a", false, TUTTI_E_SHAPE,
            "generate: the model's output is F32 (1, 4), want logits F32 (1, 4, 9) in the "
            "host's memory");
    t.has_words = 0;
    refused("a", true, TUTTI_E_UNSUPPORTED,
            "generate: the training dataset has no tutti.vocabulary/1, so its tokens mean "
            "nothing; text has one, and tokens_bin with vocab_file and merges_file");
    static const char *const prompts[] = {"a"};
    subject it;
    tutti_error err = TUTTI_ERROR_INIT;
    settings(prompts, 1, 3, 1);
    t.train.struct_size = 32; /* of an older host */
    ck_assert_int_eq(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "generate", &g, t.services, &err),
        TUTTI_E_UNSUPPORTED);
    ck_assert_error(err, TUTTI_E_UNSUPPORTED,
                    "generate: this host's tutti.train/1 has no forward");
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_CALLBACK, "generate", &g,
                           TUTTI_E_UNSUPPORTED, "generate: this host has no tutti.train/1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("generate");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, start, end);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, prompts_go_on_with_the_newest_tokens_in_view);
    tcase_add_test(tc, the_window_grows_with_the_text);
    tcase_add_test(tc, lines_and_broken_characters_are_made_fit_for_loggers);
    tcase_add_test(tc, texts_come_every_interval_and_at_the_end);
    tcase_add_test(tc, a_run_that_is_resumed_prints_no_text_again);
    tcase_add_test(tc, draws_depend_on_the_batch_and_come_again);
    tcase_add_test(tc, logits_that_are_no_numbers_are_a_warning);
    tcase_add_test(tc, what_cannot_generate_is_refused);
    return tutti_run(suite);
}
