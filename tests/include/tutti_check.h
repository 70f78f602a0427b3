/* tutti_check.h - what every Check program of this project shares. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_CHECK_H
#define TUTTI_CHECK_H

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { TUTTI_SKIPPED = 77 }; /* exit status that ctest counts as skipped */

/* Tests that said that they skip something, counted across Check's processes; set by tutti_run. */
static int *tutti_skips;

#define ck_assert_close(got, want, tolerance)                                                  \
    do {                                                                                       \
        const double got_ = (double)(got), want_ = (double)(want);                             \
        ck_assert_msg(fabs(got_ - want_) <= (double)(tolerance),                               \
                      "%s is %.9g, want %.9g (+-%g)", #got, got_, want_, (double)(tolerance)); \
    } while (0)

/* An error must be there, with this status and this whole sentence. */
#define ck_assert_error(error, status_, text_)                                                 \
    do {                                                                                       \
        ck_assert_str_eq((error).text, (text_));                                               \
        ck_assert_int_eq((error).status, (status_));                                           \
    } while (0)

#define ck_assert_ok(call, error)                                                              \
    ck_assert_msg((call) == TUTTI_OK, "%s: %s", #call, (error).text)

/* A test, or a part of it, cannot be tried here: prints why; the program then counts as skipped.  The
 * caller returns, or goes on with what can be tried. */
__attribute__((format(printf, 1, 2))) static inline void tutti_skip(const char *why, ...)
{
    va_list list;
    va_start(list, why);
    (void)fputs("skipped: ", stdout);
    (void)vprintf(why, list);
    (void)fputs("\n", stdout);
    (void)fflush(stdout);
    va_end(list);
    (void)__atomic_add_fetch(tutti_skips, 1, __ATOMIC_RELAXED);
}

/* Runs the suite; the result is main's exit status: 1 if a test failed, else 77 if one skipped, else 0. */
static inline int tutti_run(Suite *suite)
{
    tutti_skips = mmap(NULL, sizeof *tutti_skips, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tutti_skips == MAP_FAILED)
        return EXIT_FAILURE;
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (failed)
        return EXIT_FAILURE;
    return *tutti_skips ? TUTTI_SKIPPED : EXIT_SUCCESS;
}

#endif
