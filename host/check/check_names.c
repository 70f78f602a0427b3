/* check_names.c - what checks are called, and what each of them asks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"

static const char *const table[][2] = {
#define CHECK_X(name, id, text) {id, text},
    CHECKS(CHECK_X)
#undef CHECK_X
};

const char *check_name(int check)
{
    return table[check][0];
}

const char *check_text(int check)
{
    return table[check][1];
}
