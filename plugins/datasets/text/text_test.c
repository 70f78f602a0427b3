/* text_test.c - blocks of bytes and characters, splits, and files that are refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../dataset_check.h"

static shelf s;
static given g;

static void settings(const char *path, const char *vocabulary, int64_t length,
                     const char *split, double validation)
{
    given_init(&g);
    given_path(&g, "path", path);
    given_enum(&g, "vocabulary", vocabulary, 0);
    given_int(&g, "length", length);
    given_null(&g, "stride");
    given_enum(&g, "split", split, 0);
    given_float(&g, "validation", validation);
}

static void write_and_set(const char *words, const char *vocabulary, int64_t length,
                          const char *split, double validation)
{
    settings(shelf_file(&s, "t", words, strlen(words)), vocabulary, length, split, validation);
}

static void expect(int64_t index, const int32_t *tokens, int64_t length)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    int32_t input[8] = {0}, target[8] = {0};
    void *const data[TUTTI_MAX_COLUMNS] = {input, target};
    ck_assert_ok(shelf_read(&s, index, t, data, sizeof input, &err), err);
    for (int64_t k = 0; k < length; k++) {
        ck_assert_int_eq(input[k], tokens[k]);
        ck_assert_int_eq(target[k], tokens[k + 1]);
    }
}

static void start(void)
{
    shelf_start(&s);
}

static void erase(void)
{
    folder_remove(s.folder);
}

START_TEST(bytes_are_blocks_with_the_next_bytes)
{
    static const int32_t second[] = {'d', 'e', 'f', 'g'};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    int32_t input[8] = {0}, target[8] = {0};
    void *const data[TUTTI_MAX_COLUMNS] = {input, target};
    write_and_set("abcdefgh", "bytes", 3, "all", 0.1);
    ck_assert_ok(shelf_open(&s, "text", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 2);
    ck_assert_uint_eq(s.info.ncolumns, 2);
    ck_assert_str_eq(s.info.columns[0].name, "input");
    ck_assert_str_eq(s.info.columns[1].name, "target");
    ck_assert_int_eq(s.info.columns[1].classes, 256);
    shelf_shape(&s.info.columns[0].desc, "I32 (3)");
    shelf_shape(&s.info.columns[1].desc, "I32 (3)");
    expect(1, second, 3);
    ck_assert_int_eq(shelf_read(&s, 2, t, data, sizeof input, &err), TUTTI_E_RANGE);
    ck_assert_ptr_nonnull(strstr(err.text, "/t: sample 2, there are 2"));
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(shelf_read(&s, 0, t, data, 11, &err), TUTTI_E_RANGE);
    ck_assert_ptr_nonnull(strstr(err.text, "/t: sample 0 does not fit into 11 bytes"));
    subject_close(&s.subject);
}
END_TEST

START_TEST(characters_are_numbered_by_code_point)
{
    /* b, e acute, euro, a musical clef, a: numbers 1 2 3 4 0 */
    static const int32_t all[] = {1, 2, 3, 4, 0};
    tutti_error err = TUTTI_ERROR_INIT;
    write_and_set("b\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e"
                  "a",
                  "chars", 4, "all", 0.1);
    ck_assert_ok(shelf_open(&s, "text", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 1);
    ck_assert_int_eq(s.info.columns[1].classes, 5);
    expect(0, all, 4);
    subject_close(&s.subject);
}
END_TEST

START_TEST(splits_share_no_token_and_one_vocabulary)
{
    static const int32_t head[] = {0, 1, 2, 3, 4, 5, 6}, tail[] = {7, 8, 9};
    tutti_error err = TUTTI_ERROR_INIT;
    write_and_set("0123456789", "chars", 6, "train", 0.3);
    ck_assert_ok(shelf_open(&s, "text", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 1);
    expect(0, head, 6);
    subject_close(&s.subject);
    write_and_set("0123456789", "chars", 2, "validation", 0.3);
    ck_assert_ok(shelf_open(&s, "text", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 1);
    ck_assert_int_eq(s.info.columns[1].classes, 10);
    expect(0, tail, 2);
    subject_close(&s.subject);
}
END_TEST

START_TEST(blocks_may_overlap)
{
    static const int32_t last[] = {'e', 'f', 'g', 'h'};
    tutti_error err = TUTTI_ERROR_INIT;
    write_and_set("abcdefgh", "bytes", 3, "all", 0.1);
    given_int(&g, "stride", 2);
    ck_assert_ok(shelf_open(&s, "text", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 3);
    expect(2, last, 3);
    subject_close(&s.subject);
}
END_TEST

START_TEST(bad_files_are_refused)
{
    settings(shelf_path(&s, "nowhere"), "bytes", 2, "all", 0.1);
    shelf_refused(&s, "text", &g, TUTTI_E_IO, "$/nowhere: No such file or directory");
    write_and_set("", "bytes", 2, "all", 0.1);
    shelf_refused(&s, "text", &g, TUTTI_E_FORMAT, "$/t: is empty or no regular file");
    write_and_set("ab", "bytes", 2, "all", 0.1);
    shelf_refused(&s, "text", &g, TUTTI_E_FORMAT,
                  "$/t: 2 tokens in split all, want at least 3 for one block");
    write_and_set("abcdefghij", "bytes", 2, "validation", 0.1);
    shelf_refused(&s, "text", &g, TUTTI_E_FORMAT,
                  "$/t: 1 tokens in split validation, want at least 3 for one block");
    static const char *const broken[] = {"a\xff",         "a\xc3",         "a\xc0\x80",
                                         "a\xed\xa0\x80", "a\xe0\x80\x80", "a\xf4\x90\x80\x80"};
    for (size_t k = 0; k < sizeof broken / sizeof broken[0]; k++) {
        write_and_set(broken[k], "chars", 1, "all", 0.1);
        shelf_refused(&s, "text", &g, TUTTI_E_FORMAT, "$/t: byte 1 begins no UTF-8 character");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *c = tcase_create("text");
    tcase_add_checked_fixture(c, start, erase);
    tcase_add_test(c, bytes_are_blocks_with_the_next_bytes);
    tcase_add_test(c, characters_are_numbered_by_code_point);
    tcase_add_test(c, splits_share_no_token_and_one_vocabulary);
    tcase_add_test(c, blocks_may_overlap);
    tcase_add_test(c, bad_files_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
