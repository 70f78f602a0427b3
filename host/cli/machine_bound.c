/* machine_bound.c - the triad and a large product, measured here and now. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/machine_bound.h"

#include "base/monotonic.h"
#include "graph/program/program.h"
#include "graph/runtime/host_memory.h"
#include "tutti/ops.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, TRIAD = 1 << 24 };

static double less(double a, double b)
{
    return a < b ? a : b;
}

void machine_triad(float *restrict a, const float *restrict b, const float *restrict c,
                   int64_t n, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < n; k++)
        a[k] = b[k] + 0.5f * c[k];
}

tutti_status machine_measure_bytes(int threads, double *ret_bytes, tutti_error *err)
{
    const size_t bytes = sizeof(float) * TRIAD;
    float *abc = host_memory_alloc(3 * bytes);
    double best = 1e9;
    if (!abc)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the triad");
    memset(abc, 0, 3 * bytes); /* pages that nobody has written are one and the same */
    for (int k = 0; k < ROUNDS; k++) {
        const double start = monotonic_s();
        machine_triad(abc, abc + TRIAD, abc + 2 * (size_t)TRIAD, TRIAD, threads);
        best = less(monotonic_s() - start, best);
    }
    free(abc);
    *ret_bytes = 16.0 * TRIAD / best;
    return TUTTI_OK;
}

static tutti_status measure_product(program *p, uint64_t arena_bytes, double *ret_flops,
                                    tutti_error *err)
{
    static const tutti_step step = {.struct_size = sizeof step};
    const size_t operand = sizeof(float) * MACHINE_PRODUCT * MACHINE_PRODUCT;
    unsigned char *memory = host_memory_alloc(2 * operand + arena_bytes + 64);
    tutti_status s = TUTTI_OK;
    double best = 1e9;
    if (!memory)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the product");
    memset(memory, 0, 2 * operand);
    program_set_external(p, 0, memory);
    program_set_external(p, 1, memory + operand);
    program_set_arena(p, memory + 2 * operand);
    for (int k = 0; k < ROUNDS && !s; k++) {
        const double start = monotonic_s();
        s = program_run(p, 0, &step, err);
        best = less(monotonic_s() - start, best);
    }
    free(memory);
    *ret_flops = 2.0 * MACHINE_PRODUCT * MACHINE_PRODUCT * MACHINE_PRODUCT / best;
    return s;
}

static tutti_status measure_flops(const tutti_op *const *ops, int32_t dtype, int threads,
                                  double *ret_flops, tutti_error *err)
{
    const tutti_desc square = {{MACHINE_PRODUCT, MACHINE_PRODUCT}, 2, dtype};
    graph *g = graph_create(ops, TUTTI_MODE_EVAL, NULL);
    program *p = NULL;
    if (!g)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the product");
    tutti_graph *b = graph_builder(g);
    const tutti_value in[] = {graph_input(g, &square), graph_input(g, &square)};
    const tutti_value out = tutti_matmul(b, in[0], in[1], 0, 0, 0);
    const program_spec spec = {
        .g = g, .keep = &out, .nkeep = 1, .nexternal = 2, .threads = threads};
    tutti_status s = b->status(b);
    if (s)
        (void)tutti_fail(err, s,
                         s == TUTTI_E_NOMEM ? "no memory to build a product of %s"
                                            : "a product of %s cannot be built here",
                         tutti_dtype_name(dtype));
    else if (!(s = program_create(&spec, &p, err)))
        s = measure_product(p, program_bytes(p), ret_flops, err);
    program_destroy(p);
    graph_destroy(g);
    return s;
}

tutti_status machine_measure(const tutti_op *const *ops, int32_t dtype, int threads,
                             machine_bound *ret_bound, tutti_error *err)
{
    const tutti_status s = machine_measure_bytes(threads, &ret_bound->bytes, err);
    return s ? s : measure_flops(ops, dtype, threads, &ret_bound->flops, err);
}
