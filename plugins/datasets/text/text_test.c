/* text_test.c - blocks of tokens, splits, vocabularies both ways, and files that are refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/small_vocab.h"
#include "../dataset_check.h"

#include "tutti/rng.h"
#include "tutti/vocabulary.h"

#include <stdio.h>

enum { MOST = 512 };

static shelf s;
static test_settings g;

static void settings(const char *path, const char *vocabulary, int64_t length,
                     const char *split, double validation)
{
    test_settings_init(&g);
    test_settings_path(&g, "path", path);
    test_settings_enum(&g, "vocabulary", vocabulary, 0);
    test_settings_null(&g, "vocab_file");
    test_settings_null(&g, "merges_file");
    test_settings_null(&g, "tokenizer_file");
    test_settings_int(&g, "length", length);
    test_settings_null(&g, "stride");
    test_settings_enum(&g, "split", split, 0);
    test_settings_float(&g, "validation", validation);
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
    shelf_says(&s, &err, TUTTI_E_RANGE, "$/t: sample 2, there are 2");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(shelf_read(&s, 0, t, data, 11, &err), TUTTI_E_RANGE);
    shelf_says(&s, &err, TUTTI_E_RANGE, "$/t: sample 0 does not fit into 11 bytes");
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
    test_settings_int(&g, "stride", 2);
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

/* Opens "t" with these words and the small GPT-2 vocabulary. */
static void open_gpt2(const char *words)
{
    tutti_error err = TUTTI_ERROR_INIT;
    write_and_set(words, "gpt2", 1, "all", 0.1);
    test_settings_path(&g, "vocab_file", small_vocab_file(&s, "vocab.json"));
    test_settings_path(&g, "merges_file",
                       shelf_file(&s, "merges.txt", small_merges, strlen(small_merges)));
    ck_assert_ok(shelf_open(&s, "text", &g, &err), err);
}

/* The tokens of `words` as numbers with spaces between. */
static const char *encoded(const char *words)
{
    static char out[MOST];
    const tutti_vocabulary_v1 *v = subject_query(&s.subject, TUTTI_VOCABULARY_V1);
    tutti_error err = TUTTI_ERROR_INIT;
    int32_t tokens[MOST];
    uint64_t n = 0;
    size_t used = 0;
    out[0] = '\0';
    ck_assert_ok(v->encode(s.subject.self, words, strlen(words), tokens, MOST, &n, &err), err);
    for (uint64_t k = 0; k < n; k++)
        used +=
            (size_t)snprintf(out + used, sizeof out - used, "%s%d", k ? " " : "", tokens[k]);
    return out;
}

/* Encodes and decodes again. */
static void expect_same(const char *words, uint64_t size)
{
    const tutti_vocabulary_v1 *v = subject_query(&s.subject, TUTTI_VOCABULARY_V1);
    tutti_error err = TUTTI_ERROR_INIT;
    int32_t tokens[MOST];
    char back[MOST];
    uint64_t n = 0, used = 0, bytes = 0;
    ck_assert_ok(v->encode(s.subject.self, words, size, tokens, MOST, &n, &err), err);
    ck_assert_uint_le(n, size);
    for (uint64_t k = 0; k < n; k++, used += bytes) {
        const char *token = v->token(s.subject.self, tokens[k], &bytes);
        ck_assert_ptr_nonnull(token);
        ck_assert_uint_le(used + bytes, size);
        memcpy(back + used, token, bytes);
    }
    ck_assert_uint_eq(used, size);
    ck_assert_mem_eq(back, words, size);
}

/* Up to 60 characters of all planes, many of them spaces and letters; returns the size in bytes. */
static uint64_t random_words(uint64_t trial, char *to)
{
    tutti_stream r = tutti_stream_at(trial, TUTTI_RNG_DATASET, 0, 0);
    uint64_t used = 0;
    for (uint32_t left = 1 + tutti_stream_below(&r, 60); left > 0; left--) {
        static const char common[] = " helo wrd'sre\n\t0123";
        uint32_t code = tutti_stream_below(&r, 0x110000);
        const uint32_t turn = tutti_stream_below(&r, 4);
        if (turn > 1)
            code = (uint32_t)common[tutti_stream_below(&r, sizeof common - 1)];
        else if (turn == 1 || (code >= 0xd800 && code < 0xe000))
            code = 1 + tutti_stream_below(&r, 0x7ff);
        used += small_utf8(code, to + used);
    }
    return used;
}

START_TEST(byte_pairs_merge_in_the_order_of_the_file)
{
    /* small_merges: 256 he, 257 ll, 258 hell, 259 hello, 260 " w", 261 or, 262 " wor", 263 lo */
    open_gpt2("hello wor");
    ck_assert_int_eq(s.info.columns[1].classes, SMALL_VOCAB);
    ck_assert_int_eq(s.info.samples, 1);
    static const int32_t all[] = {259, 262};
    expect(0, all, 1);
    ck_assert_str_eq(encoded("hello world"), "259 262 75 67"); /* l and d by their own tokens */
    ck_assert_str_eq(encoded("helo"), "256 263");
    ck_assert_str_eq(encoded("hellll"), "258 257"); /* from left to right */
    ck_assert_str_eq(encoded("lll"), "257 75");
    ck_assert_str_eq(encoded("ll o"), "257 220 78"); /* no pair across pieces */
    ck_assert_str_eq(encoded("  wor"), "220 262");
    ck_assert_str_eq(encoded(""), "");
    subject_close(&s.subject);
}
END_TEST

START_TEST(what_was_encoded_is_decoded_to_the_same)
{
    static char words[MOST];
    open_gpt2("hello wor");
    for (uint64_t trial = 0; trial < 500; trial++)
        expect_same(words, random_words(trial, words));
    for (int code = 1; code < 128; code++) {
        words[0] = (char)code;
        expect_same(words, 1);
    }
    subject_close(&s.subject);
    write_and_set("hello", "bytes", 1, "all", 0.1);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(shelf_open(&s, "text", &g, &err), err);
    expect_same("\xff\x00 any", 6);
    subject_close(&s.subject);
    write_and_set("h\xc3\xa9llo", "chars", 1, "all", 0.1);
    ck_assert_ok(shelf_open(&s, "text", &g, &err), err);
    expect_same("\xc3\xa9h\xc3\xa9", 5);
    subject_close(&s.subject);
}
END_TEST

START_TEST(tokens_and_texts_beyond_the_vocabulary_are_told)
{
    tutti_error err = TUTTI_ERROR_INIT;
    int32_t tokens[2] = {-1, -1};
    uint64_t n = 0, bytes = 7;
    write_and_set("hello", "chars", 1, "all", 0.1);
    ck_assert_ok(shelf_open(&s, "text", &g, &err), err);
    const tutti_vocabulary_v1 *v = subject_query(&s.subject, TUTTI_VOCABULARY_V1);
    void *self = s.subject.self;
    ck_assert_ptr_null(v->token(self, -1, &bytes));
    ck_assert_ptr_null(v->token(self, 4, &bytes));
    ck_assert_uint_eq(bytes, 7);
    ck_assert_ok(v->encode(self, "hole", 4, tokens, 1, &n, &err), err); /* room for one */
    ck_assert_uint_eq(n, 4);
    ck_assert_int_eq(tokens[0], 1);
    ck_assert_int_eq(tokens[1], -1);
    ck_assert_int_eq(v->encode(self, "he\xc3\xa9", 4, tokens, 2, &n, &err), TUTTI_E_NOTFOUND);
    ck_assert_error(err, TUTTI_E_NOTFOUND,
                    "the text to encode: the vocabulary does not have the character U+00E9 at "
                    "byte 2");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(v->encode(self, "h\xff", 2, tokens, 2, &n, &err), TUTTI_E_FORMAT);
    ck_assert_error(err, TUTTI_E_FORMAT,
                    "the text to encode: byte 1 begins no UTF-8 character");
    ck_assert_uint_eq(n, 4);
    subject_close(&s.subject);
}
END_TEST

static const char *tokenizer_file(void)
{
    static const char json[] =
        "{\"pre_tokenizer\": {\"type\": \"Metaspace\"}, \"decoder\": {\"type\": \"Metaspace\"},"
        " \"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0],"
        " [\"\xe2\x96\x81\", -1], [\"a\", -2], [\"\xe2\x96\x81"
        "ab\", -2], [\"b\", -2]]}}";
    return shelf_file(&s, "tokenizer.json", json, sizeof json - 1);
}

START_TEST(a_tokenizer_json_is_a_vocabulary)
{
    if (!TOKENIZER_IS_BUILT) {
        tutti_skip("built without PCRE2 10.40 or utf8proc");
        return;
    }
    static const int32_t all[] = {3, 1, 2, 2, 1, 0, 3}, prompt[] = {1, 4};
    tutti_error err = TUTTI_ERROR_INIT;
    int32_t tokens[2] = {0};
    uint64_t n = 0;
    write_and_set("ab aa z ab", "tokenizer", 6, "all", 0.1);
    test_settings_path(&g, "tokenizer_file", tokenizer_file());
    ck_assert_ok(shelf_open(&s, "text", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 1);
    ck_assert_int_eq(s.info.columns[1].classes, 5);
    expect(0, all, 6);
    const tutti_vocabulary_v1 *v = subject_query(&s.subject, TUTTI_VOCABULARY_V1);
    ck_assert_ok(v->encode(s.subject.self, "b", 1, tokens, 0, &n, &err), err);
    ck_assert_uint_eq(n, 2);
    n = 0; /* more than there are bytes: the caller asks again */
    ck_assert_int_eq(v->encode(s.subject.self, "b", 1, tokens, 1, &n, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "room for 1 tokens of a text of 1 bytes that has 2");
    ck_assert_uint_eq(n, 2);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(v->encode(s.subject.self, "b", 1, tokens, 2, &n, &err), err);
    ck_assert_mem_eq(tokens, prompt, sizeof prompt);
    const char *word = v->token(s.subject.self, 3, &n);
    ck_assert_uint_eq(n, 3);
    ck_assert_mem_eq(word, " ab", 3);
    ck_assert_ptr_null(v->token(s.subject.self, 5, &n));
    subject_close(&s.subject);
}
END_TEST

START_TEST(bad_tokenizers_are_refused)
{
    if (!TOKENIZER_IS_BUILT) {
        tutti_skip("built without PCRE2 10.40 or utf8proc");
        return;
    }
    write_and_set("hello", "tokenizer", 1, "all", 0.1);
    shelf_refused(&s, "text", &g, TUTTI_E_ARG,
                  "text: the vocabulary tokenizer wants tokenizer_file");
    test_settings_path(&g, "tokenizer_file", shelf_file(&s, "j", "{\"model\"", 8));
    shelf_refused(&s, "text", &g, TUTTI_E_FORMAT, "$/j:1: ':' expected near end of file");
    write_and_set("a\xff", "tokenizer", 1, "all", 0.1);
    test_settings_path(&g, "tokenizer_file", tokenizer_file());
    shelf_refused(&s, "text", &g, TUTTI_E_FORMAT, "$/t: byte 1 begins no UTF-8 character");
    test_settings_enum(&g, "vocabulary", "bytes", 0);
    shelf_refused(&s, "text", &g, TUTTI_E_ARG,
                  "text: tokenizer_file is for the vocabulary tokenizer, not for bytes");
}
END_TEST

/* vocab.json and merges.txt with these contents are refused. */
static void gpt2_refused(const char *words, const char *merges, tutti_status status,
                         const char *sentence)
{
    write_and_set("hello", "gpt2", 1, "all", 0.1);
    test_settings_path(&g, "vocab_file",
                       words ? shelf_file(&s, "vocab.json", words, strlen(words))
                             : small_vocab_file(&s, "vocab.json"));
    test_settings_path(&g, "merges_file", shelf_file(&s, "merges.txt", merges, strlen(merges)));
    shelf_refused(&s, "text", &g, status, sentence);
}

START_TEST(bad_vocabularies_are_refused)
{
    write_and_set("hello", "gpt2", 1, "all", 0.1);
    test_settings_path(&g, "merges_file", shelf_path(&s, "m"));
    shelf_refused(&s, "text", &g, TUTTI_E_ARG, "text: the vocabulary gpt2 wants vocab_file");
    test_settings_path(&g, "vocab_file", shelf_path(&s, "v"));
    shelf_refused(&s, "text", &g, TUTTI_E_IO, "$/v: No such file or directory");
    test_settings_enum(&g, "vocabulary", "chars", 1);
    shelf_refused(&s, "text", &g, TUTTI_E_ARG,
                  "text: vocab_file is for the vocabulary gpt2, not for chars");
    gpt2_refused("{\"a\": 0,\n \"b\" 1}", "", TUTTI_E_FORMAT,
                 "$/merges.txt: is empty or no regular file");
    gpt2_refused("{\"a\": 0,\n \"b\" 1}", "a b", TUTTI_E_FORMAT,
                 "$/vocab.json:2: ':' expected near '1'");
    gpt2_refused("[1]", "a b", TUTTI_E_FORMAT,
                 "$/vocab.json: is no object of tokens and their numbers");
    gpt2_refused("{\"a\": 0, \"b\": 2}", "a b", TUTTI_E_FORMAT,
                 "$/vocab.json: the token b has no number of its own from 0 to 1");
    gpt2_refused("{\"a\": 0, \"b\": 0}", "a b", TUTTI_E_FORMAT,
                 "$/vocab.json: the token b has no number of its own from 0 to 1");
    gpt2_refused("{\"a\": 0, \"b c\": 1}", "a b", TUTTI_E_FORMAT,
                 "$/vocab.json: the token b c has a character that stands for no byte");
    gpt2_refused("{\"a\": 0, \"b\": 1}", "a b", TUTTI_E_FORMAT,
                 "$/vocab.json: has no token for the byte 0x00");
    gpt2_refused(NULL, "#version: 0.2\nh e\nhe\n", TUTTI_E_FORMAT,
                 "$/merges.txt:3: want two tokens and a space between them");
    gpt2_refused(NULL, "h e\nh e l\n", TUTTI_E_FORMAT,
                 "$/merges.txt:2: want two tokens and a space between them");
    gpt2_refused(NULL, "h e\ne h\n", TUTTI_E_FORMAT,
                 "$/merges.txt:2: the vocabulary lacks eh or one of its two parts");
    write_and_set("a\xff", "gpt2", 1, "all", 0.1);
    test_settings_path(&g, "vocab_file", small_vocab_file(&s, "vocab.json"));
    test_settings_path(&g, "merges_file", shelf_file(&s, "merges.txt", "h e", 3));
    shelf_refused(&s, "text", &g, TUTTI_E_FORMAT, "$/t: byte 1 begins no UTF-8 character");
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
    tcase_add_test(c, byte_pairs_merge_in_the_order_of_the_file);
    tcase_add_test(c, what_was_encoded_is_decoded_to_the_same);
    tcase_add_test(c, tokens_and_texts_beyond_the_vocabulary_are_told);
    tcase_add_test(c, a_tokenizer_json_is_a_vocabulary);
    tcase_add_test(c, bad_tokenizers_are_refused);
    tcase_add_test(c, bad_vocabularies_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
