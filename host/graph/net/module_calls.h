/* module_calls.h - the calls of modules in one trace, with the values that they took and gave. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_MODULE_CALLS_H
#define HOST_GRAPH_NET_MODULE_CALLS_H

#include "tutti/graph.h"

#include <stdbool.h>

typedef struct module_call {
    tutti_module module;
    uint32_t nin, nout;
    uint32_t first; /* of its values: inputs, then outputs */
} module_call;

/* In the order in which calls end; zero to begin with. */
typedef struct module_calls {
    module_call *items;
    tutti_value *values;
    uint32_t count, capacity;
    uint32_t nvalues, values_capacity;
    bool failed; /* no memory */
} module_calls;

void module_calls_add(module_calls *c, tutti_module m, const tutti_value *in, uint32_t nin,
                      const tutti_value *out, uint32_t nout);
void module_calls_fini(module_calls *c);

#endif
