/* slot_sum_op.c - numbers that the slots of a batch add up: here x itself, what other slots have the host adds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.h"
#include "common/op_util.h"
#include "tutti_internal/op_slots.h"

#include <string.h>

/* x F64 -> its sum over all slots of the batch, of the same shape.  A plan pauses behind it where a batch has several
 * slots (TUTTI_ROLE_SLOT_SUM); alone it is a copy.  There is no gradient of its own: who emits it knows what
 * other slots' gradients come to. */

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char text[96];
    if (c->in[0].dtype != TUTTI_F64)
        return tutti_fail(err, TUTTI_E_ARG, "slot_sum: x is %s, want F64",
                          tutti_desc_text(&c->in[0], text, sizeof text));
    *out = c->in[0];
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    memcpy(out[0], in[0], (size_t)tutti_numel(&c->in[0]) * sizeof **out);
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    if (in[0] != out[0])
        memcpy(out[0], in[0], tutti_nbytes(&c->in[0]));
    return TUTTI_OK;
}

static strided view(const tutti_op_call *c)
{
    return strided_dense(&c->in[0]);
}

CUDA_STRIDED_KERNEL(slot_sum, view)

static const tutti_kernel cpu = {.struct_size = sizeof(tutti_kernel), .inplace = 1, .run = run};

OP_TRAITS(slot_sum, F32, WHOLE, NEVER, NEVER, UNCOUNTED, NONE, SLOT_SUM);
const tutti_op tutti_op_slot_sum = {.struct_size = sizeof(tutti_op),
                                    .traits = &slot_sum_traits,
                                    .flags = TUTTI_OP_REPRODUCIBLE,
                                    .name = "slot_sum",
                                    .nin_min = 1,
                                    .nin_max = 1,
                                    .nout = 1,
                                    .infer = infer,
                                    .reference = reference,
                                    .cpu = &cpu,
                                    .cuda = &cuda};
