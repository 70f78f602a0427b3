/* decimate.h - long series made short, so that no peak is lost. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_DECIMATE_H
#define HOST_REPORT_DECIMATE_H

#include "report/history.h"

/* Indices of the points that stay, in order: all of them where there are at most 2 * `parts`, else of each of `parts` equal
 * parts the least and the greatest value, and the first of one without a number; the first and the last point
 * always.  `ret` has room for 2 * `parts` + 2.  Returns how many. */
size_t decimate(const series *s, size_t parts, size_t *ret);
/* Of each of `parts` equal parts the means of step, time and value, of the values that are numbers; the three have room for
 * `parts`.  Returns how many parts have a number. */
size_t decimate_means(const series *s, size_t parts, double *ret_step, double *ret_time,
                      double *ret_value);

#endif
