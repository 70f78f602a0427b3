/* packed_operands.c - operands of steps that are packed weights: taken when a program is made, packed when weights have changed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/packed_operands.h"

/* The packing of the kernel that the step has prepared; NULL: none. */
static const tutti_packing *packing_of(const step *s)
{
    const tutti_op *op = s->node->op;
    return !s->upcast && s->kernel == op->cpu && s->state ? op->cpu_packing : NULL;
}

tutti_status packed_operands_take(program *p, const weight_packs *of, step *s, tutti_error *err)
{
    const tutti_packing *packing = packing_of(s);
    for (uint32_t k = 0; packing && k < s->call->nin; k++) {
        const graph_value *x = graph_value_at(p->g, s->node->in[k]);
        char layout[TUTTI_PACKED_LAYOUT] = "";
        const uint64_t bytes =
            x->kind == VALUE_WEIGHT ? packing->bytes(s->state, s->call, k, layout) : 0;
        layout[TUTTI_PACKED_LAYOUT - 1] = '\0'; /* a plugin may have filled it */
        packed_operand *o = bytes ? pool_take(&p->memory, sizeof *o) : NULL;
        if (bytes && !o)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
        weight_pack *pack = o ? of->take(of->ctx, x->index, packing, layout, bytes) : NULL;
        if (!pack)
            continue; /* each run packs it */
        *o =
            (packed_operand){.next = s->packed, .pack = pack, .told = UINT64_MAX, .operand = k};
        s->packed = o;
        p->packs = of;
    }
    return TUTTI_OK;
}

void packed_operands_give(program *p)
{
    for (uint32_t k = 0; k < p->nsteps && p->packs; k++)
        for (packed_operand *o = p->steps[k].packed; o; o = o->next)
            p->packs->give(p->packs->ctx, o->pack);
    p->packs = NULL;
}

/* Without memory, and where the weight may change at any time, each run packs. */
static void refresh(const weight_packs *of, const step *s, packed_operand *o, uint64_t version)
{
    const tutti_packing *packing = packing_of(s);
    weight_pack *pack = o->pack;
    const bool there = version && (pack->data || of->fill(of->ctx, pack));
    if (there && pack->version != version)
        packing->pack(s->state, s->call, o->operand, s->in[o->operand], pack->data);
    pack->version = there ? version : pack->version;
    packing->use(s->state, o->operand, there ? pack->data : NULL);
    o->told = version;
}

void packed_operands_refresh(const program *p, const step *s)
{
    for (packed_operand *o = s->packed; o; o = o->next) {
        const uint64_t version = p->packs->version(p->packs->ctx, o->pack);
        if (version != o->told)
            refresh(p->packs, s, o, version);
    }
}
