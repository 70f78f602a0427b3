/* whole_io_test.c - reads and writes that are interrupted, do a part of their work, or find the file's end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/whole_io.h"
#include "tutti_check.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static int interruptions; /* before a call does its work */
static int calls;
static char file[8];

static bool interrupted(void)
{
    calls++;
    if (interruptions == 0)
        return false;
    interruptions--;
    errno = EINTR;
    return true;
}

/* In the C library's place: a file of 8 bytes that gives and takes 3 at a time. */
ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    if (interrupted())
        return -1;
    const size_t left = at < 8 ? (size_t)(8 - at) : 0, want = size < 3 ? size : 3;
    const size_t n = left < want ? left : want;
    memcpy(to, file + at, n);
    return (ssize_t)n;
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
    if (interrupted())
        return -1;
    const size_t left = at < 8 ? (size_t)(8 - at) : 0, want = size < 3 ? size : 3;
    const size_t n = left < want ? left : want;
    memcpy(file + at, from, n);
    return (ssize_t)n;
}

static void begin(int count)
{
    interruptions = count;
    calls = 0;
    for (int k = 0; k < 8; k++)
        file[k] = (char)('a' + k);
}

START_TEST(parts_and_interruptions_end_in_the_whole)
{
    char some[8];
    begin(999);
    ck_assert_uint_eq(whole_read(9, some, 8, 0), 8);
    ck_assert_int_eq(memcmp(some, "abcdefgh", 8), 0);
    begin(999);
    ck_assert_uint_eq(whole_write(9, "ABCDEFG", 7, 1), 7);
    ck_assert_int_eq(memcmp(file, "aABCDEFG", 8), 0);
}
END_TEST

START_TEST(a_call_that_is_interrupted_for_ever_has_failed)
{
    char some[8];
    begin(1 << 30);
    ck_assert_uint_eq(whole_read(9, some, 8, 0), 0);
    ck_assert_int_eq(errno, EINTR);
    ck_assert_int_eq(calls, 1000);
    begin(1 << 30);
    ck_assert_uint_eq(whole_write(9, some, 8, 0), 0);
    ck_assert_int_eq(errno, EINTR);
    ck_assert_int_eq(calls, 1000);
}
END_TEST

START_TEST(the_end_of_a_file_is_no_error)
{
    char some[8];
    begin(0);
    ck_assert_uint_eq(whole_read(9, some, 8, 4), 4);
    ck_assert_int_eq(errno, 0);
    ck_assert_uint_eq(whole_write(9, some, 4, 6), 2);
    ck_assert_int_eq(errno, 0);
    ck_assert_uint_eq(whole_read(9, some, 0, 0), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("whole_io");
    TCase *t = tcase_create("whole_io");
    tcase_add_test(t, parts_and_interruptions_end_in_the_whole);
    tcase_add_test(t, a_call_that_is_interrupted_for_ever_has_failed);
    tcase_add_test(t, the_end_of_a_file_is_no_error);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
