/* csv_log_test.c - the logger, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/logger.h"

#include <stdio.h>

START_TEST(a_value_is_a_line)
{
    char path[] = "/tmp/csv_log_XXXXXX", line[100];
    const tutti_named_value value = {"loss", 0.5};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    test_settings g;
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    test_settings_init(&g);
    test_settings_path(&g, "path", path);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_LOGGER, "csv_log", &g, NULL, &err),
                 err);
    const tutti_logger_v1 *logger = (const tutti_logger_v1 *)subject_query(&s, TUTTI_LOGGER_V1);
    ck_assert_ok(logger->metrics(s.self, &value, 1, 7, &err), err);
    subject_close(&s);
    FILE *file = fdopen(fd, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    ck_assert_str_eq(line, "7,loss,0.5\n");
    (void)fclose(file);
    (void)remove(path);
}
END_TEST

START_TEST(a_file_that_cannot_be_made_is_said)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_path(&g, "path", "/no/such/folder/x.csv");
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_LOGGER, "csv_log", &g, TUTTI_E_IO,
                           "csv_log: /no/such/folder/x.csv cannot be written: No such file or "
                           "directory");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("csv_log");
    TCase *t = tcase_create("csv_log");
    tcase_add_test(t, a_value_is_a_line);
    tcase_add_test(t, a_file_that_cannot_be_made_is_said);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
