/* middle.h - where the window in the middle lies, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CENTER_CROP_MIDDLE_H
#define CENTER_CROP_MIDDLE_H

#include "tutti/cuda_code.h"

/* Where the window begins along one side: in the image, and in what is made. */
typedef struct middle_begin {
    int64_t from;
    int64_t to;
} middle_begin;

TUTTI_SHARED middle_begin middle_of(int64_t have, int64_t want)
{
    const int64_t spare = have - want, half = spare / 2;
    middle_begin b;
    b.to = spare < 0 ? -spare / 2 : 0;
    /* halves go to the even number, as Python rounds them */
    b.from = spare < 0 ? 0 : half + (spare % 2 && half % 2);
    return b;
}

/* The row or column of the image that comes to `at` < want; -1 outside of it. */
TUTTI_SHARED int64_t middle_source(int64_t at, int64_t have, int64_t want)
{
    const middle_begin b = middle_of(have, want);
    const int64_t from = at - b.to + b.from;
    return at < b.to || from >= have ? -1 : from;
}

#endif
