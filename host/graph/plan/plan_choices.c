/* plan_choices.c - by which libraries the steps of a plan run, and which run without one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_internal.h"

#include <string.h>

/* The same library, or none for the same reason. */
static bool alike(const tutti_op_choice *a, const tutti_op_choice *b)
{
    return a->refused == b->refused && strcmp(a->library, b->library) == 0 &&
           (*a->library || strcmp(a->text, b->text) == 0);
}

static uint32_t add(const program *p, plan_choice *choices, uint32_t n, uint32_t most)
{
    for (uint32_t k = 0; p && k < program_nsteps(p); k++) {
        const tutti_op_choice *c = program_choice(p, k);
        uint32_t at = 0;
        while (c && at < n && !alike(choices[at].first, c))
            at++;
        if (!c || at == most)
            continue;
        if (at == n)
            choices[n++] = (plan_choice){c, program_op(p, k), program_scope(p, k), 0};
        choices[at].steps++;
    }
    return n;
}

uint32_t plan_choices(const plan *p, plan_choice *ret_choices, uint32_t most)
{
    const uint32_t n = add(p->model_graph->compiled.program, ret_choices, 0, most);
    return add(p->loss_graph.compiled.program, ret_choices, n, most);
}
