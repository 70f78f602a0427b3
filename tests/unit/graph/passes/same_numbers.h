/* same_numbers.h - a graph before and after a pass, by the interpreter. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_GRAPH_PASSES_SAME_NUMBERS_H
#define TESTS_UNIT_GRAPH_PASSES_SAME_NUMBERS_H

#include "graph/ir/interpreter.h"
#include "toy_model.h"

#include <math.h>

/* What every input and weight holds. */
static inline void load_numbers(interpreter *it, const graph *g)
{
    for (tutti_value v = 1; v < graph_nvalues(g); v++) {
        const graph_value *x = graph_value_at(g, v);
        if (x->kind != VALUE_INPUT && x->kind != VALUE_WEIGHT)
            continue;
        for (int64_t k = 0; k < tutti_numel(&x->desc); k++)
            interpreter_value(it, v)[k] = sin((double)(x->index * 31u) + 1.7 * (double)k);
    }
}

/* kept[0..nkept) of `from` have the same dtypes in `to`, where map[v] is what v was, and the same numbers, as far as
 * `tolerance`, before anything is rounded. */
static inline void same_numbers(const graph *from, const graph *to, const tutti_value *kept,
                                uint32_t nkept, const tutti_value *map, double tolerance)
{
    tutti_error err = TUTTI_ERROR_INIT;
    interpreter *a, *b;
    ck_assert_ok(interpreter_create(from, &a, &err), err);
    ck_assert_ok(interpreter_create(to, &b, &err), err);
    load_numbers(a, from);
    load_numbers(b, to);
    ck_assert_ok(interpreter_run(a, 0, graph_nnodes(from), &toy_step, &err), err);
    ck_assert_ok(interpreter_run(b, 0, graph_nnodes(to), &toy_step, &err), err);
    for (uint32_t j = 0; j < nkept; j++) {
        const tutti_value v = kept[j];
        ck_assert_uint_ne(map[v], 0);
        ck_assert_int_eq(graph_value_at(to, map[v])->desc.dtype,
                         graph_value_at(from, v)->desc.dtype);
        for (int64_t k = 0, n = tutti_numel(&graph_value_at(from, v)->desc); k < n; k++)
            ck_assert_close(interpreter_value(b, map[v])[k], interpreter_value(a, v)[k],
                            tolerance);
    }
    interpreter_destroy(a);
    interpreter_destroy(b);
}

#endif
