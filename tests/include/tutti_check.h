/* tutti_check.h - what every Check program of this project shares. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_CHECK_H
#define TUTTI_CHECK_H

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Runs the suite; the result is main's exit status. */
static inline int tutti_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
