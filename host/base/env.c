/* env.c - the environment variables that the search for plugins and device code obeys; a set-uid program ignores them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <stddef.h>
#include <stdlib.h>

const char *env_get(int variable, const char **ret_ignored)
{
    static const char *const names[] = {
#define ENV_X(name, variable, text) variable,
        ENV_VARIABLES(ENV_X)
#undef ENV_X
    };
    const char *text = secure_getenv(names[variable]);
    *ret_ignored = !text && getenv(names[variable]) ? names[variable] : NULL;
    return text && *text ? text : NULL;
}
