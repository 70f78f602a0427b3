/* json_test.c - reading JSON with lines and paths, overriding, writing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "tutti_check.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char sample[] = "{\n"
                             "  \"name\": \"a \\\"b\\\" \\u00e9\",\n"
                             "  \"train\": {\"dataset\": {\n"
                             "      \"path\": \"x\"}},\n"
                             "  \"empty\": {}, \"none\": [],\n"
                             "  \"eval\": [\n"
                             "    {\"label\": \"test\", \"n\": -3},\n"
                             "    [1.5, true, false, null]\n"
                             "  ]\n"
                             "}\n";

static json_doc *parse(const char *text)
{
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    ck_assert_ok(json_parse("run.json", text, strlen(text), &doc, &err), err);
    return doc;
}

static void ck_refused(const char *text, size_t size, const char *sentence)
{
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    ck_assert_int_eq(json_parse("run.json", text, size, &doc, &err), TUTTI_E_FORMAT);
    ck_assert_error(err, TUTTI_E_FORMAT, sentence);
    ck_assert_ptr_null(doc);
}

START_TEST(every_value_knows_its_line_and_path)
{
    json_doc *doc = parse(sample);
    const json_node *root = json_root(doc);
    ck_assert_int_eq(json_type(root), JSON_OBJECT);
    ck_assert_str_eq(json_path(root), "");
    ck_assert_int_eq(json_line(root), 1);

    const json_node *path = json_get(json_get(json_get(root, "train"), "dataset"), "path");
    ck_assert_str_eq(json_string(path), "x");
    ck_assert_str_eq(json_path(path), "train.dataset.path");
    ck_assert_str_eq(json_key(path), "path");
    ck_assert_int_eq(json_line(path), 4);

    const json_node *eval = json_get(root, "eval");
    ck_assert_int_eq(json_line(eval), 6);
    const json_node *n = json_get(json_at(eval, 0), "n");
    ck_assert_int_eq(json_int(n), -3);
    ck_assert_double_eq(json_real(n), -3.0);
    ck_assert_int_eq(json_line(n), 7);
    ck_assert_str_eq(json_path(n), "eval[0].n");
    const json_node *list = json_at(eval, 1);
    ck_assert_uint_eq(json_count(list), 4);
    ck_assert_double_eq(json_real(json_at(list, 0)), 1.5);
    ck_assert(json_bool(json_at(list, 1)));
    ck_assert(!json_bool(json_at(list, 2)));
    ck_assert_int_eq(json_type(json_at(list, 3)), JSON_NULL);
    ck_assert_int_eq(json_line(json_at(list, 3)), 8);
    ck_assert_str_eq(json_path(json_at(list, 3)), "eval[1][3]");
    ck_assert_ptr_null(json_at(list, 4));
    ck_assert_ptr_null(json_get(root, "nothing"));
    json_free(doc);
}
END_TEST

START_TEST(text_is_written_compactly_in_document_order)
{
    json_doc *doc = parse(sample);
    char *text = json_text(json_root(doc));
    ck_assert_str_eq(text,
                     "{\"name\":\"a \\\"b\\\" \303\251\",\"train\":{\"dataset\":{\"path\":"
                     "\"x\"}},\"empty\":{},\"none\":[],\"eval\":[{\"label\":\"test\",\"n\":"
                     "-3},[1.5,true,false,null]]}");
    json_doc *again = parse(text);
    char *twice = json_text(json_root(again));
    ck_assert_str_eq(twice, text);
    free(twice);
    free(text);
    json_free(again);
    json_free(doc);
}
END_TEST

START_TEST(reals_are_written_so_that_they_come_back)
{
    json_doc *doc = parse("[0.1, 1e300, 1.0, 1e-7, 0.30000000000000004, -0.0]");
    char *text = json_text(json_root(doc));
    ck_assert_str_eq(text, "[0.1,1e+300,1.0,1e-07,0.30000000000000004,-0.0]");
    free(text);
    json_free(doc);
}
END_TEST

START_TEST(bad_text_is_refused_with_its_line)
{
    ck_refused("{\"a\": 1,\n \"a\": 2}", 17,
               "run.json:2: not valid JSON: duplicate object key near '\"a\"'");
    ck_refused("{\"a\": 1\n \"b\": 2}", 16,
               "run.json:2: not valid JSON: '}' expected near '\"b\"'");
    ck_refused("", 0, "run.json:1: not valid JSON: unexpected token near end of file");
    ck_refused("[1] x", 5, "run.json:1: not valid JSON: end of file expected near 'x'");
    ck_refused("[\"a\\u0000b\"]", 13,
               "run.json:1: not valid JSON: \\u0000 is not allowed without JSON_ALLOW_NUL near "
               "'\"a\\u0000b\"'");
    ck_refused("[NaN]", 5, "run.json:1: not valid JSON: invalid token near 'NaN'");
    ck_refused("[99999999999999999999]", 22,
               "run.json:1: not valid JSON: too big integer near '99999999999999999999'");
}
END_TEST

/* As Windows' editors write it. */
START_TEST(a_byte_order_mark_is_skipped)
{
    static const char text[] = "\xef\xbb\xbf{\"a\":\n 1}";
    json_doc *doc = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(json_parse("run.json", text, sizeof text - 1, &doc, &err), err);
    const json_node *a = json_get(json_root(doc), "a");
    ck_assert_ptr_nonnull(a);
    ck_assert_int_eq(json_line(a), 2);
    json_free(doc);
    ck_refused("\xef\xbb\xbf", 3,
               "run.json:1: not valid JSON: unexpected token near end of file");
    ck_refused("{\"a\": \xef\xbb\xbf 1}", 11,
               "run.json:1: not valid JSON: invalid token near '\xef\xbb\xbf'");
}
END_TEST

START_TEST(nesting_beyond_64_is_refused)
{
    char text[140];
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    ck_refused(text, 130, "run.json:1: values are nested more than 64 deep");
    json_doc *doc = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(json_parse("run.json", text + 1, 128, &doc, &err), err);
    json_free(doc);
}
END_TEST

START_TEST(files_have_a_size_limit)
{
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    char path[] = "/tmp/tutti-json-XXXXXX";
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "w");
    fputs("[1, 2]", file);
    fclose(file);
    ck_assert_ok(json_read(path, 6, &doc, &err), err);
    ck_assert_uint_eq(json_count(json_root(doc)), 2);
    json_free(doc);
    char want[120];
    snprintf(want, sizeof want, "%s: larger than the limit of 5 bytes", path);
    ck_assert_int_eq(json_read(path, 5, &doc, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, want);
    remove(path);
    err = (tutti_error)TUTTI_ERROR_INIT;
    snprintf(want, sizeof want, "%s: No such file or directory", path);
    ck_assert_int_eq(json_read(path, 5, &doc, &err), TUTTI_E_IO);
    ck_assert_error(err, TUTTI_E_IO, want);
}
END_TEST

static const struct {
    const char *path, *value, *result;
} overrides[] = {
    {"a.b", "2", "{\"a\":{\"b\":2},\"l\":[{\"x\":1}]}"},
    {"a", "null", "{\"a\":null,\"l\":[{\"x\":1}]}"},
    {"a.b", "hello", "{\"a\":{\"b\":\"hello\"},\"l\":[{\"x\":1}]}"},
    {"a.b", "1ep", "{\"a\":{\"b\":\"1ep\"},\"l\":[{\"x\":1}]}"},
    {"a.c.d", "true", "{\"a\":{\"b\":1,\"c\":{\"d\":true}},\"l\":[{\"x\":1}]}"},
    {"l.0.x", "[1]", "{\"a\":{\"b\":1},\"l\":[{\"x\":[1]}]}"},
    {"l[0].y", "1.5", "{\"a\":{\"b\":1},\"l\":[{\"x\":1,\"y\":1.5}]}"},
    {"l[1]", "{\"z\":0}", "{\"a\":{\"b\":1},\"l\":[{\"x\":1},{\"z\":0}]}"},
    {"m[0][0].n", "\"3\"", "{\"a\":{\"b\":1},\"l\":[{\"x\":1}],\"m\":[[{\"n\":\"3\"}]]}"},
};

START_TEST(an_override_sets_one_value)
{
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = parse("{\"a\": {\"b\": 1}, \"l\": [{\"x\": 1}]}");
    ck_assert_ok(json_override(doc, overrides[_i].path, overrides[_i].value, &err), err);
    char *text = json_text(json_root(doc));
    ck_assert_str_eq(text, overrides[_i].result);
    free(text);
    json_free(doc);
}
END_TEST

START_TEST(an_override_keeps_the_document_well_formed)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char value[129];
    json_doc *doc = parse("{}");
    ck_assert_int_eq(json_override(doc, "a", "\xff", &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "a path or its value is not UTF-8");
    err = (tutti_error)TUTTI_ERROR_INIT;
    memset(value, '[', 64);
    memset(value + 64, ']', 64);
    value[128] = '\0';
    ck_assert_int_eq(json_override(doc, "a", value, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "a: values are nested more than 64 deep");
    ck_assert_uint_eq(json_count(json_root(doc)), 0);
    json_free(doc);
}
END_TEST

START_TEST(overridden_values_have_a_path_and_no_line)
{
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = parse("{\"l\": [{\"x\": 1}]}");
    ck_assert_ok(json_override(doc, "l.0.y.z", "1", &err), err);
    const json_node *z =
        json_get(json_get(json_at(json_get(json_root(doc), "l"), 0), "y"), "z");
    ck_assert_str_eq(json_path(z), "l[0].y.z");
    ck_assert_int_eq(json_line(z), 0);
    ck_assert_str_eq(json_name(z), "run.json");
    json_free(doc);
}
END_TEST

static const struct {
    const char *path, *sentence;
} bad_overrides[] = {
    {"a.b.c", "a.b.c: a.b is an integer, want an object"},
    {"l[3]", "l[3]: l has 1 items, want an index up to 1"},
    {"l.x.y", "l.x: l is an array, want an index"},
    {"a[0]", "a[0]: a is an object, want a name"},
    {"[0]", "[0]: the document is an object, want a name"},
    {"n[2]", "n[2]: the array is new, want index 0"},
    {"", ": not a path: want names and indices such as \"eval[0].label\""},
    {"a..b", "a..b: not a path: want names and indices such as \"eval[0].label\""},
    {"a.", "a.: not a path: want names and indices such as \"eval[0].label\""},
    {"l[x]", "l[x]: not a path: want names and indices such as \"eval[0].label\""},
    {"l[0]x", "l[0]x: not a path: want names and indices such as \"eval[0].label\""},
    {"l[0", "l[0: not a path: want names and indices such as \"eval[0].label\""},
};

START_TEST(an_override_that_does_not_fit_is_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = parse("{\"a\": {\"b\": 1}, \"l\": [{\"x\": 1}]}");
    ck_assert_int_eq(json_override(doc, bad_overrides[_i].path, "1", &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, bad_overrides[_i].sentence);
    char *text = json_text(json_root(doc));
    ck_assert_str_eq(text, "{\"a\":{\"b\":1},\"l\":[{\"x\":1}]}");
    free(text);
    json_free(doc);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
/* Reads a text of long words with so much memory more than the process has; the exit status. */
static int read_within(rlim_t bytes)
{
    enum { WORD = 256 << 10, WORDS = 4 };
    static char text[WORDS * (WORD + 3) + 2];
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    long pages = 0;
    size_t used = 0;
    text[used++] = '[';
    for (int k = 0; k < WORDS; k++) {
        used += (size_t)sprintf(text + used, "%s\"", k ? "," : "");
        memset(text + used, 'a' + k, WORD);
        used += WORD;
        text[used++] = '"';
    }
    text[used++] = ']';
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1)
        return 3;
    (void)fclose(f);
    const struct rlimit limit = {(rlim_t)pages * 4096 + bytes, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit))
        return 3;
    const tutti_status s = json_parse("long", text, used, &doc, &err);
    json_free(doc);
    return s == TUTTI_OK ? 0 : s == TUTTI_E_NOMEM ? 1 : 2;
}

/* From none at all to enough. */
START_TEST(memory_that_ends_is_an_error)
{
    int seen[2] = {0, 0};
    for (rlim_t bytes = 0; bytes <= 8u << 20; bytes += 256u << 10) {
        int status = 0;
        const pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            _exit(read_within(bytes));
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) < 2, "%ld bytes: status %x",
                      (long)bytes, (unsigned)status);
        seen[WEXITSTATUS(status)]++;
    }
    ck_assert_int_gt(seen[0], 0);
    ck_assert_int_gt(seen[1], 2);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_test(t, every_value_knows_its_line_and_path);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
    tcase_add_test(t, memory_that_ends_is_an_error);
#endif
    tcase_add_test(t, text_is_written_compactly_in_document_order);
    tcase_add_test(t, reals_are_written_so_that_they_come_back);
    tcase_add_test(t, bad_text_is_refused_with_its_line);
    tcase_add_test(t, a_byte_order_mark_is_skipped);
    tcase_add_test(t, nesting_beyond_64_is_refused);
    tcase_add_test(t, files_have_a_size_limit);
    tcase_add_loop_test(t, an_override_sets_one_value, 0, sizeof overrides / sizeof *overrides);
    tcase_add_test(t, an_override_keeps_the_document_well_formed);
    tcase_add_test(t, overridden_values_have_a_path_and_no_line);
    tcase_add_loop_test(t, an_override_that_does_not_fit_is_refused, 0,
                        sizeof bad_overrides / sizeof *bad_overrides);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
