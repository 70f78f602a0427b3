/* prompts_test.c - rows of tokens of texts in the run file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../dataset_check.h"

#include "tutti/vocabulary.h"

static shelf s;
static test_settings g;
static tutti_error err;

static void settings(const char *second, int64_t length)
{
    static const char json[] =
        "{\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"model\": {\"type\": "
        "\"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\": 1, \"b\": 2, \"c\": "
        "3}}}";
    const char *const texts[2] = {"a b c", second};
    err = (tutti_error)TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_strings(&g, "texts", texts, 2);
    test_settings_path(&g, "tokenizer_file",
                       shelf_file(&s, "tokenizer.json", json, sizeof json - 1));
    test_settings_int(&g, "length", length);
}

static void expect(int64_t row, const int32_t *want)
{
    int32_t got[2][4];
    void *const data[TUTTI_MAX_COLUMNS] = {got[0], got[1]};
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    ck_assert_ok(shelf_read(&s, row, t, data, sizeof *got, &err), err);
    ck_assert_mem_eq(got, want, sizeof got);
}

START_TEST(each_text_is_a_row)
{
    static const int32_t first[] = {1, 2, 3, 0, 2, 3, -100, -100};
    static const int32_t second[] = {0, 0, 0, 0, -100, -100, -100, -100};
    settings("", 4);
    ck_assert_ok(shelf_open(&s, "prompts", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 2);
    ck_assert_int_eq(s.info.columns[0].classes, 4);
    expect(0, first);
    expect(1, second);
    subject_close(&s.subject);
}
END_TEST

START_TEST(words_are_the_tokenizers)
{
    int32_t tokens[3];
    uint64_t count = 0, size = 0;
    settings("b", 4);
    ck_assert_ok(shelf_open(&s, "prompts", &g, &err), err);
    const tutti_vocabulary_v1 *v = subject_query(&s.subject, TUTTI_VOCABULARY_V1);
    ck_assert_ok(v->encode(s.subject.self, "c a", 3, tokens, 3, &count, &err), err);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(tokens[0], 3);
    ck_assert_int_eq(tokens[1], 1);
    ck_assert_ptr_nonnull(v->token(s.subject.self, 2, &size));
    subject_close(&s.subject);
}
END_TEST

START_TEST(a_text_that_is_too_long_is_refused)
{
    settings("a a a a a", 4);
    ck_assert_int_eq(shelf_open(&s, "prompts", &g, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "prompts: text 1 has 5 tokens, a row has 4");
}
END_TEST

static void start(void)
{
    shelf_start(&s);
}

static void erase(void)
{
    folder_remove(s.folder);
}

int main(void)
{
    if (!TOKENIZER_IS_BUILT) {
        (void)puts("skipped: built without PCRE2 10.40 or utf8proc");
        return TUTTI_SKIPPED;
    }
    Suite *suite = suite_create("prompts");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, start, erase);
    tcase_add_test(c, each_text_is_a_row);
    tcase_add_test(c, words_are_the_tokenizers);
    tcase_add_test(c, a_text_that_is_too_long_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
