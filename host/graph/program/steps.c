/* steps.c - the steps of a program: its nodes, groups and stores with their kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/precision.h"
#include "graph/ir/traits.h"
#include "graph/program/builder.h"
#include "graph/program/packed_operands.h"
#include "graph/runtime/upcast.h"
#include "tutti_internal/op_slots.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static tutti_status out_of_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
}

static void **add_slot(builder *b, tutti_value v)
{
    program *p = b->p;
    p->slot_alias_set[p->nslots] = v; /* its class once all are merged */
    return &p->slots[p->nslots++];
}

/* After the slots of inputs and outputs. */
static void add_guard(builder *b, step *s, tutti_value guard)
{
    void **slot = guard ? add_slot(b, guard) : NULL;
    s->guard = (const float *const *)slot;
    for (uint32_t j = 0; j < s->call->nout && guard; j++) {
        const tutti_value out = b->p->slot_alias_set[(uint32_t)(s->out + j - b->p->slots)];
        s->zeros |= (uint32_t)(builder_alias_set(b, out)->escapes || s->sums) << j;
    }
}

/* Says why an operation with an expression for groups is in none. */
static void tell_alone(const builder *b, const step *s, tutti_op_choice *told)
{
    const tutti_op_traits *t = traits_of(s->node->op);
    const pointwise_device device = program_pointwise_device(b->g, b->spec->device);
    tutti_error why = TUTTI_ERROR_INIT;
    if (t->pointwise != TUTTI_POINTWISE_CODE || !t->pointwise_cuda || *told->library ||
        *told->text || !device.op || !pointwise_is_fusable(b->g, s->node) ||
        !pointwise_check_known(&device, s->node, &why))
        return;
    told->refused = why.status != TUTTI_E_ARG; /* that no library would mend */
    (void)snprintf(told->text, sizeof told->text, "not fused: %.*s",
                   (int)sizeof told->text - 16, why.text);
}

/* Prepares the step's kernel and keeps what it tells of its choice. */
static tutti_status prepare_cuda(const builder *b, step *s, uint64_t *ret_scratch,
                                 tutti_error *err)
{
    const tutti_kernel *kernel = s->kernel;
    const char *name = s->pointwise_kernel ? "a group" : s->node->op->name;
    tutti_op_choice told = {.struct_size = sizeof told};
    s->call->choice = &told;
    tutti_status status =
        kernel->prepare ? kernel->prepare(s->call, &s->state, ret_scratch, err) : TUTTI_OK;
    s->call->choice = NULL;
    if (!status && !s->pointwise_kernel)
        tell_alone(b, s, &told);
    if (status || (!*told.library && !*told.text))
        return status;
    tutti_op_choice *kept = NULL;
    if (told.refused && s->call->cuda->allow & TUTTI_CUDA_LIBRARIES)
        status = tutti_fail(err, TUTTI_E_UNSUPPORTED,
                            "%s: device.require wants a library for it: %s", name, told.text);
    else if (!(kept = pool_take(&b->p->memory, sizeof *kept)))
        status = out_of_memory(err);
    if (status) {
        if (kernel->prepare && kernel->destroy)
            kernel->destroy(s->state);
        return status;
    }
    *kept = told;
    s->choice = kept;
    return TUTTI_OK;
}

static tutti_status prepare(const builder *b, step *s, uint64_t *ret_scratch, tutti_error *err)
{
    const graph_node *n = s->node;
    const tutti_device *d = b->spec->device;
    const tutti_kernel *kernel = program_kernel(d, n->op);
    tutti_error why = TUTTI_ERROR_INIT;
    tutti_status status = TUTTI_OK;
    s->kernel = kernel;
    const bool native = kernel && !s->call->cuda && precision_is_native(n->op, s->call);
    const bool may = !native && kernel == n->op->cpu && n->op->flags & TUTTI_OP_BF16 &&
                     !autotuner_reproduces(b->spec->autotuner);
    if (!kernel && d && traits_of(n->op)->pointwise == TUTTI_POINTWISE_CODE) {
        const pointwise_device device = program_pointwise_device(b->g, d);
        if (device.op) /* the reason, if it is that */
            (void)pointwise_check_known(&device, n, &why);
    }
    if (!kernel && d)
        status = tutti_fail(&why, TUTTI_E_UNSUPPORTED, "%s: device %s has no kernel for it",
                            n->op->name, d->info.name);
    else if (!kernel)
        status =
            tutti_fail(&why, TUTTI_E_UNSUPPORTED, "%s: there is no CPU kernel", n->op->name);
    else if (s->call->cuda) /* such kernels take F32, BF16 and F16 */
        status = prepare_cuda(b, s, ret_scratch, &why);
    else if (!native && !program_runs_host_code(d))
        status = tutti_fail(&why, TUTTI_E_UNSUPPORTED,
                            "%s: device %s has no kernel for it in 16 bits", n->op->name,
                            d->info.name);
    else if (may && (status = autotune_prepare(b->spec->autotuner, n->op, s->call, &s->state,
                                               ret_scratch, &s->algorithm, &why)) !=
                        TUTTI_E_UNSUPPORTED) {
        /* it reads and writes 16 bits by itself */
    } else if (!native) {
        upcast *w = NULL;
        status = upcast_create(b->g, n, s->call, b->spec->autotuner, &b->p->memory, &w,
                               ret_scratch, &s->algorithm, &why);
        s->state = w;
        s->upcast = true;
    } else {
        status = kernel == n->op->cpu
                     ? autotune_prepare(b->spec->autotuner, n->op, s->call, &s->state,
                                        ret_scratch, &s->algorithm, &why)
                 : kernel->prepare ? kernel->prepare(s->call, &s->state, ret_scratch, &why)
                                   : TUTTI_OK;
    }
    if (!status)
        return TUTTI_OK;
    tutti_fail(&why, status, "%s: its kernel cannot do this", n->op->name);
    s->kernel = NULL; /* nothing to destroy */
    return tutti_fail(err, status, "%s%s%s", n->scope, *n->scope ? ": " : "", why.text);
}

static tutti_status add_node_step(builder *b, uint32_t k, tutti_error *err)
{
    program *p = b->p;
    const graph_node *n = graph_node_at(b->g, k);
    step *s = &p->steps[p->nsteps++];
    tutti_desc *descs = pool_take(&p->memory, sizeof *descs * (n->nin + n->op->nout));
    s->call = pool_take(&p->memory, sizeof *s->call);
    if (!descs || !s->call)
        return out_of_memory(err);
    for (uint32_t j = 0; j < n->nin; j++)
        descs[j] = graph_value_at(b->g, n->in[j])->desc;
    for (uint32_t j = 0; j < n->op->nout; j++)
        descs[n->nin + j] = graph_value_at(b->g, n->out + j)->desc;
    *s->call = (tutti_op_call){sizeof *s->call,
                               n->nin,
                               n->op->nout,
                               b->spec->threads,
                               descs,
                               descs + n->nin,
                               n->attr,
                               &p->now,
                               program_cuda(b->spec->device),
                               NULL};
    s->node = n;
    s->sums = traits_have_role(n->op, TUTTI_ROLE_SLOT_SUM);
    s->in = (const void *const *)(p->slots + p->nslots);
    for (uint32_t j = 0; j < n->nin; j++)
        (void)add_slot(b, n->in[j]);
    s->out = p->slots + p->nslots;
    for (uint32_t j = 0; j < n->op->nout; j++)
        (void)add_slot(b, n->out + j);
    add_guard(b, s, n->guard);
    if (b->solid[k]) {
        s->run = store_copy;
        return TUTTI_OK;
    }
    uint64_t scratch = 0;
    const tutti_status status = prepare(b, s, &scratch, err);
    if (status)
        return status;
    s->run = s->upcast ? upcast_run : s->kernel->run;
    if (scratch)
        s->scratch_interval = builder_add_interval(b, scratch, s->time, s->time);
    return b->spec->packs && !b->spec->device ? packed_operands_take(p, b->spec->packs, s, err)
                                              : TUTTI_OK;
}

/* A group runs by pointwise_kernel_run or, on a device, as an operation for fused groups. */
static tutti_status prepare_group(const builder *b, step *s, uint64_t *ret_scratch,
                                  tutti_error *err)
{
    const tutti_op *device = program_pointwise_op(b->g, b->spec->device);
    s->run = pointwise_kernel_run;
    s->state = (void *)(uintptr_t)s->pointwise_kernel;
    *ret_scratch = pointwise_kernel_scratch(s->pointwise_kernel);
    if (!device)
        return TUTTI_OK;
    s->call->attr = pointwise_kernel_describe(s->pointwise_kernel, &b->p->memory);
    s->call->cuda = program_cuda(b->spec->device);
    s->state = NULL;
    *ret_scratch = 0;
    if (!s->call->attr)
        return out_of_memory(err);
    s->kernel = program_kernel(b->spec->device, device);
    tutti_status status = TUTTI_OK;
    if (s->call->cuda)
        status = prepare_cuda(b, s, ret_scratch, err);
    else if (s->kernel->prepare)
        status = s->kernel->prepare(s->call, &s->state, ret_scratch, err);
    if (status) {
        s->kernel = NULL;
        return status;
    }
    s->run = s->kernel->run;
    return TUTTI_OK;
}

static tutti_status add_group_step(builder *b, uint32_t k, tutti_error *err)
{
    program *p = b->p;
    step *s = &p->steps[p->nsteps++];
    pointwise_kernel *c = pointwise_kernel_make(b->g, b->live, b->wanted, b->group_ends, k,
                                                b->spec->threads, &p->memory);
    tutti_desc *descs = c ? pool_take(&p->memory, sizeof *descs * (c->nin + c->nout)) : NULL;
    s->call = pool_take(&p->memory, sizeof *s->call);
    if (!descs || !s->call)
        return out_of_memory(err);
    s->in = (const void *const *)(p->slots + p->nslots);
    for (uint32_t j = 0; j < c->nin; j++) {
        descs[j] = graph_value_at(b->g, c->in[j])->desc;
        (void)add_slot(b, c->in[j]);
    }
    s->out = p->slots + p->nslots;
    for (uint32_t j = 0; j < c->nout; j++) {
        descs[c->nin + j] = graph_value_at(b->g, c->out[j])->desc;
        (void)add_slot(b, c->out[j]);
    }
    *s->call = (tutti_op_call){sizeof *s->call, c->nin, c->nout, c->threads, descs,
                               descs + c->nin,  NULL,   &p->now, NULL,       NULL};
    s->node = graph_node_at(b->g, k);
    add_guard(b, s, s->node->guard);
    s->pointwise_kernel = c;
    uint64_t scratch = 0;
    const tutti_status status = prepare_group(b, s, &scratch, err);
    if (!status && scratch)
        s->scratch_interval = builder_add_interval(b, scratch, s->time, s->time);
    return status;
}

/* A plugin's operation that has an expression for groups and no kernel is a group of its own. */
static bool is_expression_alone(const builder *b, const graph_node *n)
{
    const pointwise_device device = program_pointwise_device(b->g, b->spec->device);
    return device.op && !program_kernel(b->spec->device, n->op) &&
           pointwise_is_fusable(b->g, n) && !pointwise_check_known(&device, n, NULL);
}

/* Is node `k`, the last one of its group, alone in it, and does its own kernel do? */
static bool is_alone(const builder *b, uint32_t k)
{
    const graph_node *n = graph_node_at(b->g, k);
    bool low = dtype_is_half(graph_value_at(b->g, n->out)->desc.dtype);
    for (uint32_t j = 0; j < n->nin; j++)
        low = low || dtype_is_half(graph_value_at(b->g, n->in[j])->desc.dtype);
    if (low && program_runs_host_code(b->spec->device) && pointwise_is_fusable(b->g, n) &&
        !traits_have_role(n->op, TUTTI_ROLE_CAST))
        return false;
    if (is_expression_alone(b, n))
        return false;
    for (uint32_t j = 0; j < n->nin; j++) {
        const graph_value *x = graph_value_at(b->g, n->in[j]);
        if (x->kind == VALUE_NODE && b->group_ends[x->index] == k)
            return false;
    }
    return true;
}

/* The place of a store is a class of its own, behind the graph's values. */
static tutti_status add_store_step(builder *b, uint32_t k, tutti_error *err)
{
    program *p = b->p;
    const program_store *from = &b->spec->stores[k];
    const tutti_value place = p->nvalues + k;
    step *s = &p->steps[p->nsteps++];
    tutti_desc *desc = pool_take(&p->memory, sizeof *desc);
    s->call = pool_take(&p->memory, sizeof *s->call);
    if (!desc || !s->call)
        return out_of_memory(err);
    p->alias_sets[place] =
        (alias_set){from->kind == STORE_EXTERNAL ? NULL : builder_store_place(b, from),
                    from->index,
                    NEVER,
                    0,
                    0,
                    from->kind == STORE_EXTERNAL ? LOCATION_EXTERNAL : LOCATION_FIXED,
                    true,
                    true,
                    false};
    p->alias_set_of[place] = place;
    if (from->value)
        *desc = graph_value_at(b->g, from->value)->desc;
    else
        *desc = (tutti_desc){{(int64_t)from->bytes}, 1, TUTTI_U8};
    *s->call = (tutti_op_call){sizeof *s->call, 1, 1, 1, desc, desc, NULL, &p->now, NULL, NULL};
    s->run = !from->value ? store_zero : from->add ? store_add : store_copy;
    s->in = (const void *const *)add_slot(b, from->value ? from->value : place);
    s->out = add_slot(b, place);
    return TUTTI_OK;
}

static step *next_step(builder *b, int32_t segment)
{
    step *s = &b->p->steps[b->p->nsteps];
    s->scratch_interval = NEVER;
    s->time = b->p->nsteps + (segment ? 1 : 0); /* the time between the segments is free */
    return s;
}

/* Adds the stores of this segment that wait for node `after`. */
static tutti_status add_stores(builder *b, int32_t segment, uint32_t after, uint32_t upto,
                               tutti_error *err)
{
    for (uint32_t k = 0; k < b->spec->nstores; k++) {
        const program_store *s = &b->spec->stores[k];
        const bool done = b->after[k] == NEVER || b->after[k] < upto;
        const bool here = after == NEVER ? s->segment == segment && done
                                         : s->segment <= segment && b->after[k] == after;
        if (b->direct[k] || !here || (s->add && !s->value))
            continue;
        (void)next_step(b, segment);
        const tutti_status status = add_store_step(b, k, err);
        if (status)
            return status;
    }
    return TUTTI_OK;
}

/* Refuses a node whose bits may differ where they must not. */
static tutti_status admit(const builder *b, uint32_t k, tutti_error *err)
{
    const graph_node *n = graph_node_at(b->g, k);
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s =
        b->live[k] ? autotuner_admit(b->spec->autotuner, n->op, &why) : TUTTI_OK;
    return s ? tutti_fail(err, s, "%s%s%s", n->scope, *n->scope ? ": " : "", why.text) : s;
}

tutti_status builder_make_steps(builder *b, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    uint32_t k = 0;
    for (int32_t segment = 0; segment < 2 && !s; segment++) {
        if (segment)
            b->p->cut = b->p->nsteps;
        /* What could have been stored before this segment but belongs to it. */
        s = add_stores(b, segment, NEVER, k, err);
        for (; k < b->nnodes && !s; k++) {
            const graph_node *n = graph_node_at(b->g, k);
            if (n->segment > segment)
                break;
            s = admit(b, k, err);
            if (s || !b->live[k])
                continue;
            if (!builder_is_view(b, k) && b->group_ends[k] == k) {
                (void)next_step(b, segment);
                s = is_alone(b, k) ? add_node_step(b, k, err) : add_group_step(b, k, err);
            }
            if (!s)
                s = add_stores(b, segment, k, 0, err);
        }
    }
    assert(s || k == b->nnodes);
    return s;
}
