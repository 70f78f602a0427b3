/* progress.c - how much is done, how fast, and what is left. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

progress progress_begin(int64_t total)
{
    return (progress){.total = total, .began_s = now_s(), .shows = isatty(fileno(stderr)) != 0};
}

void progress_add(progress *p, int64_t samples, bool fresh)
{
    char bar[BAR + 1];
    p->done += samples;
    p->fresh += fresh ? samples : 0;
    if (!p->shows)
        return;
    const double took = now_s() - p->began_s;
    const double speed = took > 0 ? (double)p->fresh / took : 0;
    const int full = (int)(BAR * p->done / p->total);
    for (int k = 0; k < BAR; k++)
        bar[k] = k < full ? '#' : '-';
    bar[BAR] = '\0';
    (void)fprintf(stderr, "\r[%s] %lld of %lld samples, %.0f a second, %.0f s left  ", bar,
                  (long long)p->done, (long long)p->total, speed,
                  speed > 0 ? (double)(p->total - p->done) / speed : 0);
}

void progress_end(const progress *p)
{
    if (p->shows)
        (void)fprintf(stderr, "\n");
}
