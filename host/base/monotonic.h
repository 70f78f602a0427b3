/* monotonic.h - the clock that durations are measured by: it never goes back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_MONOTONIC_H
#define HOST_BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline int64_t monotonic_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double monotonic_s(void)
{
    return 1e-9 * (double)monotonic_ns();
}

#endif
