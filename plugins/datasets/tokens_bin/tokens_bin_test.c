/* tokens_bin_test.c - blocks of one and of several files, and files that are refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2 /* tutti.sample_groups/1 */
#include "../common/small_vocab.h"
#include "../dataset_check.h"

#include "tutti/vocabulary.h"

enum { GPT2 = 20240520, LLAMA3 = 20240801, MOST = 1200 };

static shelf s;
static test_settings g;

static void settings(const char *path, int64_t length)
{
    test_settings_init(&g);
    test_settings_path(&g, "path", path);
    test_settings_int(&g, "length", length);
    test_settings_null(&g, "stride");
    test_settings_null(&g, "vocabulary_size");
    test_settings_null(&g, "vocab_file");
    test_settings_null(&g, "merges_file");
    test_settings_null(&g, "tokenizer_file");
}

/* Writes tokens first, first + 1 ... under a header that claims `claimed` of them. */
static const char *write_tokens(const char *name, int32_t magic, int32_t version,
                                int32_t claimed, uint32_t first, uint32_t count)
{
    static unsigned char bytes[MOST];
    const int32_t header[3] = {magic, version, claimed};
    const uint32_t wide = magic == LLAMA3 ? 4 : 2;
    ck_assert_uint_le(1024 + count * wide, MOST);
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, header, sizeof header);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t token = first + k; /* little-endian: the low bytes come first */
        memcpy(bytes + 1024 + (size_t)k * wide, &token, wide);
    }
    return shelf_file(&s, name, bytes, 1024 + (size_t)count * wide);
}

static void open_shelf(int64_t samples)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(shelf_open(&s, "tokens_bin", &g, &err), err);
    ck_assert_int_eq(s.info.samples, samples);
}

/* Sample `index` begins with token `first` and counts up. */
static void expect(int64_t index, int32_t first, int64_t length)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    int32_t input[8] = {0}, target[8] = {0};
    void *const data[TUTTI_MAX_COLUMNS] = {input, target};
    ck_assert_ok(shelf_read(&s, index, t, data, sizeof input, &err), err);
    shelf_shape(&t[0].desc, length == 3 ? "I32 (3)" : "I32 (4)");
    for (int32_t k = 0; k < length; k++) {
        ck_assert_int_eq(input[k], first + k);
        ck_assert_int_eq(target[k], first + k + 1);
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

START_TEST(tokens_of_two_bytes_are_blocks_with_the_next_tokens)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    int32_t input[8] = {0}, target[8] = {0};
    void *const data[TUTTI_MAX_COLUMNS] = {input, target};
    settings(write_tokens("a.bin", GPT2, 1, 9, 50240, 9), 4);
    open_shelf(2);
    ck_assert_uint_eq(s.info.ncolumns, 2);
    ck_assert_str_eq(s.info.columns[0].name, "input");
    ck_assert_str_eq(s.info.columns[1].name, "target");
    ck_assert_int_eq(s.info.columns[0].classes, 50257);
    ck_assert_int_eq(s.info.columns[1].classes, 50257);
    shelf_shape(&s.info.columns[1].desc, "I32 (4)");
    expect(0, 50240, 4);
    expect(1, 50244, 4);
    ck_assert_int_eq(shelf_read(&s, 2, t, data, sizeof input, &err), TUTTI_E_RANGE);
    shelf_says(&s, &err, TUTTI_E_RANGE, "$/a.bin: sample 2, there are 2");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(shelf_read(&s, 1, t, data, 15, &err), TUTTI_E_RANGE);
    shelf_says(&s, &err, TUTTI_E_RANGE, "$/a.bin: sample 1 does not fit into 15 bytes");
    subject_close(&s.subject);
}
END_TEST

START_TEST(tokens_of_four_bytes_are_read_too)
{
    settings(write_tokens("a.bin", LLAMA3, 7, 5, 100000, 5), 4);
    open_shelf(1);
    ck_assert_int_eq(s.info.columns[1].classes, 128256);
    expect(0, 100000, 4);
    subject_close(&s.subject);
}
END_TEST

START_TEST(blocks_may_overlap_or_leave_gaps)
{
    const char *path = write_tokens("a.bin", GPT2, 1, 9, 0, 9);
    settings(path, 4);
    test_settings_int(&g, "stride", 2);
    open_shelf(3);
    expect(1, 2, 4);
    expect(2, 4, 4);
    subject_close(&s.subject);
    settings(path, 3);
    test_settings_int(&g, "stride", 5);
    open_shelf(2);
    expect(1, 5, 3);
    subject_close(&s.subject);
}
END_TEST

START_TEST(files_of_a_pattern_follow_each_other_in_byte_order)
{
    (void)write_tokens("t_10.bin", GPT2, 1, 9, 300, 9);
    (void)write_tokens("t_02.bin", GPT2, 1, 4, 200, 4); /* too short for a block */
    (void)write_tokens("t_01.bin", GPT2, 1, 6, 100, 6);
    (void)write_tokens("other.bin", GPT2, 1, 9, 900, 9);
    settings(shelf_path(&s, "t_*.bin"), 4);
    open_shelf(3);
    expect(0, 100, 4);
    expect(1, 300, 4);
    expect(2, 304, 4);
    shelf_groups(&s, (const int64_t[]){0, 1, 1}, 3); /* one a file, the second one is empty */
    subject_close(&s.subject);
}
END_TEST

START_TEST(a_name_that_looks_like_a_pattern_is_taken_as_it_is)
{
    settings(write_tokens("t[1].bin", GPT2, 1, 5, 7, 5), 4);
    open_shelf(1);
    expect(0, 7, 4);
    subject_close(&s.subject);
}
END_TEST

START_TEST(a_token_beyond_the_vocabulary_is_told_with_its_place)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    int32_t input[8] = {0}, target[8] = {0};
    void *const data[TUTTI_MAX_COLUMNS] = {input, target};
    settings(write_tokens("a.bin", GPT2, 1, 9, 0, 9), 4);
    test_settings_int(&g, "vocabulary_size", 8);
    open_shelf(2);
    ck_assert_int_eq(s.info.columns[0].classes, 8);
    expect(0, 0, 4);
    ck_assert_int_eq(shelf_read(&s, 1, t, data, sizeof input, &err), TUTTI_E_RANGE);
    shelf_says(&s, &err, TUTTI_E_RANGE, "$/a.bin: token 8 is 8, want 0 to 7");
    subject_close(&s.subject);
}
END_TEST

START_TEST(tokens_have_a_meaning_with_the_files_of_a_vocabulary)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const char *path = write_tokens("a.bin", GPT2, 1, 9, 0, 9);
    const char *merges = shelf_file(&s, "merges.txt", small_merges, strlen(small_merges));
    int32_t tokens[8];
    uint64_t n = 0, size = 0;
    settings(path, 4);
    open_shelf(2);
    ck_assert_ptr_null(s.subject.calls->query(s.subject.self, TUTTI_VOCABULARY_V1));
    subject_close(&s.subject);
    test_settings_path(&g, "merges_file", merges);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_ARG,
                  "tokens_bin: merges_file is set without vocab_file");
    test_settings_path(&g, "vocab_file", small_vocab_file(&s, "vocab.json"));
    open_shelf(2);
    const tutti_vocabulary_v1 *words = subject_query(&s.subject, TUTTI_VOCABULARY_V1);
    ck_assert_ok(words->encode(s.subject.self, "hello wor", 9, tokens, 8, &n, &err), err);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(tokens[1], 262);
    ck_assert_mem_eq(words->token(s.subject.self, 262, &size), " wor", 4);
    ck_assert_uint_eq(size, 4);
    subject_close(&s.subject);
}
END_TEST

START_TEST(bad_files_are_refused)
{
    settings(shelf_path(&s, "nowhere.bin"), 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_IO, "$/nowhere.bin: No such file or directory");
    settings(shelf_path(&s, "*.bin"), 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_IO, "$/*.bin: matches no file");
    settings(s.folder, 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_FORMAT, "$: is empty or no regular file");
    settings(shelf_file(&s, "a.bin", "short", 5), 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_FORMAT,
                  "$/a.bin: has 5 bytes, the header of a token file takes 1024");
    settings(write_tokens("a.bin", 20240522, 1, 9, 0, 9), 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_FORMAT,
                  "$/a.bin: begins with 20240522, want 20240520 (GPT-2) or 20240801 (Llama 3)");
    settings(write_tokens("a.bin", GPT2, 2, 9, 0, 9), 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_VERSION,
                  "$/a.bin: has version 2, want 1 for GPT-2");
    settings(write_tokens("a.bin", LLAMA3, 1, 9, 0, 9), 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_VERSION,
                  "$/a.bin: has version 1, want 7 for Llama 3");
    settings(write_tokens("a.bin", GPT2, 1, 10, 0, 9), 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_FORMAT,
                  "$/a.bin: has 1042 bytes, which are not the 10 tokens of 2 bytes after 1024 "
                  "bytes of header that it claims");
    settings(write_tokens("a.bin", LLAMA3, 7, -1, 0, 0), 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_FORMAT,
                  "$/a.bin: has 1024 bytes, which are not the -1 tokens of 4 bytes after 1024 "
                  "bytes of header that it claims");
    settings(write_tokens("a.bin", GPT2, 1, 4, 0, 4), 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_FORMAT,
                  "$/a.bin: no file has 5 tokens, which one block takes");
    (void)write_tokens("a.bin", GPT2, 1, 9, 0, 9);
    (void)write_tokens("b.bin", LLAMA3, 7, 9, 0, 9);
    settings(shelf_path(&s, "?.bin"), 4);
    shelf_refused(&s, "tokens_bin", &g, TUTTI_E_FORMAT,
                  "$/b.bin: has tokens of 4 bytes, but $/a.bin of 2");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tokens_bin");
    TCase *c = tcase_create("tokens_bin");
    tcase_add_checked_fixture(c, start, erase);
    tcase_add_test(c, tokens_of_two_bytes_are_blocks_with_the_next_tokens);
    tcase_add_test(c, tokens_of_four_bytes_are_read_too);
    tcase_add_test(c, blocks_may_overlap_or_leave_gaps);
    tcase_add_test(c, files_of_a_pattern_follow_each_other_in_byte_order);
    tcase_add_test(c, a_name_that_looks_like_a_pattern_is_taken_as_it_is);
    tcase_add_test(c, a_token_beyond_the_vocabulary_is_told_with_its_place);
    tcase_add_test(c, tokens_have_a_meaning_with_the_files_of_a_vocabulary);
    tcase_add_test(c, bad_files_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
