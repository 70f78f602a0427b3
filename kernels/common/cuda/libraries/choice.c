/* choice.c - what a kernel tells of its choice. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/choice.h"

#include <inttypes.h>
#include <stdio.h>

const char *cuda_version_text(uint64_t version, char text[CUDA_VERSION_TEXT])
{
    (void)snprintf(text, CUDA_VERSION_TEXT, "%u.%u.%u", (unsigned)(version / 10000 % 1000),
                   (unsigned)(version / 100 % 100), (unsigned)(version % 100));
    return text;
}

static tutti_op_choice *choice_of(const tutti_op_call *c)
{
    return TUTTI_HAS(c, tutti_op_call, choice) ? c->choice : NULL;
}

void cuda_tell_library(const tutti_op_call *c, const char *library, uint64_t version,
                       const char *text)
{
    tutti_op_choice *choice = choice_of(c);
    char number[CUDA_VERSION_TEXT];
    if (!choice)
        return;
    choice->refused = 0;
    (void)snprintf(choice->library, sizeof choice->library, "%s %s", library,
                   cuda_version_text(version, number));
    (void)snprintf(choice->text, sizeof choice->text, "%.*s", TUTTI_CHOICE_TEXT - 1, text);
}

static void tell(tutti_op_choice *choice, int32_t refused, const char *why)
{
    if (!choice)
        return;
    choice->refused = refused;
    *choice->library = 0;
    (void)snprintf(choice->text, sizeof choice->text, "%.*s", TUTTI_CHOICE_TEXT - 1, why);
}

void cuda_tell_own(const tutti_op_call *c, const char *why)
{
    tell(choice_of(c), 0, why);
}

void cuda_tell_refused(const tutti_op_call *c, const tutti_error *err)
{
    tell(choice_of(c), 1, err->text);
}
