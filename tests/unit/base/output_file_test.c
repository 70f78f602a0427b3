/* output_file_test.c - files that are replaced whole, links that stay, and what is written as it is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output_file.h"
#include "tutti_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[128], other[128];
static output_file f;
static tutti_error err;

static void enter(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/tutti-output-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    (void)snprintf(other, sizeof other, "%s/other", folder);
    err = (tutti_error)TUTTI_ERROR_INIT;
}

/* Fails where anything else is left. */
static void leave(void)
{
    (void)unlink(path);
    (void)unlink(other);
    ck_assert_int_eq(rmdir(folder), 0);
}

static const char *text_of(const char *name)
{
    static char text[64];
    FILE *file = fopen(name, "re");
    ck_assert_ptr_nonnull(file);
    const size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    (void)fclose(file);
    return text;
}

static void write_text(const char *text, bool keep)
{
    ck_assert_ok(output_file_open(path, "no reason", &f, &err), err);
    ck_assert_int_ge(fputs(text, f.file), 0);
    ck_assert_ok(output_file_close(&f, keep, &err), err);
}

START_TEST(a_file_is_replaced_whole_or_stays)
{
    write_text("one", true);
    write_text("two", false);
    ck_assert_str_eq(text_of(path), "one");
    write_text("three", true);
    ck_assert_str_eq(text_of(path), "three");
}
END_TEST

START_TEST(a_write_that_fails_is_told_and_changes_nothing)
{
    char want[256];
    write_text("one", true);
    ck_assert_ok(output_file_open(path, NULL, &f, &err), err);
    (void)snprintf(want, sizeof want, "%s: Bad file descriptor", path);
    ck_assert_int_eq(dup2(open(path, O_RDONLY | O_CLOEXEC), fileno(f.file)), fileno(f.file));
    (void)fputs("two", f.file);
    ck_assert_int_eq(output_file_close(&f, true, &err), TUTTI_E_IO);
    ck_assert_str_eq(err.text, want);
    ck_assert_str_eq(text_of(path), "one");
}
END_TEST

START_TEST(a_link_stays_and_what_it_names_is_written)
{
    struct stat st;
    ck_assert_int_eq(symlink("other", path), 0);
    write_text("new", true);
    ck_assert(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
    ck_assert_str_eq(text_of(other), "new");
    write_text("newer", true);
    ck_assert(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
    ck_assert(lstat(other, &st) == 0 && S_ISREG(st.st_mode));
    ck_assert_str_eq(text_of(other), "newer");
}
END_TEST

START_TEST(links_in_a_circle_are_refused)
{
    char want[256];
    ck_assert_int_eq(symlink("other", path), 0);
    ck_assert_int_eq(symlink("file", other), 0);
    (void)snprintf(want, sizeof want, "%s: Too many levels of symbolic links", path);
    ck_assert_int_eq(output_file_open(path, NULL, &f, &err), TUTTI_E_IO);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(a_pipe_is_written_as_it_is)
{
    char text[8] = "";
    struct stat st;
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert(output_file_is_stream(path));
    const int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_ok(output_file_open(path, NULL, &f, &err), err);
    ck_assert_ptr_null(f.part);
    ck_assert_int_ge(fputs("row", f.file), 0);
    ck_assert_ok(output_file_close(&f, true, &err), err);
    ck_assert_int_eq(read(reader, text, sizeof text - 1), 3);
    ck_assert_str_eq(text, "row");
    ck_assert(lstat(path, &st) == 0 && S_ISFIFO(st.st_mode));
    (void)close(reader);
}
END_TEST

START_TEST(a_pipe_is_refused_where_a_file_is_needed)
{
    char want[256];
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* which nobody reads */
    (void)snprintf(want, sizeof want, "%s: is no regular file; it must be sought in", path);
    ck_assert_int_eq(output_file_open(path, "it must be sought in", &f, &err),
                     TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(a_folder_is_refused)
{
    char want[256];
    (void)snprintf(want, sizeof want, "%s: Is a directory", folder);
    ck_assert_int_eq(output_file_open(folder, NULL, &f, &err), TUTTI_E_IO);
    ck_assert_str_eq(err.text, want);
}
END_TEST

/* Nothing is opened: a program that is wrong would replace the name. */
START_TEST(names_of_descriptors_are_known)
{
    static const char *const names[] = {"/dev/stdout", "/dev/stderr", "/dev/fd/7",
                                        "/proc/self/fd/7"};
    char *target;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        ck_assert(output_file_is_stream(names[k]));
        ck_assert_ok(output_file_target(names[k], &target, &err), err);
        ck_assert_str_eq(target, names[k]);
        free(target);
    }
    ck_assert(!output_file_is_stream("/dev/fd/7x"));
    ck_assert(!output_file_is_stream(path));
}
END_TEST

START_TEST(a_descriptor_is_written_where_it_is)
{
    char name[64];
    write_text("one ", true);
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ck_assert_int_eq(write(fd, "two ", 4), 4);
    ck_assert_ok(output_file_open(name, NULL, &f, &err), err);
    ck_assert_int_ge(fputs("three", f.file), 0);
    ck_assert_ok(output_file_close(&f, true, &err), err);
    ck_assert_int_eq(write(fd, " four", 5), 5);
    (void)close(fd);
    ck_assert_str_eq(text_of(path), "one two three four");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(output_file_open(name, NULL, &f, &err), TUTTI_E_IO);
    ck_assert_ptr_nonnull(strstr(err.text, ": Bad file descriptor"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("output_file");
    TCase *t = tcase_create("output_file");
    tcase_add_checked_fixture(t, enter, leave);
    tcase_add_test(t, a_file_is_replaced_whole_or_stays);
    tcase_add_test(t, a_write_that_fails_is_told_and_changes_nothing);
    tcase_add_test(t, a_link_stays_and_what_it_names_is_written);
    tcase_add_test(t, links_in_a_circle_are_refused);
    tcase_add_test(t, a_pipe_is_written_as_it_is);
    tcase_add_test(t, a_pipe_is_refused_where_a_file_is_needed);
    tcase_add_test(t, a_folder_is_refused);
    tcase_add_test(t, names_of_descriptors_are_known);
    tcase_add_test(t, a_descriptor_is_written_where_it_is);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
