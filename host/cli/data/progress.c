/* progress.c - how much is done, how fast, and what is left. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data/progress.h"

#include "base/monotonic.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR = 30 };

progress progress_begin(int64_t total)
{
    return (progress){
        .total = total, .began_s = monotonic_s(), .shows = isatty(fileno(stderr)) != 0};
}

void progress_add(progress *p, int64_t samples, bool fresh)
{
    char bar[BAR + 1];
    p->done += samples;
    p->fresh += fresh ? samples : 0;
    if (!p->shows)
        return;
    const double took = monotonic_s() - p->began_s;
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
