/* program_build.c - from graph to program: what shares memory, and the steps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/cast.h"
#include "graph/program_builder.h"
#include "graph/widen.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static tutti_status out_of_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
}

/* Node `k` gives the memory of its input another shape. */
static bool is_view(const builder *b, uint32_t k)
{
    return graph_node_at(b->g, k)->op->flags & TUTTI_OP_VIEW && !b->solid[k];
}

static tutti_value guard_of(const builder *b, tutti_value v)
{
    const graph_value *x = graph_value_at(b->g, v);
    return x->kind == VALUE_NODE ? graph_node_at(b->g, x->index)->guard : 0;
}

static bool is_held(const builder *b, tutti_value v)
{
    for (uint32_t k = 0; k < b->spec->nheld; k++)
        if (b->spec->held[k] == v)
            return true;
    return false;
}

static tutti_status mark_live(builder *b, tutti_error *err)
{
    const program_spec *spec = b->spec;
    tutti_value *roots =
        calloc((size_t)spec->nkeep + spec->nstores + b->nnodes + 1, sizeof *roots);
    if (!roots)
        return out_of_memory(err);
    uint32_t n = 0;
    for (uint32_t k = 0; k < b->nnodes; k++) /* may be needed after all */
        roots[n++] = graph_node_at(b->g, k)->again;
    for (uint32_t k = 0; k < spec->nkeep; k++)
        roots[n++] = spec->keep[k];
    for (uint32_t k = 0; k < spec->nstores; k++)
        roots[n++] = spec->stores[k].value;
    graph_mark_live(b->g, roots, n, b->live);
    free(roots);
    return TUTTI_OK;
}

/* Casts of weights that are kept in that dtype are there before the run. */
static void find_given(builder *b)
{
    for (uint32_t k = 0; k < b->nnodes && b->spec->copy; k++) {
        const graph_node *n = graph_node_at(b->g, k);
        const graph_value *x = n->nin ? graph_value_at(b->g, n->in[0]) : NULL;
        if (!b->live[k] || n->guard || b->wanted[n->out] || !x || x->kind != VALUE_WEIGHT ||
            strcmp(n->op->name, "cast") != 0)
            continue;
        const int32_t dtype = graph_value_at(b->g, n->out)->desc.dtype;
        b->given[k] = b->spec->copy(b->spec->copy_ctx, x->index, dtype);
        b->live[k] = !b->given[k];
    }
}

static tutti_status find_chains(builder *b, tutti_error *err)
{
    const program_spec *spec = b->spec;
    for (uint32_t k = 0; k < spec->nkeep; k++)
        b->wanted[spec->keep[k]] = true;
    for (uint32_t k = 0; k < spec->nstores; k++)
        b->wanted[spec->stores[k].value] = true;
    find_given(b);
    for (uint32_t k = 0; k < b->nnodes; k++)
        b->wanted[graph_node_at(b->g, k)->again] = true;
    const tutti_op *device = program_chain_op(b->g, spec->device);
    if (device || program_runs_host_code(spec->device))
        return chain_find(b->g, b->live, b->wanted, device, b->ends, err);
    for (uint32_t k = 0; k < b->nnodes; k++)
        b->ends[k] = k;
    return TUTTI_OK;
}

/* Sets leaves[]: these values must be zeros where their guard is 0. */
static void find_leaving(builder *b)
{
    for (uint32_t k = 0; k < b->nnodes; k++) {
        const graph_node *n = graph_node_at(b->g, k);
        if (!b->live[k])
            continue;
        for (uint32_t j = 0; j < n->nin; j++)
            b->leaves[n->in[j]] = b->leaves[n->in[j]] || guard_of(b, n->in[j]) != n->guard;
        b->leaves[n->guard] = true;
    }
    for (tutti_value v = 1; v < b->p->nvalues; v++)
        b->leaves[v] = b->leaves[v] || b->wanted[v];
}

/* Where constants, weights and inputs lie; views join what they look at. */
static void make_classes(builder *b)
{
    program *p = b->p;
    for (tutti_value v = 0; v < p->nvalues; v++) {
        const graph_value *value = graph_value_at(b->g, v);
        memory_class *m = &p->classes[v];
        p->class_of[v] = v;
        *m = (memory_class){NULL, 0, NEVER, NEVER, 0, SPOT_ARENA, false, false, false};
        if (value->kind == VALUE_CONST) {
            m->spot = SPOT_FIXED;
            m->fixed = (void *)(uintptr_t)value->data;
        } else if (value->kind == VALUE_WEIGHT) {
            m->spot = SPOT_FIXED;
            m->fixed = b->spec->weights[value->index];
        } else if (value->kind == VALUE_INPUT && !is_held(b, v)) {
            m->spot = SPOT_EXTERNAL;
            m->external = value->index;
        }
    }
    for (uint32_t k = 0; k < b->spec->nstores; k++) {
        const program_store *s = &b->spec->stores[k];
        memory_class *m = &p->classes[s->before];
        if (s->before)
            *m = (memory_class){s->memory, 0, NEVER, NEVER, 0, SPOT_FIXED, false, false, false};
    }
    for (uint32_t k = 0; k < b->nnodes; k++) {
        const graph_node *n = graph_node_at(b->g, k);
        /* A guarded view of what is not guarded itself cannot become zeros where it lies. */
        b->solid[k] = n->op->flags & TUTTI_OP_VIEW && n->guard && b->leaves[n->out] &&
                      guard_of(b, program_class(p, n->in[0])) != n->guard;
        if (is_view(b, k))
            p->class_of[n->out] = program_class(p, n->in[0]);
        if (b->given[k]) {
            p->classes[n->out].spot = SPOT_FIXED;
            p->classes[n->out].fixed = b->given[k];
        }
    }
    for (tutti_value v = 1; v < p->nvalues; v++)
        builder_class(b, v)->leaves = builder_class(b, v)->leaves || b->leaves[v];
    for (uint32_t k = 0; k < b->spec->nkeep; k++)
        if (b->spec->keep[k])
            builder_class(b, b->spec->keep[k])->kept = true;
}

static void *store_place(const builder *b, const program_store *s)
{
    return s->kind == STORE_WEIGHT ? b->spec->weights[s->index] : s->memory;
}

/* The last live node that reads weight `id` as it was before the run, plus 1. */
static uint32_t readers_end(const builder *b, uint32_t id)
{
    uint32_t end = 0;
    for (uint32_t k = 0; k < b->nnodes; k++) {
        const graph_node *n = graph_node_at(b->g, k);
        for (uint32_t j = 0; j <= n->nin && b->live[k] && !is_view(b, k); j++) {
            const tutti_value in = j < n->nin ? n->in[j] : n->guard;
            const graph_value *v = graph_value_at(b->g, program_class(b->p, in));
            if (v->kind == VALUE_WEIGHT && v->index == id)
                end = k + 1;
        }
    }
    return end;
}

/* May node `k`, the last of its chain, write where an input `v` of its shape lies?  Chains do, element by
 * element. */
static bool writes_onto(const builder *b, uint32_t k, tutti_value v)
{
    const graph_node *n = graph_node_at(b->g, k);
    const tutti_kernel *kernel = program_kernel(b->spec->device, n->op);
    for (uint32_t j = 0; j < n->nin; j++)
        if (program_class(b->p, n->in[j]) == v && (!kernel || !(kernel->inplace >> j & 1)))
            return false;
    return true;
}

/* Sets after[] and direct[].  A node writes straight to a store's place when its result has no
 * other place yet and, for an assignment, nobody reads the old value from then on. */
static void plan_stores(builder *b)
{
    for (uint32_t k = 0; k < b->spec->nstores; k++) {
        const program_store *s = &b->spec->stores[k];
        b->after[k] = NEVER;
        if (!s->value)
            continue;
        const tutti_value class = program_class(b->p, s->value);
        const graph_value *root = graph_value_at(b->g, class);
        const uint32_t producer = root->kind == VALUE_NODE ? b->ends[root->index] : NEVER;
        const uint32_t end = s->kind == STORE_WEIGHT ? readers_end(b, s->index) : 0;
        memory_class *m = &b->p->classes[class];
        if (producer != NEVER || end)
            b->after[k] = producer == NEVER || end > producer + 1 ? end - 1 : producer;
        if (s->add || producer == NEVER || m->spot != SPOT_ARENA || m->kept || end > producer ||
            (s->before && !writes_onto(b, producer, s->before)))
            continue;
        b->direct[k] = true;
        m->spot = s->kind == STORE_EXTERNAL ? SPOT_EXTERNAL : SPOT_FIXED;
        m->external = s->index;
        m->fixed = s->kind == STORE_EXTERNAL ? NULL : store_place(b, s);
    }
}

static void **add_slot(builder *b, tutti_value v)
{
    program *p = b->p;
    p->slot_class[p->nslots] = v; /* its class once all are merged */
    return &p->slots[p->nslots++];
}

/* After the slots of inputs and outputs. */
static void add_guard(builder *b, step *s, tutti_value guard)
{
    void **slot = guard ? add_slot(b, guard) : NULL;
    s->guard = (const float *const *)slot;
    for (uint32_t j = 0; j < s->call->nout && guard; j++) {
        const tutti_value out = b->p->slot_class[(uint32_t)(s->out + j - b->p->slots)];
        s->zeros |= (uint32_t)builder_class(b, out)->leaves << j;
    }
}

static tutti_status prepare(const builder *b, step *s, uint64_t *ret_scratch, tutti_error *err)
{
    const graph_node *n = s->node;
    const tutti_device *d = b->spec->device;
    const tutti_kernel *kernel = program_kernel(d, n->op);
    tutti_error why = TUTTI_ERROR_INIT;
    tutti_status status = TUTTI_OK;
    s->kernel = kernel;
    if (!kernel && d)
        status = tutti_fail(&why, TUTTI_E_UNSUPPORTED, "%s: device %s has no kernel for it",
                            n->op->name, d->info.name);
    else if (!kernel)
        status =
            tutti_fail(&why, TUTTI_E_UNSUPPORTED, "%s: there is no CPU kernel", n->op->name);
    else if (s->call->cuda) /* such kernels take F32, BF16 and F16 */
        status =
            kernel->prepare ? kernel->prepare(s->call, &s->state, ret_scratch, &why) : TUTTI_OK;
    else if (!cast_is_native(n->op, s->call) && !program_runs_host_code(d))
        status = tutti_fail(&why, TUTTI_E_UNSUPPORTED,
                            "%s: device %s has no kernel for it in 16 bits", n->op->name,
                            d->info.name);
    else if (!cast_is_native(n->op, s->call)) {
        widen *w = NULL;
        status = widen_create(b->g, n, s->call, b->spec->tuner, &b->p->memory, &w, ret_scratch,
                              &s->way, &why);
        s->state = w;
        s->widened = true;
    } else {
        status = kernel == n->op->cpu ? tune_prepare(b->spec->tuner, n->op, s->call, &s->state,
                                                     ret_scratch, &s->way, &why)
                 : kernel->prepare    ? kernel->prepare(s->call, &s->state, ret_scratch, &why)
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
    *s->call = (tutti_op_call){sizeof *s->call,  n->nin,  n->op->nout,
                               b->spec->threads, descs,   descs + n->nin,
                               n->attr,          &p->now, program_cuda(b->spec->device)};
    s->node = n;
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
    s->run = s->widened ? widen_run : s->kernel->run;
    if (scratch)
        s->scratch_interval = builder_add_interval(b, scratch, s->time, s->time);
    return TUTTI_OK;
}

/* A chain runs by chain_run or, on a device, as its operation "chain". */
static tutti_status prepare_chain(const builder *b, step *s, uint64_t *ret_scratch,
                                  tutti_error *err)
{
    const tutti_op *device = program_chain_op(b->g, b->spec->device);
    s->run = chain_run;
    s->state = (void *)(uintptr_t)s->chain;
    *ret_scratch = chain_scratch(s->chain);
    if (!device)
        return TUTTI_OK;
    s->call->attr = chain_describe(s->chain, &b->p->memory);
    s->call->cuda = program_cuda(b->spec->device);
    s->state = NULL;
    *ret_scratch = 0;
    if (!s->call->attr)
        return out_of_memory(err);
    const tutti_status status = device->cuda->prepare(s->call, &s->state, ret_scratch, err);
    if (status)
        return status;
    s->kernel = device->cuda;
    s->run = device->cuda->run;
    return TUTTI_OK;
}

static tutti_status add_chain_step(builder *b, uint32_t k, tutti_error *err)
{
    program *p = b->p;
    step *s = &p->steps[p->nsteps++];
    chain *c = chain_make(b->g, b->live, b->wanted, b->ends, k, b->spec->threads, &p->memory);
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
                               descs + c->nin,  NULL,   &p->now, NULL};
    s->node = graph_node_at(b->g, k);
    add_guard(b, s, s->node->guard);
    s->chain = c;
    uint64_t scratch = 0;
    const tutti_status status = prepare_chain(b, s, &scratch, err);
    if (!status && scratch)
        s->scratch_interval = builder_add_interval(b, scratch, s->time, s->time);
    return status;
}

/* Is node `k`, the last one of its chain, alone in it, and does its own kernel do? */
static bool is_alone(const builder *b, uint32_t k)
{
    const graph_node *n = graph_node_at(b->g, k);
    bool low = cast_is_low(graph_value_at(b->g, n->out)->desc.dtype);
    for (uint32_t j = 0; j < n->nin; j++)
        low = low || cast_is_low(graph_value_at(b->g, n->in[j])->desc.dtype);
    if (low && program_runs_host_code(b->spec->device) && chain_joins(b->g, n) &&
        strcmp(n->op->name, "cast") != 0)
        return false;
    for (uint32_t j = 0; j < n->nin; j++) {
        const graph_value *x = graph_value_at(b->g, n->in[j]);
        if (x->kind == VALUE_NODE && b->ends[x->index] == k)
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
    p->classes[place] = (memory_class){
        from->kind == STORE_EXTERNAL ? NULL : store_place(b, from), from->index, NEVER, 0,    0,
        from->kind == STORE_EXTERNAL ? SPOT_EXTERNAL : SPOT_FIXED,  true,        true,  false};
    p->class_of[place] = place;
    if (from->value)
        *desc = graph_value_at(b->g, from->value)->desc;
    else
        *desc = (tutti_desc){{(int64_t)from->bytes}, 1, TUTTI_U8};
    *s->call = (tutti_op_call){sizeof *s->call, 1, 1, 1, desc, desc, NULL, &p->now, NULL};
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

static tutti_status make_steps(builder *b, tutti_error *err)
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
            if (!b->live[k])
                continue;
            if (!is_view(b, k) && b->ends[k] == k) {
                (void)next_step(b, segment);
                s = is_alone(b, k) ? add_node_step(b, k, err) : add_chain_step(b, k, err);
            }
            if (!s)
                s = add_stores(b, segment, k, 0, err);
        }
    }
    assert(s || k == b->nnodes);
    return s;
}

/* Everything is bounded by the graph, so memory is taken once. */
static tutti_status reserve(builder *b, tutti_error *err)
{
    program *p = b->p;
    const size_t stores = b->spec->nstores;
    size_t slots = 2 * stores + 1;
    b->nnodes = graph_nnodes(b->g);
    p->nvalues = graph_nvalues(b->g);
    p->nexternal = b->spec->nexternal;
    for (uint32_t k = 0; k < b->nnodes; k++)
        slots += graph_node_at(b->g, k)->nin + graph_node_at(b->g, k)->op->nout + 1;
    b->live = calloc((size_t)b->nnodes + 1, sizeof *b->live);
    b->direct = calloc(stores + 1, sizeof *b->direct);
    b->after = calloc(stores + 1, sizeof *b->after);
    b->wanted = calloc(p->nvalues, sizeof *b->wanted);
    b->leaves = calloc(p->nvalues, sizeof *b->leaves);
    b->solid = calloc((size_t)b->nnodes + 1, sizeof *b->solid);
    b->given = calloc((size_t)b->nnodes + 1, sizeof *b->given);
    b->ends = calloc((size_t)b->nnodes + 1, sizeof *b->ends);
    p->class_of = calloc(p->nvalues + stores, sizeof *p->class_of);
    p->classes = calloc(p->nvalues + stores, sizeof *p->classes);
    p->steps = calloc(b->nnodes + stores + 1, sizeof *p->steps);
    p->slots = calloc(slots, sizeof *p->slots);
    p->slot_class = calloc(slots, sizeof *p->slot_class);
    p->intervals = calloc((size_t)p->nvalues + b->nnodes + 2, sizeof *p->intervals);
    p->external = calloc((size_t)p->nexternal + 1, sizeof *p->external);
    return b->live && b->direct && b->after && b->wanted && b->leaves && b->solid && b->given &&
                   b->ends && p->class_of && p->classes && p->steps && p->slots &&
                   p->slot_class && p->intervals && p->external
               ? TUTTI_OK
               : out_of_memory(err);
}

tutti_status program_create(const program_spec *spec, program **ret_program, tutti_error *err)
{
    builder b = {.spec = spec, .g = spec->g, .p = calloc(1, sizeof(program))};
    if (!b.p)
        return out_of_memory(err);
    b.p->g = spec->g;
    b.p->dirty = true;
    b.p->now.struct_size = sizeof b.p->now;
    tutti_status s = reserve(&b, err);
    if (!s)
        s = mark_live(&b, err);
    if (!s)
        s = find_chains(&b, err);
    if (!s) {
        find_leaving(&b);
        make_classes(&b);
        s = program_place_constants(b.p, spec->device, err);
    }
    if (!s) {
        plan_stores(&b);
        s = make_steps(&b, err);
    }
    if (!s)
        s = builder_order_steps(&b, err);
    if (!s)
        s = builder_lay_out(&b, err);
    free(b.live);
    free(b.direct);
    free(b.after);
    free(b.wanted);
    free(b.leaves);
    free(b.solid);
    free(b.given);
    free(b.ends);
    if (s)
        program_destroy(b.p);
    else
        *ret_program = b.p;
    return s;
}
