/* pointwise_fusion_op.c - pointwise fusion: a group of elementwise operations as one launch; the host alone makes such. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/launch.h"
#include "common/op_util.h"
#include "pointwise_fusion/pointwise_compile.h"
#include "pointwise_fusion/pointwise_fusion.h"
#include "tutti/pointwise_group.h"

#include <stdlib.h>
#include <string.h>

#define NAME(op) #op,
#define NAME_ATTR(op, attr) #op,
static const char *const names[OPCODES] = {
    POINTWISE_OPS(NAME, NAME_ATTR, NAME, NAME_ATTR) "copy", "cast", "where"};

/* OPCODES: the operation is not built in. */
static int code_of(const char *name)
{
    int k = 0;
    while (k < OPCODES && strcmp(names[k], name) != 0)
        k++;
    return k;
}

/* Operations of plugins, each once, in the order of their names, so that groups of the same ones share code. */
typedef struct plugin_ops {
    const tutti_op *ops[FUSION_MAX_OPS];
    uint32_t n;
} plugin_ops;

static uint32_t place_of(const plugin_ops *p, const tutti_op *op)
{
    uint32_t k = 0;
    while (k < p->n && strcmp(p->ops[k]->name, op->name) < 0)
        k++;
    return k;
}

static plugin_ops list_plugin_ops(const tutti_pointwise_group *group)
{
    plugin_ops p = {{NULL}, 0};
    for (uint32_t k = 0; k < group->nops; k++) {
        const tutti_op *op = group->ops[k].op;
        const uint32_t at = place_of(&p, op);
        if (code_of(op->name) != OPCODES || (at < p.n && p.ops[at] == op))
            continue;
        for (uint32_t j = p.n++; j > at; j--)
            p.ops[j] = p.ops[j - 1];
        p.ops[at] = op;
    }
    return p;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_pointwise_group *group = c->attr;
    if (!group)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "pointwise_fusion: the host alone makes groups");
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < group->nops && !s; k++) {
        const tutti_op *op = group->ops[k].op;
        if (code_of(op->name) == OPCODES)
            s = c->cuda ? pointwise_can_compile(c->cuda, op, err)
                        : tutti_fail(err, TUTTI_E_UNSUPPORTED,
                                     "pointwise_fusion: %s cannot be in a group", op->name);
    }
    if (!s && c->nin > 0)
        out[0] = c->in[0];
    return s;
}

/* The last operation that reads the result of `op` otherwise than as the result just before it. */
static uint32_t last_far_read(const tutti_op_call *c, uint32_t op)
{
    const tutti_pointwise_group *group = c->attr;
    uint32_t last = op;
    for (uint32_t k = op + 2; k < group->nops; k++)
        for (uint32_t j = 0; j < group->ops[k].op->nin_max && j < 3; j++)
            if (group->ops[k].from[j] == c->nin + op)
                last = k;
    return last;
}

typedef struct fusion_state {
    fusion_program program;
    void *function;
} fusion_state;

/* Where inputs that are read element by element lie in a stage, as far as there is room. */
static void stage_inputs(const tutti_op_call *c, fusion_program *p)
{
    p->nin = c->nin;
    for (uint32_t k = 0; k < c->nin; k++) {
        const uint32_t words = c->in[k].dtype == TUTTI_F32 ? 2 : 1;
        const int fits = p->staged + words <= FUSION_STAGE_WORDS;
        const int staged = fits && !(p->whole >> k & 1);
        p->at[k] = staged ? (uint8_t)p->staged : FUSION_NONE;
        p->staged += staged ? words : 0;
    }
}

static uint32_t shared_bytes(const fusion_program *p)
{
    return (p->slots * FUSION_SLOT_WORDS + p->staged * FUSION_STAGES) * FUSION_BLOCK * 16;
}

/* Where results are kept between operations: a slot is free again after its last reader. */
static void compile(const tutti_op_call *c, const plugin_ops *more, fusion_state *s)
{
    const tutti_pointwise_group *group = c->attr;
    fusion_program *p = &s->program;
    uint32_t busy_until[FUSION_MAX_OPS] = {0}, slot_of[FUSION_MAX_OPS] = {0};
    p->n = tutti_numel(&c->out[0]);
    p->nops = group->nops;
    for (uint32_t k = 0; k < c->nin; k++)
        p->whole |= (uint32_t)(tutti_numel(&c->in[k]) == 1 && p->n != 1) << k;
    stage_inputs(c, p);
    for (uint32_t k = 0; k < group->nops; k++) {
        const tutti_pointwise_op *l = &group->ops[k];
        fusion_instruction *code = &p->code[k];
        const uint32_t own = (uint32_t)code_of(l->op->name);
        *code = (fusion_instruction){
            .op = (uint8_t)(own == OPCODES ? own + place_of(more, l->op) : own),
            .nin = (uint8_t)l->op->nin_max,
            .slot = FUSION_NONE,
            .out = l->out < 0 ? FUSION_NONE : (uint8_t)l->out,
            .dtype = FUSION_NONE};
        for (uint32_t j = 0; j < code->nin; j++)
            code->from[j] = l->from[j] < c->nin ? (uint8_t)l->from[j]
                            : l->from[j] - c->nin + 1 == k
                                ? FUSION_LAST
                                : (uint8_t)(FUSION_SLOT + slot_of[l->from[j] - c->nin]);
        if (code->op == OPCODE_cast && l->dtype != TUTTI_F32)
            code->dtype = (uint8_t)l->dtype;
        if (l->op->attr_size && l->op->attr_size <= sizeof code->attr)
            memcpy(code->attr, l->attr, l->op->attr_size);
        const uint32_t until = last_far_read(c, k);
        if (until == k)
            continue;
        uint32_t slot = 0; /* read by k at the latest: operation k reads before it writes */
        while (slot < p->slots && busy_until[slot] > k)
            slot++;
        p->slots += slot == p->slots;
        busy_until[slot] = until;
        slot_of[k] = slot;
        code->slot = (uint8_t)slot;
    }
}

/* Of the build, or of what is compiled for operations of plugins. */
static tutti_status find_function(const tutti_op_call *c, const plugin_ops *more,
                                  void **ret_function, tutti_error *err)
{
    const tutti_cuda_image *image = &CUDA_IMAGE;
    const uint32_t sizes[] = {sizeof(fusion_program),
                              (TUTTI_OP_MAX_IN + TUTTI_OP_MAX_OUT) * sizeof(cuda_tensor)};
    const tutti_status s =
        more->n ? pointwise_compile(c, more->ops, more->n, &image, err) : TUTTI_OK;
    return s ? s
             : c->cuda->function(c->cuda->ctx, image, "pointwise_fusion_cuda", sizes, 2,
                                 ret_function, err);
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    const tutti_pointwise_group *group = c->attr;
    (void)ret_scratch;
    if (group->nops > FUSION_MAX_OPS)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "pointwise_fusion: %u operations, want %d at most", group->nops,
                          FUSION_MAX_OPS);
    fusion_state *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "pointwise_fusion: no memory for its program");
    const plugin_ops more = list_plugin_ops(group);
    const tutti_status status = find_function(c, &more, &s->function, err);
    if (status) {
        free(s);
        return status;
    }
    compile(c, &more, s);
    *ret_state = s;
    return TUTTI_OK;
}

static uint32_t blocks_of(const tutti_cuda_v1 *cuda, int64_t vectors)
{
    const int64_t want = (vectors + FUSION_BLOCK - 1) / FUSION_BLOCK;
    const int64_t most = (int64_t)FUSION_BLOCKS * cuda->multiprocessors;
    return (uint32_t)(want < most ? want : most);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    fusion_state *s = state;
    cuda_tensor operands[TUTTI_OP_MAX_IN + TUTTI_OP_MAX_OUT] = {{0}};
    const int64_t vectors = (s->program.n + FUSION_VECTOR - 1) / FUSION_VECTOR;
    (void)scratch;
    for (uint32_t k = 0; k < c->nin; k++)
        operands[k] = cuda_in(c, in, k);
    for (uint32_t k = 0; k < c->nout; k++)
        operands[TUTTI_OP_MAX_IN + k] = cuda_out(c, out, k);
    void *const args[] = {&s->program, operands};
    if (vectors == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, s->function, blocks_of(c->cuda, vectors), FUSION_BLOCK,
                       shared_bytes(&s->program), args);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, prepare, run, free};

OP_TRAITS(pointwise_fusion, F32, WHOLE, NEVER, NEVER, UNCOUNTED, NONE, POINTWISE_GROUP);
OP_DEFINE(pointwise_fusion, .nin_min = 0, .nin_max = TUTTI_OP_MAX_IN, .infer = infer,
          .cuda = &cuda);
