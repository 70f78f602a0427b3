/* faults_test.c - lists of sentences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/faults.h"
#include "tutti_check.h"

START_TEST(sentences_are_headed_by_file_line_and_path)
{
    static const char text[] = "{\n\"train\": {\n\"lr\": 3}}";
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    faults *f = faults_create();
    ck_assert_ok(json_parse("run.json", text, strlen(text), &doc, &err), err);
    const json_node *lr = json_get(json_get(json_root(doc), "train"), "lr");
    faults_add(f, lr, "is %d", 3);
    faults_add(f, json_root(doc), "is empty");
    faults_add(f, NULL, "nothing is %s", "right");
    ck_assert_ok(json_override(doc, "train.lr", "4", &err), err);
    faults_add(f, lr, "is %d", 4);
    ck_assert_uint_eq(faults_count(f), 4);
    ck_assert_str_eq(faults_text(f, 0), "run.json:3: train.lr: is 3");
    ck_assert_str_eq(faults_text(f, 1), "run.json:1: is empty");
    ck_assert_str_eq(faults_text(f, 2), "nothing is right");
    ck_assert_str_eq(faults_text(f, 3), "run.json: train.lr: is 4");
    faults_destroy(f);
    faults_destroy(NULL);
    json_free(doc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("faults");
    TCase *t = tcase_create("faults");
    tcase_add_test(t, sentences_are_headed_by_file_line_and_path);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
