/* plugin.c - cubed: an operation of the graph, y = x * x * x, with its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/op.h"
#include "tutti/ops.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

/* Checks the operands and says what the result is. */
static tutti_status cubed_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char text[96];
    if (c->in[0].dtype != TUTTI_F32)
        return tutti_fail(err, TUTTI_E_ARG, "cubed: x is %s, want F32",
                          tutti_desc_text(&c->in[0], text, sizeof text));
    out[0] = c->in[0];
    return TUTTI_OK;
}

/* dx = 3 x^2 dy, out of other operations, which have gradients of their own. */
static tutti_status cubed_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                              tutti_value *dx)
{
    const tutti_value square = tutti_mul(g, n->in[0], n->in[0]);
    dx[0] = tutti_mul(g, tutti_affine(g, square, 3.0, 0.0), dy[0]);
    return g->status(g);
}

/* The definition, in f64. */
static tutti_status cubed_reference(const tutti_op_call *c, const double *const *in,
                                    double *const *out)
{
    for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)
        out[0][k] = in[0][k] * in[0][k] * in[0][k];
    return TUTTI_OK;
}

static tutti_status cubed_run(void *state, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    const float *x = in[0];
    float *y = out[0];
    (void)state;
    (void)scratch;
    for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)
        y[k] = x[k] * x[k] * x[k];
    return TUTTI_OK;
}

/* `inplace`: the result may lie where x was. */
static const tutti_kernel cpu = {.struct_size = sizeof cpu, .inplace = 1, .run = cubed_run};
static const tutti_op_traits traits = {.struct_size = sizeof traits,
                                       .precision = TUTTI_AUTOCAST_WIDEST,
                                       .batch = TUTTI_BATCH_WHOLE,
                                       .fold = TUTTI_FOLD_CONSTANTS,
                                       .rematerialize = TUTTI_REMATERIALIZE_SAME,
                                       .work = TUTTI_WORK_UNCOUNTED,
                                       .pointwise = TUTTI_POINTWISE_HOST,
                                       .role = TUTTI_ROLE_OTHER};
static const tutti_op op = {.struct_size = sizeof op,
                            .flags = TUTTI_OP_ELEMENTWISE,
                            .name = "cubed",
                            .nin_min = 1,
                            .nin_max = 1,
                            .nout = 1,
                            .infer = cubed_infer,
                            .vjp = cubed_vjp,
                            .reference = cubed_reference,
                            .cpu = &cpu,
                            .traits = &traits};

static tutti_status cubed_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    (void)host;
    (void)params;
    (void)err;
    *ret_self = NULL; /* it remembers nothing */
    return TUTTI_OK;
}

static tutti_status cubed_close(void *self, tutti_error *err)
{
    (void)self;
    (void)err;
    return TUTTI_OK;
}

static const void *cubed_query(void *self, const char *interface_id)
{
    (void)self;
    return strcmp(interface_id, TUTTI_OP_V1) == 0 ? &op : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = cubed_open,
                                  .close = cubed_close,
                                  .query = cubed_query};
static const tutti_object object = TUTTI_OBJECT_INIT("cubed", TUTTI_KIND_OP, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.example.cubed", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
