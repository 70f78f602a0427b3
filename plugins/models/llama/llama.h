/* llama.h - what the model and its layers share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_LLAMA_H
#define PLUGIN_LLAMA_H

/* The model goes on with sequences where the host can; an older one does without. */
#define TUTTI_USE_MINOR 1
#define TUTTI_MIN_MINOR 0
#include "../tokens.h"

enum { LLAMA_INIT_NORMAL = 2, LLAMA_MOST_SETTINGS = 20 }; /* of `linear`'s enum init */

/* A setting of a module, and what its child calls it; NULL: the same. */
typedef struct llama_setting {
    const char *name, *as;
} llama_setting;

/* Those of `settings`, which ends with a name of NULL, that are set in `params`: *ret[LLAMA_MOST_SETTINGS] for a child.
 * Returns how many. */
static inline uint32_t llama_settings(const tutti_params *params, const llama_setting *settings,
                                      tutti_attr *ret)
{
    uint32_t n = 0;
    for (; settings->name; settings++) {
        const tutti_param *p = tutti_param_find(params, settings->name);
        const char *as = settings->as ? settings->as : settings->name;
        if (p && p->type != TUTTI_PARAM_NULL)
            ret[n++] =
                p->type == TUTTI_PARAM_FLOAT ? tutti_attr_f(as, p->f) : tutti_attr_i(as, p->i);
    }
    return n;
}

extern const tutti_object llama_block, llama_mlp;

#endif
