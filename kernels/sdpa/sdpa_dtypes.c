/* sdpa_dtypes.c - attention on a CPU: the dtypes it takes, and the variant that computes with them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel.h"
#include "sdpa/sdpa.h"

/* Those of sources with PAIRS_F16. */
extern void sdpa_run_f16(const sdpa_shape *s, const sdpa_tensors *t, int threads,
                         void *scratch);
extern void sdpa_grad_run_f16(const sdpa_shape *s, const sdpa_tensors *t, int threads,
                              void *scratch);
TUTTI_ISA_VARIANTS(sdpa_run_f16);
TUTTI_ISA_VARIANTS(sdpa_grad_run_f16);

tutti_status sdpa_dtypes(const tutti_op_call *c, uint32_t like, const sdpa_shape *s)
{
    const int32_t dtype = c->in[0].dtype;
    const int f32 = dtype == TUTTI_F32;
    const int half = (dtype == TUTTI_BF16 || dtype == TUTTI_F16) && s->d % 2 == 0 &&
                     gemm_microkernel_at(dtype, 0);
    for (uint32_t k = 0; k < c->nin; k++)
        if (c->in[k].dtype != (like >> k & 1 ? dtype : TUTTI_F32))
            return TUTTI_E_UNSUPPORTED;
    for (uint32_t k = 0; k < c->nout; k++) /* lse is the only vector a query */
        if (c->out[k].dtype != (c->out[k].rank > 3 ? dtype : TUTTI_F32))
            return TUTTI_E_UNSUPPORTED;
    return f32 || half ? TUTTI_OK : TUTTI_E_UNSUPPORTED;
}

void sdpa_forward(const sdpa_shape *s, const sdpa_tensors *t, int threads, void *scratch)
{
    if (t->dtype == TUTTI_F16)
        TUTTI_ISA_PICK(sdpa_run_f16)(s, t, threads, scratch);
    else
        TUTTI_ISA_PICK(sdpa_run)(s, t, threads, scratch);
}

void sdpa_backward(const sdpa_shape *s, const sdpa_tensors *t, int threads, void *scratch)
{
    if (t->dtype == TUTTI_F16)
        TUTTI_ISA_PICK(sdpa_grad_run_f16)(s, t, threads, scratch);
    else
        TUTTI_ISA_PICK(sdpa_grad_run)(s, t, threads, scratch);
}
