/* table_test.c - rows of CSV, TSV and JSON lines as numbers and classes, and rows that are refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.class_names/1 */
#include "../dataset_check.h"

#include <string.h>

enum { MOST = 8 };

static shelf s;
static test_settings g;
static tutti_error err;

static void settings(const char *name, const char *data, const char *const *inputs, uint32_t n,
                     const char *const *targets, uint32_t m)
{
    test_settings_init(&g);
    test_settings_path(&g, "path", shelf_file(&s, name, data, strlen(data)));
    test_settings_enum(&g, "format", "auto", 0);
    test_settings_strings(&g, "inputs", inputs, n);
    test_settings_strings(&g, "targets", targets, m);
    test_settings_enum(&g, "target_type", "number", 0);
    test_settings_null(&g, "labels");
    test_settings_null(&g, "missing");
}

static const char *const a_b[] = {"a", "b"}, *const y[] = {"y"}, *const y_a[] = {"y", "a"};

static void open_rows(int64_t rows, const char *input, const char *target)
{
    ck_assert_ok(shelf_open(&s, "table", &g, &err), err);
    ck_assert_int_eq(s.info.samples, rows);
    ck_assert_uint_eq(s.info.ncolumns, target ? 2 : 1);
    shelf_shape(&s.info.columns[0].desc, input);
    ck_assert_str_eq(s.info.columns[0].name, "input");
    if (target)
        shelf_shape(&s.info.columns[1].desc, target);
}

/* A row's numbers, of inputs and then of targets. */
static void expect(int64_t row, const float *want)
{
    float got[2][MOST];
    void *const data[TUTTI_MAX_COLUMNS] = {got[0], got[1]};
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    ck_assert_ok(shelf_read(&s, row, t, data, sizeof *got, &err), err);
    for (uint32_t c = 0; c < s.info.ncolumns; c++)
        for (int64_t k = 0; k < tutti_numel(&t[c].desc); k++, want++)
            ck_assert_msg(got[c][k] == *want, "row %lld, %s[%lld] is %g, want %g",
                          (long long)row, s.info.columns[c].name, (long long)k,
                          (double)got[c][k], (double)*want);
}

static void refused(const char *sentence)
{
    shelf_refused(&s, "table", &g, err.status, sentence);
}

/* ---- rows ---- */

START_TEST(fields_that_are_no_target_are_the_input)
{
    static const float second[] = {-2.5f, 1e-3f, 7};
    settings("t.csv",
             "\xef\xbb\xbf"
             "a,y,b\r\n1,2,3\r\n\" -2.5 \",7, 1e-3\r\n",
             NULL, 0, y, 1);
    open_rows(2, "F32 (2)", "F32 ()");
    expect(1, second);
    subject_close(&s.subject);
}
END_TEST

START_TEST(fields_that_are_named_have_that_order)
{
    static const float first[] = {3, 2, 1};
    static const char *const b[] = {"b"};
    settings("t.tsv", "a\ty\tb\tword\n1\t2\t3\tx\n", b, 1, y_a, 2);
    open_rows(1, "F32 (1)", "F32 (2)");
    expect(0, first);
    subject_close(&s.subject);
}
END_TEST

START_TEST(json_lines_hold_numbers_booleans_and_lists)
{
    static const float first[] = {1, 2, 1, 0.5f}, second[] = {3, 4, 0, -9};
    settings("t.jsonl",
             "{\"a\": [1, \"2\"], \"b\": true, \"y\": 0.5}\n{\"y\": -9, \"a\": [3, 4], \"b\": "
             "false}\n",
             NULL, 0, y, 1);
    open_rows(2, "F32 (3)", "F32 ()");
    expect(0, first);
    expect(1, second);
    subject_close(&s.subject);
}
END_TEST

START_TEST(rows_may_have_no_target)
{
    static const float first[] = {1, 2};
    settings("t.csv", "a,b\n1,2\n", a_b, 2, NULL, 0);
    open_rows(1, "F32 (2)", NULL);
    expect(0, first);
    subject_close(&s.subject);
}
END_TEST

START_TEST(labels_are_classes)
{
    static const int32_t want[] = {1, 0, 1};
    settings("t.csv", "a,y\n1,dog\n2,cat\n3,dog\n", NULL, 0, y, 1);
    test_settings_enum(&g, "target_type", "class", 1);
    open_rows(3, "F32 (1)", "I32 ()");
    ck_assert_int_eq(s.info.columns[1].classes, 2);
    for (int64_t k = 0; k < 3; k++) {
        float in[MOST];
        int32_t class[MOST];
        void *const data[TUTTI_MAX_COLUMNS] = {in, class};
        tutti_tensor t[TUTTI_MAX_COLUMNS];
        ck_assert_ok(shelf_read(&s, k, t, data, sizeof in, &err), err);
        ck_assert_int_eq(*class, want[k]);
        ck_assert(in[0] == (float)(k + 1));
    }
    const tutti_class_names_v1 *names = subject_query(&s.subject, TUTTI_CLASS_NAMES_V1);
    ck_assert_ptr_nonnull(names);
    ck_assert_str_eq(names->name(s.subject.self, "target", 0), "cat");
    subject_close(&s.subject);
}
END_TEST

START_TEST(whole_numbers_are_classes_themselves)
{
    settings("t.jsonl", "{\"a\": 1, \"y\": 2}\n{\"a\": 1, \"y\": 0}\n", NULL, 0, y, 1);
    test_settings_enum(&g, "target_type", "class", 1);
    open_rows(2, "F32 (1)", "I32 ()");
    ck_assert_int_eq(s.info.columns[1].classes, 3);
    subject_close(&s.subject);
}
END_TEST

START_TEST(what_is_missing_counts_as_asked)
{
    static const float first[] = {-1, 2, 5}, second[] = {3, -1, 6};
    settings("t.csv", "a,b,y\n,2,5\n3, ,6\n", NULL, 0, y, 1);
    test_settings_float(&g, "missing", -1);
    open_rows(2, "F32 (2)", "F32 ()");
    expect(0, first);
    expect(1, second);
    subject_close(&s.subject);
    settings("t.csv", "a,b,y\n1,2,5\n3,,6\n", NULL, 0, y, 1);
    err.status = TUTTI_E_FORMAT;
    refused("$/t.csv:3: the field \"b\" is empty, want a number");
    settings("t.csv", "a,b,y\n1,2,\n", NULL, 0, y, 1);
    test_settings_float(&g, "missing", 0);
    refused("$/t.csv:2: the field \"y\" is empty, want a number");
}
END_TEST

START_TEST(rows_that_hold_no_numbers_are_refused)
{
    static const struct {
        const char *name, *data, *sentence;
        tutti_status status;
    } cases[] = {
        {"t.csv", "a,y\nred,1\n",
         "$/t.csv:2: the field \"a\" is \"red\", want a number; texts are read by the data set "
         "documents",
         TUTTI_E_FORMAT},
        {"t.csv", "a,y\n1,cat\n",
         "$/t.csv:2: the field \"y\" is \"cat\", want a number, or \"target_type\": \"class\"",
         TUTTI_E_FORMAT},
        {"t.csv", "a,y\n1.5.2,1\n",
         "$/t.csv:2: the field \"a\" is \"1.5.2\", want a number; texts are read by the data "
         "set documents",
         TUTTI_E_FORMAT},
        {"t.csv", "a,y\n0x10,1\n",
         "$/t.csv:2: the field \"a\" is \"0x10\", want a number; texts are read by the data "
         "set documents",
         TUTTI_E_FORMAT},
        {"t.csv", "a,y\nnan,1\n", "$/t.csv:2: the field \"a\" is no number that f32 holds",
         TUTTI_E_RANGE},
        {"t.csv", "a,y\n1e39,1\n", "$/t.csv:2: the field \"a\" is no number that f32 holds",
         TUTTI_E_RANGE},
        {"t.csv", "a,y\n1\n", "$/t.csv:2: has 1 fields, the first line has 2", TUTTI_E_FORMAT},
        {"t.csv", "a,a,y\n1,2,3\n", "$/t.csv:1: two fields are called \"a\"", TUTTI_E_FORMAT},
        {"t.csv", "a,b\n1,2\n", "$/t.csv:2: the field \"y\" is missing", TUTTI_E_FORMAT},
        {"t.csv", "a,y\n", "$/t.csv: has no rows", TUTTI_E_FORMAT},
        {"t.csv", "y\n1\n", "$/t.csv: has no field that is no target", TUTTI_E_FORMAT},
        {"t.jsonl", "{\"a\": [1, 2], \"y\": 1}\n{\"a\": [1], \"y\": 1}\n",
         "$/t.jsonl:2: the field \"a\" has 1 numbers, want 2", TUTTI_E_SHAPE},
        {"t.jsonl", "{\"a\": [], \"y\": 1}\n",
         "$/t.jsonl:1: the field \"a\" has 0 numbers, want 1", TUTTI_E_SHAPE},
        {"t.jsonl", "{\"a\": {\"b\": 1}, \"y\": 1}\n",
         "$/t.jsonl:1: the field \"a\" is neither a number nor a list of numbers",
         TUTTI_E_FORMAT},
        {"t.jsonl", "{\"a\": 1, \"y\": 1}\n{\"a\": 1, \"b\": 3, \"y\": 1}\n",
         "$/t.jsonl:2: has 3 fields, the first row has 2; \"inputs\" names those that are read",
         TUTTI_E_FORMAT},
        {"t.txt", "a,y\n1,2\n",
         "$/t.txt: its ending is none of .jsonl, .json, .ndjson, .csv and .tsv; set \"format\"",
         TUTTI_E_ARG},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        settings(cases[k].name, cases[k].data, NULL, 0, y, 1);
        err.status = cases[k].status;
        refused(cases[k].sentence);
    }
}
END_TEST

START_TEST(settings_that_contradict_are_refused)
{
    static const char *const twice[] = {"a", "a"};
    err.status = TUTTI_E_ARG;
    settings("t.csv", "a,b,y\n1,2,3\n", a_b, 2, y_a, 2);
    refused("table: the field \"a\" is in inputs and in targets");
    settings("t.csv", "a,b,y\n1,2,3\n", twice, 2, y, 1);
    refused("table: inputs names \"a\" twice");
    settings("t.csv", "a,b,y\n1,2,3\n", NULL, 0, y_a, 2);
    test_settings_enum(&g, "target_type", "class", 1);
    refused("table: target_type is class, want one field in \"targets\", not 2");
    settings("t.csv", "a,b,y\n1,2,3\n", NULL, 0, y, 1);
    test_settings_path(&g, "labels", "/labels.txt");
    refused("table: labels are of \"target_type\": \"class\"");
    settings("t.csv", "a,y\n1,\n", NULL, 0, y, 1);
    test_settings_enum(&g, "target_type", "class", 1);
    err.status = TUTTI_E_FORMAT;
    refused("$/t.csv:2: the field \"y\" is empty, want a label");
}
END_TEST

static void start(void)
{
    shelf_start(&s);
}

static void stop(void)
{
    folder_remove(s.folder);
}

int main(void)
{
    Suite *suite = suite_create("table");
    TCase *c = tcase_create("table");
    tcase_add_checked_fixture(c, start, stop);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, fields_that_are_no_target_are_the_input);
    tcase_add_test(c, fields_that_are_named_have_that_order);
    tcase_add_test(c, json_lines_hold_numbers_booleans_and_lists);
    tcase_add_test(c, rows_may_have_no_target);
    tcase_add_test(c, labels_are_classes);
    tcase_add_test(c, whole_numbers_are_classes_themselves);
    tcase_add_test(c, what_is_missing_counts_as_asked);
    tcase_add_test(c, rows_that_hold_no_numbers_are_refused);
    tcase_add_test(c, settings_that_contradict_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
