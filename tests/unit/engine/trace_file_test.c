/* trace_file_test.c - units of files of traces: what holds, what goes aside, and where a checkpoint knows the file to end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/trace.h"
#include "tutti_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], path[128], aside[160];
static trace_file *f;
static tutti_error err;

static trace_file *opened(void)
{
    const trace_spec spec = {.file = path, .all = true};
    trace_file *file = NULL;
    ck_assert_ok(trace_file_open(&spec, "/", &file, &err), err);
    return file;
}

static void enter(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/tutti-traces-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/t", folder);
    (void)snprintf(aside, sizeof aside, "%s/t.undone", folder);
    err = (tutti_error)TUTTI_ERROR_INIT;
    f = opened();
}

static void closed(void)
{
    ck_assert_ok(trace_file_close(f, &err), err);
    f = NULL;
}

static void leave(void)
{
    closed();
    (void)unlink(path);
    (void)unlink(aside);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void take(const char *name)
{
    const tutti_trace t = {.struct_size = sizeof t, .name = name, .event_name = "e"};
    trace_file_take(f, &t);
}

/* Names of the lines of a file. */
static const char *names(const char *file)
{
    static char text[256];
    char line[128], name[32];
    FILE *lines = fopen(file, "re");
    text[0] = '\0';
    while (lines && fgets(line, sizeof line, lines))
        if (sscanf(line, "[STEP=0][%31[^/]", name) == 1)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", name);
    if (lines)
        (void)fclose(lines);
    return text;
}

/* The run goes on from a checkpoint with that mark. */
static void go_on(trace_mark mark)
{
    closed();
    f = opened();
    trace_file_set_mark(f, mark);
    ck_assert_ok(trace_file_rewind(f, &err), err);
}

START_TEST(a_mark_is_where_the_first_open_unit_begins)
{
    take("held");
    const trace_mark held = trace_file_mark(f);
    trace_file_open_unit(f, TRACE_BATCH);
    take("batch");
    trace_file_open_unit(f, TRACE_EVALUATION);
    take("evaluation");
    const trace_mark amid = trace_file_mark(f);
    ck_assert_int_eq(amid.bytes, held.bytes);
    ck_assert_uint_eq(amid.hash, held.hash);
    go_on(amid);
    ck_assert_str_eq(names(path), "held ");
    ck_assert_str_eq(names(aside), "batch evaluation ");
}
END_TEST

START_TEST(a_mark_is_the_end_where_no_unit_is_open)
{
    trace_file_open_unit(f, TRACE_BATCH);
    take("batch");
    trace_file_close_unit(f, TRACE_BATCH);
    const trace_mark mark = trace_file_mark(f);
    take("more");
    go_on(mark);
    ck_assert_str_eq(names(path), "batch ");
    ck_assert_str_eq(names(aside), "more ");
}
END_TEST

START_TEST(what_is_taken_back_is_never_before_a_mark)
{
    take("held");
    trace_file_open_unit(f, TRACE_BATCH);
    take("end");
    const trace_mark mark = trace_file_mark(f);
    take("rest");
    ck_assert_ok(trace_file_take_back(f, TRACE_BATCH, &err), err);
    ck_assert_str_eq(names(aside), "end rest ");
    go_on(mark);
    ck_assert_str_eq(names(path), "held ");
}
END_TEST

START_TEST(a_file_of_two_has_no_units)
{
    trace_file *second = opened();
    trace_file_share(second, f);
    ck_assert(trace_file_is_first(f));
    ck_assert(!trace_file_is_first(second));
    trace_file_open_unit(f, TRACE_BATCH);
    take("batch");
    const trace_mark mark = trace_file_mark(f);
    ck_assert_ok(trace_file_take_back(f, TRACE_BATCH, &err), err);
    ck_assert_ok(trace_file_close(second, &err), err);
    go_on(mark);
    ck_assert_str_eq(names(path), "batch ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("trace_file");
    TCase *t = tcase_create("trace_file");
    tcase_add_checked_fixture(t, enter, leave);
    tcase_add_test(t, a_mark_is_where_the_first_open_unit_begins);
    tcase_add_test(t, a_mark_is_the_end_where_no_unit_is_open);
    tcase_add_test(t, what_is_taken_back_is_never_before_a_mark);
    tcase_add_test(t, a_file_of_two_has_no_units);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
