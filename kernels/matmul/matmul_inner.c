/* matmul_inner.c - matmul's kernel, called by those of operations with a product in them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_inner.h"

#include <stdlib.h>
#include <string.h>

typedef struct inner {
    tutti_op_call call;
    tutti_desc in[3];
    matmul_attr attr;
    void *state;
} inner;

tutti_status matmul_inner_prepare(const char *op, const tutti_op_call *product,
                                  void **ret_state, uint64_t *ret_scratch, tutti_error *err)
{
    inner *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its state", op);
    p->call = *product;
    memcpy(p->in, product->in, product->nin * sizeof *p->in);
    p->call.in = p->in;
    p->attr = *(const matmul_attr *)product->attr;
    p->call.attr = &p->attr;
    p->call.nout = 1;
    const tutti_status s = matmul_cpu.prepare(&p->call, &p->state, ret_scratch, err);
    if (s)
        matmul_inner_destroy(p);
    else
        *ret_state = p;
    return s;
}

tutti_status matmul_inner_run(const void *state, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    const inner *p = state;
    tutti_op_call call = p->call;
    call.step = c->step;
    return matmul_cpu.run(p->state, &call, in, out, scratch);
}

void matmul_inner_destroy(void *state)
{
    inner *p = state;
    if (p && p->state)
        matmul_cpu.destroy(p->state);
    free(p);
}
