/* builder.c - from graph to program: what is computed, and alias analysis, which values share memory (an alias set). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/builder.h"
#include "graph/ir/traits.h"

#include <stdlib.h>
#include <string.h>

static tutti_status out_of_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
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
        roots[n++] = graph_node_at(b->g, k)->recomputes;
    for (uint32_t k = 0; k < spec->nkeep; k++)
        roots[n++] = spec->keep[k];
    for (uint32_t k = 0; k < spec->nstores; k++)
        roots[n++] = spec->stores[k].value;
    graph_mark_live(b->g, roots, n, b->live);
    free(roots);
    return TUTTI_OK;
}

/* Casts of weights that are kept in that dtype are there before the run. */
static void find_preplaced(builder *b)
{
    for (uint32_t k = 0; k < b->nnodes && b->spec->copy; k++) {
        const graph_node *n = graph_node_at(b->g, k);
        const graph_value *x = n->nin ? graph_value_at(b->g, n->in[0]) : NULL;
        if (!b->live[k] || n->guard || b->wanted[n->out] || !x || x->kind != VALUE_WEIGHT ||
            !traits_have_role(n->op, TUTTI_ROLE_CAST))
            continue;
        const int32_t dtype = graph_value_at(b->g, n->out)->desc.dtype;
        b->preplaced[k] = b->spec->copy(b->spec->copy_ctx, x->index, dtype);
        b->live[k] = !b->preplaced[k];
    }
}

static tutti_status find_groups(builder *b, tutti_error *err)
{
    const program_spec *spec = b->spec;
    for (uint32_t k = 0; k < spec->nkeep; k++)
        b->wanted[spec->keep[k]] = true;
    for (uint32_t k = 0; k < spec->nstores; k++)
        b->wanted[spec->stores[k].value] = true;
    find_preplaced(b);
    for (uint32_t k = 0; k < b->nnodes; k++)
        b->wanted[graph_node_at(b->g, k)->recomputes] = true;
    const pointwise_device device = program_pointwise_device(b->g, spec->device);
    if (device.op || program_runs_host_code(spec->device))
        return pointwise_fusion_find(b->g, b->live, b->wanted, device.op ? &device : NULL,
                                     b->group_ends, err);
    for (uint32_t k = 0; k < b->nnodes; k++)
        b->group_ends[k] = k;
    return TUTTI_OK;
}

/* Sets escapes[]: these values must be zeros where their guard is 0. */
static void find_leaving(builder *b)
{
    for (uint32_t k = 0; k < b->nnodes; k++) {
        const graph_node *n = graph_node_at(b->g, k);
        if (!b->live[k])
            continue;
        for (uint32_t j = 0; j < n->nin; j++)
            b->escapes[n->in[j]] = b->escapes[n->in[j]] || guard_of(b, n->in[j]) != n->guard;
        b->escapes[n->guard] = true;
    }
    for (tutti_value v = 1; v < b->p->nvalues; v++)
        b->escapes[v] = b->escapes[v] || b->wanted[v];
}

/* Where constants, weights and inputs lie; views join what they look at. */
static void make_classes(builder *b)
{
    program *p = b->p;
    for (tutti_value v = 0; v < p->nvalues; v++) {
        const graph_value *value = graph_value_at(b->g, v);
        alias_set *m = &p->alias_sets[v];
        p->alias_set_of[v] = v;
        *m = (alias_set){NULL, 0, NEVER, NEVER, 0, LOCATION_ARENA, false, false, false};
        if (value->kind == VALUE_CONST) {
            m->location = LOCATION_FIXED;
            m->fixed = (void *)(uintptr_t)value->data;
        } else if (value->kind == VALUE_WEIGHT) {
            m->location = LOCATION_FIXED;
            m->fixed = b->spec->weights[value->index];
        } else if (value->kind == VALUE_INPUT && !is_held(b, v)) {
            m->location = LOCATION_EXTERNAL;
            m->external = value->index;
        }
    }
    for (uint32_t k = 0; k < b->spec->nstores; k++) {
        const program_store *s = &b->spec->stores[k];
        alias_set *m = &p->alias_sets[s->before];
        if (s->before)
            *m =
                (alias_set){s->memory, 0, NEVER, NEVER, 0, LOCATION_FIXED, false, false, false};
    }
    for (uint32_t k = 0; k < b->nnodes; k++) {
        const graph_node *n = graph_node_at(b->g, k);
        /* A guarded view of what is not guarded itself cannot become zeros where it lies. */
        b->solid[k] = n->op->flags & TUTTI_OP_VIEW && n->guard && b->escapes[n->out] &&
                      guard_of(b, program_alias_set(p, n->in[0])) != n->guard;
        if (builder_is_view(b, k))
            p->alias_set_of[n->out] = program_alias_set(p, n->in[0]);
        if (b->preplaced[k]) {
            p->alias_sets[n->out].location = LOCATION_FIXED;
            p->alias_sets[n->out].fixed = b->preplaced[k];
        }
    }
    for (tutti_value v = 1; v < p->nvalues; v++)
        builder_alias_set(b, v)->escapes = builder_alias_set(b, v)->escapes || b->escapes[v];
    for (uint32_t k = 0; k < b->spec->nkeep; k++)
        if (b->spec->keep[k])
            builder_alias_set(b, b->spec->keep[k])->kept = true;
}

/* The last live node that reads weight `id` as it was before the run, plus 1; a node reads when its group runs. */
static uint32_t readers_end(const builder *b, uint32_t id)
{
    uint32_t end = 0;
    for (uint32_t k = 0; k < b->nnodes; k++) {
        const graph_node *n = graph_node_at(b->g, k);
        for (uint32_t j = 0; j <= n->nin && b->live[k] && !builder_is_view(b, k); j++) {
            const tutti_value in = j < n->nin ? n->in[j] : n->guard;
            const graph_value *v = graph_value_at(b->g, program_alias_set(b->p, in));
            if (v->kind == VALUE_WEIGHT && v->index == id && b->group_ends[k] >= end)
                end = b->group_ends[k] + 1;
        }
    }
    return end;
}

/* Whether `v` is the input at external place `place`. */
static bool is_at_place(const builder *b, tutti_value v, uint32_t place)
{
    const tutti_value set = program_alias_set(b->p, v);
    const alias_set *m = &b->p->alias_sets[set];
    return graph_value_at(b->g, set)->kind == VALUE_INPUT && m->location == LOCATION_EXTERNAL &&
           m->external == place;
}

/* As readers_end, of the input at an external place. */
static uint32_t place_readers_end(const builder *b, uint32_t place)
{
    uint32_t end = 0;
    for (uint32_t k = 0; k < b->nnodes; k++) {
        const graph_node *n = graph_node_at(b->g, k);
        for (uint32_t j = 0; j <= n->nin && b->live[k] && !builder_is_view(b, k); j++)
            if (is_at_place(b, j < n->nin ? n->in[j] : n->guard, place) &&
                b->group_ends[k] >= end)
                end = b->group_ends[k] + 1;
    }
    return end;
}

/* May node `k`, the last that reads the input at `place`, write its result `v` there? */
static bool writes_place(const builder *b, uint32_t k, tutti_value v, uint32_t place)
{
    const graph_node *n = graph_node_at(b->g, k);
    const tutti_kernel *kernel = program_kernel(b->spec->device, n->op);
    const tutti_desc *out = &graph_value_at(b->g, n->out)->desc;
    bool may = kernel && v == n->out && !n->guard;
    for (uint32_t j = 0; j < b->nnodes && may; j++)
        may = j == k || !b->live[j] || b->group_ends[j] != k || builder_is_view(b, j);
    for (uint32_t j = 0; j < n->nin && may; j++) {
        const tutti_desc *in = &graph_value_at(b->g, n->in[j])->desc;
        may =
            !is_at_place(b, n->in[j], place) ||
            (kernel->inplace >> j & 1 && in->dtype == out->dtype && tutti_same_shape(in, out));
    }
    return may;
}

/* Whether `v`, a result of node `producer`, may be written to `place`, whose input readers before `end` read. */
static bool place_is_free(const builder *b, uint32_t producer, tutti_value v, uint32_t place,
                          uint32_t end)
{
    return end <= producer || (end == producer + 1 && writes_place(b, producer, v, place));
}

/* May node `k`, the last of its group, write where an input `v` of its shape lies?  Groups do, element by
 * element. */
static bool writes_onto(const builder *b, uint32_t k, tutti_value v)
{
    const graph_node *n = graph_node_at(b->g, k);
    const tutti_kernel *kernel = program_kernel(b->spec->device, n->op);
    for (uint32_t j = 0; j < n->nin; j++)
        if (program_alias_set(b->p, n->in[j]) == v && (!kernel || !(kernel->inplace >> j & 1)))
            return false;
    return true;
}

/* May result `v` of node `k`, the last that reads weight `id` as it was before the run, be written where the weight lies? */
static bool updates_weight(const builder *b, uint32_t k, tutti_value v, uint32_t id)
{
    const graph_node *n = graph_node_at(b->g, k);
    const tutti_op_traits *t = traits_of(n->op);
    const bool says = TUTTI_HAS(t, tutti_op_traits, updates) && t->updates;
    const uint32_t onto =
        says && v >= n->out && v < n->out + n->op->nout ? t->updates[v - n->out] : 0;
    bool reads = false, elsewhere = false;
    for (uint32_t j = 0; j <= n->nin && onto; j++) {
        const tutti_value in = j < n->nin ? n->in[j] : n->guard;
        const graph_value *x = graph_value_at(b->g, program_alias_set(b->p, in));
        const bool of_it = x->kind == VALUE_WEIGHT && x->index == id;
        reads = reads || (of_it && j + 1 == onto);
        elsewhere = elsewhere || (of_it && j + 1 != onto);
    }
    return reads && !elsewhere && !n->guard;
}

/* Whether the store's place may be written by node `producer` of `v`; those that read what is there are before `end`. */
static bool is_free(const builder *b, const program_store *s, uint32_t producer, tutti_value v,
                    uint32_t place, uint32_t end)
{
    if (s->kind == STORE_EXTERNAL)
        return place_is_free(b, producer, v, place, end);
    return end <= producer || (end == producer + 1 && updates_weight(b, producer, v, s->index));
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
        const tutti_value class = program_alias_set(b->p, s->value);
        const graph_value *root = graph_value_at(b->g, class);
        const uint32_t producer = root->kind == VALUE_NODE ? b->group_ends[root->index] : NEVER;
        alias_set *m = &b->p->alias_sets[class];
        const bool fixed =
            s->add || producer == NEVER || m->location != LOCATION_ARENA || m->kept;
        uint32_t place = s->index;
        if (s->onto && !fixed &&
            place_is_free(b, producer, class, s->onto - 1, place_readers_end(b, s->onto - 1)))
            place = s->onto - 1;
        const uint32_t end = s->kind == STORE_WEIGHT     ? readers_end(b, s->index)
                             : s->kind == STORE_EXTERNAL ? place_readers_end(b, place)
                                                         : 0;
        if (producer != NEVER || end)
            b->after[k] = producer == NEVER || end > producer + 1 ? end - 1 : producer;
        if (fixed || !is_free(b, s, producer, class, place, end) ||
            (s->before && !writes_onto(b, producer, s->before)))
            continue;
        b->direct[k] = true;
        m->location = s->kind == STORE_EXTERNAL ? LOCATION_EXTERNAL : LOCATION_FIXED;
        m->external = place;
        m->fixed = s->kind == STORE_EXTERNAL ? NULL : builder_store_place(b, s);
    }
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
    b->escapes = calloc(p->nvalues, sizeof *b->escapes);
    b->solid = calloc((size_t)b->nnodes + 1, sizeof *b->solid);
    b->preplaced = calloc((size_t)b->nnodes + 1, sizeof *b->preplaced);
    b->group_ends = calloc((size_t)b->nnodes + 1, sizeof *b->group_ends);
    p->alias_set_of = calloc(p->nvalues + stores, sizeof *p->alias_set_of);
    p->alias_sets = calloc(p->nvalues + stores, sizeof *p->alias_sets);
    p->steps = calloc(b->nnodes + stores + 1, sizeof *p->steps);
    p->slots = calloc(slots, sizeof *p->slots);
    p->slot_alias_set = calloc(slots, sizeof *p->slot_alias_set);
    p->intervals = calloc((size_t)p->nvalues + b->nnodes + 2, sizeof *p->intervals);
    p->external = calloc((size_t)p->nexternal + PLACES_BESIDE, sizeof *p->external);
    return b->live && b->direct && b->after && b->wanted && b->escapes && b->solid &&
                   b->preplaced && b->group_ends && p->alias_set_of && p->alias_sets &&
                   p->steps && p->slots && p->slot_alias_set && p->intervals && p->external
               ? TUTTI_OK
               : out_of_memory(err);
}

tutti_status program_create(const program_spec *spec, program **ret_program, tutti_error *err)
{
    builder b = {.spec = spec, .g = spec->g, .p = calloc(1, sizeof(program))};
    if (!b.p)
        return out_of_memory(err);
    b.p->g = spec->g;
    b.p->base.dirty = true;
    b.p->now.struct_size = sizeof b.p->now;
    tutti_status s = reserve(&b, err);
    if (!s)
        s = mark_live(&b, err);
    if (!s)
        s = find_groups(&b, err);
    if (!s) {
        find_leaving(&b);
        make_classes(&b);
        s = program_place_constants(b.p, spec->device, spec->captures, err);
    }
    if (!s) {
        plan_stores(&b);
        s = builder_make_steps(&b, err);
    }
    if (!s)
        s = builder_order_steps(&b, err);
    if (!s)
        s = builder_lay_out(&b, err);
    free(b.live);
    free(b.direct);
    free(b.after);
    free(b.wanted);
    free(b.escapes);
    free(b.solid);
    free(b.preplaced);
    free(b.group_ends);
    if (s)
        program_destroy(b.p);
    else
        *ret_program = b.p;
    return s;
}
