/* decimate.c - long series made short, so that no peak is lost. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/decimate.h"

#include <math.h>
#include <stdbool.h>

static void keep(size_t *list, size_t *n, size_t k)
{
    if (*n == 0 || list[*n - 1] < k)
        list[(*n)++] = k;
}

/* Of the points [first, end) the least and the greatest, in their order. */
static void keep_extremes(const series *s, size_t first, size_t end, size_t *list, size_t *n)
{
    size_t low = first, high = first;
    bool found = false;
    for (size_t k = first; k < end; k++) {
        if (!isfinite(s->value[k]))
            continue;
        low = !found || s->value[k] < s->value[low] ? k : low;
        high = !found || s->value[k] > s->value[high] ? k : high;
        found = true;
    }
    keep(list, n, low < high ? low : high);
    keep(list, n, low < high ? high : low);
}

size_t decimate(const series *s, size_t parts, size_t *ret)
{
    size_t n = 0;
    if (s->count <= 2 * parts) {
        for (; n < s->count; n++)
            ret[n] = n;
        return n;
    }
    keep(ret, &n, 0);
    for (size_t p = 0; p < parts; p++)
        keep_extremes(s, s->count * p / parts, s->count * (p + 1) / parts, ret, &n);
    keep(ret, &n, s->count - 1);
    return n;
}

size_t decimate_means(const series *s, size_t parts, double *ret_step, double *ret_time,
                      double *ret_value)
{
    size_t n = 0;
    for (size_t p = 0; p < parts; p++) {
        double step = 0, time = 0, value = 0;
        size_t have = 0;
        for (size_t k = s->count * p / parts; k < s->count * (p + 1) / parts; k++) {
            if (!isfinite(s->value[k]))
                continue;
            step += s->step[k];
            time += s->time[k];
            value += s->value[k];
            have++;
        }
        if (!have)
            continue;
        ret_step[n] = step / (double)have;
        ret_time[n] = time / (double)have;
        ret_value[n++] = value / (double)have;
    }
    return n;
}
