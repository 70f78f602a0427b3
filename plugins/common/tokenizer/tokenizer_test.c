/* tokenizer_test.c - ids and texts as the package `tokenizers` gives them (tests/peers/tokenizers_peer.py), and
 * files and texts that are refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer.h"
#include "tutti_check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const families[] = {"gpt2",       "llama3", "qwen",   "bert",
                                       "bert_cased", "t5",     "llama2", "words"};
enum { FAMILIES = sizeof families / sizeof *families };

static tokenizer *open_family(const char *family)
{
    char path[512];
    tokenizer *t = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/%s.json", TOKENIZER_RECORDED, family);
    ck_assert_ok(tokenizer_open(path, &t, &err), err);
    return t;
}

static json_t *recorded(void)
{
    json_error_t why;
    json_t *all = json_load_file(TOKENIZER_RECORDED "/ids.json", JSON_ALLOW_NUL, &why);
    ck_assert_msg(all != NULL, "ids.json:%d: %s", why.line, why.text);
    return all;
}

static void check_ids(const char *family, size_t k, const tokenizer_ids *ids,
                      const json_t *want)
{
    for (uint64_t m = 0; m < ids->count && m < json_array_size(want); m++)
        ck_assert_msg(json_integer_value(json_array_get(want, m)) == ids->data[m],
                      "%s: text %zu: id %llu is %d, want %lld", family, k,
                      (unsigned long long)m, ids->data[m],
                      (long long)json_integer_value(json_array_get(want, m)));
    ck_assert_msg(ids->count == json_array_size(want), "%s: text %zu: %llu ids, want %zu",
                  family, k, (unsigned long long)ids->count, json_array_size(want));
}

static void check_text(const char *family, size_t k, const tokenizer *t,
                       const tokenizer_ids *ids, int skip, const json_t *want)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char *text = NULL;
    uint64_t size = 0;
    ck_assert_ok(tokenizer_decode(t, ids->data, ids->count, skip, &text, &size, &err), err);
    ck_assert_msg(
        size == json_string_length(want) && memcmp(text, json_string_value(want), size) == 0,
        "%s: text %zu is \"%s\", want \"%s\"", family, k, text, json_string_value(want));
    free(text);
}

static void check_family(const char *family, const json_t *texts, const json_t *answers)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tokenizer *t = open_family(family);
    tokenizer_encoder *e = NULL;
    ck_assert_ok(tokenizer_encoder_create(t, &e, &err), err);
    for (int again = 0; again < 2; again++) /* the second time out of memory */
        for (size_t k = 0; k < json_array_size(texts); k++) {
            const json_t *text = json_array_get(texts, k);
            for (int special = 0; special < 2; special++) {
                tokenizer_ids ids = {0};
                ck_assert_ok(tokenizer_encode(e, "a text", json_string_value(text),
                                              json_string_length(text), special, &ids, &err),
                             err);
                check_ids(
                    family, k, &ids,
                    json_array_get(json_object_get(answers, special ? "ids" : "plain"), k));
                for (int skip = 0; special && skip < 2; skip++)
                    check_text(
                        family, k, t, &ids, skip,
                        json_array_get(json_object_get(answers, skip ? "skipped" : "text"), k));
                free(ids.data);
            }
        }
    tokenizer_encoder_destroy(e);
    tokenizer_close(t);
}

START_TEST(ids_and_texts_are_those_of_the_package)
{
    json_t *all = recorded();
    ck_assert_uint_gt(json_array_size(json_object_get(all, "texts")), 50);
    check_family(families[_i], json_object_get(all, "texts"),
                 json_object_get(json_object_get(all, "families"), families[_i]));
    json_decref(all);
}
END_TEST

START_TEST(tokens_by_themselves_are_their_bytes)
{
    tokenizer *t = open_family("gpt2");
    uint64_t size = 0;
    tokenizer_ids ids = {0};
    tokenizer_encoder *e = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    static const char text[] = "l'\xc3\xa9t\xc3\xa9 \xf0\x9f\x98\x80  <|end|>";
    char back[64];
    uint64_t used = 0;
    ck_assert_ok(tokenizer_encoder_create(t, &e, &err), err);
    ck_assert_ok(tokenizer_encode(e, "a text", text, sizeof text - 1, 0, &ids, &err), err);
    for (uint64_t k = 0; k < ids.count; k++) {
        const char *part = tokenizer_text(t, ids.data[k], &size);
        ck_assert_ptr_nonnull(part);
        ck_assert_uint_lt(used + size, sizeof back);
        memcpy(back + used, part, size);
        used += size;
    }
    ck_assert_uint_eq(used, sizeof text - 1);
    ck_assert_mem_eq(back, text, used);
    ck_assert_int_eq(tokenizer_find(t, "<|end|>"), ids.data[ids.count - 1]);
    ck_assert_int_eq(tokenizer_find(t, "no such token"), -1);
    ck_assert_ptr_null(tokenizer_text(t, tokenizer_size(t), &size));
    ck_assert_ptr_null(tokenizer_text(t, -1, &size));
    free(ids.data);
    tokenizer_encoder_destroy(e);
    tokenizer_close(t);
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"ab\xff", "line 3: byte 2 begins no UTF-8 character"},
        {"\xc0\x80", "line 3: byte 0 begins no UTF-8 character"},
        {"a\xed\xa0\x80", "line 3: byte 1 begins no UTF-8 character"},
        {"abc\xe4\xb8", "line 3: byte 3 begins no UTF-8 character"},
        {"\xf4\x90\x80\x80", "line 3: byte 0 begins no UTF-8 character"},
    };
    tokenizer *t = open_family("llama3");
    tokenizer_encoder *e = NULL;
    tokenizer_ids ids = {0};
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(tokenizer_encoder_create(t, &e, &err), err);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        err = (tutti_error)TUTTI_ERROR_INIT;
        ck_assert_int_eq(
            tokenizer_encode(e, "line 3", cases[k].text, strlen(cases[k].text), 1, &ids, &err),
            TUTTI_E_FORMAT);
        ck_assert_error(err, TUTTI_E_FORMAT, cases[k].want);
        ck_assert_uint_eq(ids.count, 0);
    }
    tokenizer_encoder_destroy(e);
    tokenizer_close(t);
}
END_TEST

START_TEST(long_runs_take_no_more_than_their_length)
{
    enum { SIZE = 100000 };
    char *text = malloc(SIZE);
    ck_assert_ptr_nonnull(text);
    for (int k = 0; k < FAMILIES; k++) {
        tokenizer *t = open_family(families[k]);
        tokenizer_encoder *e = NULL;
        tokenizer_ids ids = {0};
        tutti_error err = TUTTI_ERROR_INIT;
        ck_assert_ok(tokenizer_encoder_create(t, &e, &err), err);
        for (const char *c = "a 9!\n"; *c; c++) {
            memset(text, *c, SIZE);
            ck_assert_ok(tokenizer_encode(e, "a run", text, SIZE, 0, &ids, &err), err);
        }
        free(ids.data);
        tokenizer_encoder_destroy(e);
        tokenizer_close(t);
    }
    free(text);
}
END_TEST

/* ---- files that are refused ---- */

static void refuse(const char *json, tutti_status status, const char *want)
{
    char path[] = "/tmp/tokenizer_test.XXXXXX", sentence[512];
    const int fd = mkstemp(path);
    tokenizer *t = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, json, strlen(json)), (ssize_t)strlen(json));
    ck_assert_int_eq(close(fd), 0);
    const tutti_status got = tokenizer_open(path, &t, &err);
    (void)unlink(path);
    (void)snprintf(sentence, sizeof sentence, "%s%s", path, want);
    ck_assert_int_eq(got, status);
    ck_assert_error(err, status, sentence);
}

START_TEST(broken_files_get_one_sentence)
{
    static const struct {
        const char *json;
        const char *want;
        tutti_status status;
    } cases[] = {
        {"[]", ": is no object, want a tokenizer.json", TUTTI_E_FORMAT},
        {"{}", ": the file: \"model\" is not there, or no object", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"LSTM\", \"vocab\": {\"a\": 0}}}",
         ": model: \"type\" is \"LSTM\", which is not known here", TUTTI_E_UNSUPPORTED},
        {"{\"model\": {\"type\": \"BPE\", \"vocab\": {}, \"merges\": []}}",
         ": model: \"vocab\" is empty", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": -1}, \"merges\": []}}",
         ": model: the token \"a\" has no number from 0 to 1073741823", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a b\"]}}",
         ": model: merge 0 of \"merges\" names a token that \"vocab\" does not have",
         TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [3]}}",
         ": model: merge 0 of \"merges\" is not two tokens", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [], \"dropout\": "
         "0.1}}",
         ": model: \"dropout\" is set, which draws other ids each time; want null",
         TUTTI_E_UNSUPPORTED},
        {"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}}}",
         ": model: \"vocab\" does not have the \"unk_token\" \"[UNK]\"", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\"]]}}",
         ": model: entry 0 of \"vocab\" is not [token, score]", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"Unigram\", \"unk_id\": 7, \"vocab\": [[\"a\", 0]]}}",
         ": model: \"unk_id\" is 7, \"vocab\" has 1 tokens", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}, \"normalizer\": {}}",
         ": normalizer: \"type\" is missing, want a string", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}, \"normalizer\": "
         "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"!\"}}",
         ": normalizer: \"precompiled_charsmap\" is no base64", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}, \"normalizer\": "
         "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"/////////////w==\"}}",
         ": normalizer: \"precompiled_charsmap\" does not hold the array it names",
         TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}, \"pre_tokenizer\": "
         "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"(\"}}}",
         ": pre_tokenizer: the expression \"(\" is no pattern: missing closing parenthesis",
         TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}, \"pre_tokenizer\": "
         "{\"type\": \"Sequence\", \"pretokenizers\": [3]}}",
         ": pre_tokenizer: \"pretokenizers\" has something that is no object", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}, \"post_processor\": "
         "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": "
         "\"[X]\"}}]}}",
         ": post_processor: \"special_tokens\" does not have \"[X]\" with its \"ids\"",
         TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}, \"post_processor\": "
         "{\"type\": \"BertProcessing\", \"cls\": [\"a\", 9], \"sep\": [\"a\", 0]}}",
         ": post_processor: names the id 9, the tokens end at 0", TUTTI_E_FORMAT},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}, \"decoder\": "
         "{\"type\": \"CTC\"}}",
         ": decoder: the type \"CTC\" is not known here", TUTTI_E_UNSUPPORTED},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}, \"added_tokens\": "
         "[{\"content\": \"b\"}]}",
         ": added_tokens: \"b\" has no \"id\" from 0 to 1073741823", TUTTI_E_FORMAT},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        refuse(cases[k].json, cases[k].status, cases[k].want);
    tokenizer *t = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(tokenizer_open("/nowhere/tokenizer.json", &t, &err), TUTTI_E_IO);
    ck_assert_error(err, TUTTI_E_IO, "/nowhere/tokenizer.json: No such file or directory");
}
END_TEST

/* A file cut short or changed in one byte is refused or is another tokenizer, which still ends. */
START_TEST(damaged_files_do_no_harm)
{
    char path[512], copy[] = "/tmp/tokenizer_test.XXXXXX";
    (void)snprintf(path, sizeof path, "%s/%s.json", TOKENIZER_RECORDED, families[_i]);
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    static char data[1 << 18];
    const size_t size = fread(data, 1, sizeof data, f);
    (void)fclose(f);
    const int fd = mkstemp(copy);
    ck_assert_int_ge(fd, 0);
    uint64_t random = 1;
    for (int turn = 0; turn < 60; turn++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const size_t at = (size_t)(random >> 33) % size;
        /* where the names of the parts are, not in the vocabulary alone */
        const size_t place = turn % 2 ? at % 2000 : at;
        const char kept = data[place];
        data[place] = "0{}[]\",:ae"[random % 10];
        const size_t n = turn % 5 ? size : at;
        ck_assert_int_eq(ftruncate(fd, 0), 0);
        ck_assert_int_eq(pwrite(fd, data, n, 0), (ssize_t)n);
        data[place] = kept;
        tokenizer *t = NULL;
        tutti_error err = TUTTI_ERROR_INIT;
        if (tokenizer_open(copy, &t, &err)) {
            ck_assert_ptr_nonnull(strstr(err.text, copy));
            continue;
        }
        tokenizer_encoder *e = NULL;
        tokenizer_ids ids = {0};
        static const char text[] = "The ship's \xe6\x97\xa5\xe6\x9c\xac 123 <|end|>";
        ck_assert_ok(tokenizer_encoder_create(t, &e, &err), err);
        if (tokenizer_encode(e, "a text", text, sizeof text - 1, 1, &ids, &err))
            ck_assert_uint_eq(ids.count, 0);
        for (uint64_t k = 0; k < ids.count; k++) {
            ck_assert_int_ge(ids.data[k], 0);
            ck_assert_int_lt(ids.data[k], tokenizer_size(t));
        }
        free(ids.data);
        tokenizer_encoder_destroy(e);
        tokenizer_close(t);
    }
    (void)close(fd);
    (void)unlink(copy);
}
END_TEST

static unsigned long asked, fails_at; /* of jansson's allocations, from 1 */

static void *take(size_t size)
{
    return ++asked == fails_at ? NULL : malloc(size);
}

/* Below what the tokenizer looks through. */
__attribute__((constructor(101))) static void fail_below(void)
{
    json_set_alloc_funcs(take, free);
}

/* jansson leaves a character out where its buffer cannot grow, and says nothing. */
START_TEST(no_failed_allocation_changes_a_text)
{
    tokenizer *t = NULL;
    asked = fails_at = 0;
    tokenizer_close(open_family("words"));
    const unsigned long all = asked;
    ck_assert_uint_gt(all, 100);
    for (unsigned long k = 1; k <= all; k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        asked = 0;
        fails_at = k;
        const tutti_status s = tokenizer_open(TOKENIZER_RECORDED "/words.json", &t, &err);
        ck_assert_msg(s == TUTTI_E_NOMEM, "allocation %lu of %lu: status %d, %s", k, all, s,
                      err.text);
    }
    fails_at = 0;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tokenizer");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, ids_and_texts_are_those_of_the_package, 0, FAMILIES);
    tcase_add_test(c, tokens_by_themselves_are_their_bytes);
    tcase_add_test(c, bytes_that_are_no_text_are_refused);
    tcase_add_test(c, long_runs_take_no_more_than_their_length);
    tcase_add_test(c, broken_files_get_one_sentence);
    tcase_add_test(c, no_failed_allocation_changes_a_text);
    tcase_add_loop_test(c, damaged_files_do_no_harm, 0, FAMILIES);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
