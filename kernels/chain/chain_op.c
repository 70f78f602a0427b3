/* chain_op.c - a chain of elementwise operations as one launch; the host alone makes such. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "chain/chain.h"
#include "common/cuda/launch.h"
#include "common/op_util.h"
#include "tutti_internal/chain.h"

#include <stdlib.h>
#include <string.h>

#define NAME(op) #op,
#define NAME_ATTR(op, attr) #op,
static const char *const names[CHAIN_CODES] = {
    POINTWISE_OPS(NAME, NAME_ATTR, NAME, NAME_ATTR) "copy", "cast", "where"};

/* CHAIN_CODES: device code does not have the operation. */
static int code_of(const char *name)
{
    int k = 0;
    while (k < CHAIN_CODES && strcmp(names[k], name) != 0)
        k++;
    return k;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_pointwise_group *chain = c->attr;
    if (!chain)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "chain: the host alone makes chains");
    for (uint32_t k = 0; k < chain->nlinks; k++)
        if (code_of(chain->links[k].op->name) == CHAIN_CODES)
            return tutti_fail(err, TUTTI_E_UNSUPPORTED, "chain: %s cannot be in one",
                              chain->links[k].op->name);
    if (c->nin > 0)
        out[0] = c->in[0];
    return TUTTI_OK;
}

/* The last link that reads the result of `link` otherwise than as the result just before it. */
static uint32_t last_far_read(const tutti_op_call *c, uint32_t link)
{
    const tutti_pointwise_group *chain = c->attr;
    uint32_t last = link;
    for (uint32_t k = link + 2; k < chain->nlinks; k++)
        for (uint32_t j = 0; j < chain->links[k].op->nin_max && j < 3; j++)
            if (chain->links[k].from[j] == c->nin + link)
                last = k;
    return last;
}

typedef struct chain_state {
    chain_program program;
    void *function;
    uint32_t slots;
} chain_state;

/* Where results are kept between links: a slot is free again after its last reader. */
static void compile(const tutti_op_call *c, chain_state *s)
{
    const tutti_pointwise_group *chain = c->attr;
    chain_program *p = &s->program;
    uint32_t busy_until[CHAIN_LINKS] = {0}, slot_of[CHAIN_LINKS] = {0};
    p->n = tutti_numel(&c->out[0]);
    p->nlinks = chain->nlinks;
    for (uint32_t k = 0; k < c->nin; k++)
        p->whole |= (uint32_t)(tutti_numel(&c->in[k]) == 1 && p->n != 1) << k;
    for (uint32_t k = 0; k < chain->nlinks; k++) {
        const tutti_pointwise_op *l = &chain->links[k];
        chain_code *code = &p->code[k];
        *code = (chain_code){.op = (uint8_t)code_of(l->op->name),
                             .nin = (uint8_t)l->op->nin_max,
                             .slot = CHAIN_NONE,
                             .out = l->out < 0 ? CHAIN_NONE : (uint8_t)l->out,
                             .dtype = CHAIN_NONE};
        for (uint32_t j = 0; j < code->nin; j++)
            code->from[j] = l->from[j] < c->nin ? (uint8_t)l->from[j]
                            : l->from[j] - c->nin + 1 == k
                                ? CHAIN_LAST
                                : (uint8_t)(CHAIN_SLOT + slot_of[l->from[j] - c->nin]);
        if (code->op == CHAIN_cast && l->dtype != TUTTI_F32)
            code->dtype = (uint8_t)l->dtype;
        if (l->op->attr_size && l->op->attr_size <= sizeof code->attr)
            memcpy(code->attr, l->attr, l->op->attr_size);
        const uint32_t until = last_far_read(c, k);
        if (until == k)
            continue;
        uint32_t slot = 0; /* read by k at the latest: link k reads before it writes */
        while (slot < s->slots && busy_until[slot] > k)
            slot++;
        s->slots += slot == s->slots;
        busy_until[slot] = until;
        slot_of[k] = slot;
        code->slot = (uint8_t)slot;
    }
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    const tutti_pointwise_group *chain = c->attr;
    (void)ret_scratch;
    if (chain->nlinks > CHAIN_LINKS)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "chain: %u operations, want %d at most",
                          chain->nlinks, CHAIN_LINKS);
    chain_state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "chain: no memory for its program");
    const tutti_status status =
        CUDA_FUNCTION(c, "chain_cuda", &s->function, err, sizeof(chain_program),
                      (TUTTI_OP_MAX_IN + TUTTI_OP_MAX_OUT) * sizeof(cuda_tensor));
    if (status) {
        free(s);
        return status;
    }
    compile(c, s);
    *ret_state = s;
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    chain_state *s = state;
    cuda_tensor operands[TUTTI_OP_MAX_IN + TUTTI_OP_MAX_OUT] = {{0}};
    const int64_t groups = (s->program.n + CHAIN_GROUP - 1) / CHAIN_GROUP;
    (void)scratch;
    for (uint32_t k = 0; k < c->nin; k++)
        operands[k] = cuda_in(c, in, k);
    for (uint32_t k = 0; k < c->nout; k++)
        operands[TUTTI_OP_MAX_IN + k] = cuda_out(c, out, k);
    void *const args[] = {&s->program, operands};
    if (groups == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, s->function,
                       cuda_blocks(c->cuda, groups * (CUDA_BLOCK / CHAIN_BLOCK)), CHAIN_BLOCK,
                       s->slots * CHAIN_BLOCK * CHAIN_GROUP * (uint32_t)sizeof(float), args);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, prepare, run, free};

OP_TRAITS(chain, F32, WHOLE, NEVER, NEVER, UNCOUNTED, NONE, POINTWISE_GROUP);
OP_DEFINE(chain, .nin_min = 0, .nin_max = TUTTI_OP_MAX_IN, .infer = infer, .cuda = &cuda);
