/* halving_op.c - a plugin PLUGIN_ID: an operation OP_NAME that halves, with the packing that PACKING says, if any, and an
 * algorithm that puts it behind the loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifdef PACKING
#define TUTTI_USE_MINOR 2
#endif
#include "tutti/loss.h"
#include "tutti/op.h"
#include "tutti/ops.h"
#include "tutti/tutti.h"

#include <string.h>

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    out[0] = c->in[0];
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    dx[0] = tutti_affine(g, dy[0], 0.5, 0.0);
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    for (int64_t k = 0; k < tutti_numel(&c->in[0]); k++)
        out[0][k] = 0.5 * in[0][k];
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    for (int64_t k = 0; k < tutti_numel(&c->in[0]); k++)
        ((float *)out[0])[k] = 0.5f * ((const float *)in[0])[k];
    return TUTTI_OK;
}

static const tutti_kernel cpu = {.struct_size = sizeof cpu, .run = run};
#ifdef PACKING
static uint64_t bytes(void *state, const tutti_op_call *c, uint32_t k,
                      char layout[TUTTI_PACKED_LAYOUT])
{
    return 0;
}

static void pack(void *state, const tutti_op_call *c, uint32_t k, const void *in, void *to)
{
}

static void use(void *state, uint32_t k, const void *packed)
{
}

static const tutti_packing packing = {PACKING};
#endif
static const tutti_op op = {
    .struct_size = sizeof op,
    .name = OP_NAME,
    .nin_min = 1,
    .nin_max = 1,
    .nout = 1,
    .infer = infer,
    .vjp = vjp,
    .reference = reference,
    .cpu = &cpu,
#ifdef PACKING
    .cpu_packing = &packing,
#endif
};

static tutti_value loss(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    const tutti_value below = in->below(in->ctx, g, in->outputs, in->noutputs, in->targets,
                                        in->ntargets, in->reduction);
    return tutti_op1(g, self, below);
}

static const void *query(void *self, const char *id)
{
    static const tutti_loss_v1 table = {.struct_size = sizeof table, .loss = loss};
    if (strcmp(id, TUTTI_OP_V1) == 0)
        return &op;
    return self && strcmp(id, TUTTI_LOSS_V1) == 0 ? &table : NULL;
}

static tutti_status start(const tutti_host *host, const tutti_params *params, void **ret_self,
                          tutti_error *err)
{
    *ret_self = tutti_param_find(params, "op") ? (void *)tutti_param_str(params, "op") : NULL;
    return TUTTI_OK;
}

static int32_t match(void *self, const tutti_event *event)
{
    return 0;
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                          tutti_error *err)
{
    return TUTTI_OK;
}

static tutti_status end(void *self, tutti_error *err)
{
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = start,
                                  .match = match,
                                  .apply = apply,
                                  .close = end,
                                  .query = query};
static const tutti_object half = TUTTI_OBJECT_INIT(OP_NAME, TUTTI_KIND_OP, &calls);
static const tutti_object halved = TUTTI_OBJECT_INIT("halved", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&half, &halved, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT(PLUGIN_ID, "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
