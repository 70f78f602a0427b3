/* layout.c - memory planning: liveness (lifetimes of results), in-place results, and the map of the arena. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/traits.h"
#include "graph/program/builder.h"
#include "graph/runtime/host_memory.h"

uint32_t builder_add_interval(builder *b, uint64_t bytes, uint32_t first, uint32_t last)
{
    program *p = b->p;
    p->intervals[p->nintervals] =
        (arena_interval){bytes_round(bytes ? bytes : 1), 0, first, last};
    return p->nintervals++;
}

static void touch(alias_set *m, uint32_t time)
{
    m->used = true;
    m->first = time < m->first ? time : m->first;
    m->last = time > m->last ? time : m->last;
}

static void find_lifetimes(builder *b)
{
    program *p = b->p;
    const uint32_t end = p->nsteps + 1;
    for (uint32_t k = 0; k < p->nsteps; k++) {
        const step *s = &p->steps[k];
        const uint32_t from = (uint32_t)((void *const *)s->in - p->slots);
        const uint32_t count = s->call->nin + s->call->nout + (s->guard != NULL);
        for (uint32_t j = 0; j < count; j++)
            touch(builder_alias_set(b, p->slot_alias_set[from + j]), s->time);
    }
    for (uint32_t k = 0; k < b->spec->nheld; k++)
        if (b->spec->held[k])
            touch(builder_alias_set(b, b->spec->held[k]), p->cut);
    for (uint32_t k = 0; k < b->spec->nkeep; k++)
        if (b->spec->keep[k])
            touch(builder_alias_set(b, b->spec->keep[k]),
                  b->spec->spent && b->spec->spent[k] ? p->cut : end);
}

/* Whether kept value `k` shares its memory with another one. */
static bool is_kept_twice(const builder *b, uint32_t k)
{
    const tutti_value set = program_alias_set(b->p, b->spec->keep[k]);
    for (uint32_t j = 0; j < b->spec->nkeep; j++)
        if (j != k && b->spec->keep[j] && program_alias_set(b->p, b->spec->keep[j]) == set)
            return true;
    return false;
}

/* What is written between the segments lies where a spent value lay that segment 1 does not read. */
static void merge_held(builder *b)
{
    const program_spec *spec = b->spec;
    program *p = b->p;
    for (uint32_t k = 0; spec->spent && k < spec->nkeep && k < spec->nheld; k++) {
        if (!spec->spent[k] || !spec->keep[k] || !spec->held[k])
            continue;
        const tutti_value in = program_alias_set(p, spec->keep[k]), out = spec->held[k];
        alias_set *m = &p->alias_sets[in], *o = &p->alias_sets[out];
        if (p->alias_set_of[out] != out || m->location != LOCATION_ARENA || m->last > p->cut ||
            tutti_nbytes(&graph_value_at(b->g, in)->desc) !=
                tutti_nbytes(&graph_value_at(b->g, out)->desc) ||
            is_kept_twice(b, k))
            continue;
        m->last = o->last;
        m->kept = false;
        o->used = false;
        p->alias_set_of[out] = in;
    }
}

/* Lets result `j` of a step lie where its operand `k` lies, if that dies there; whether it does. */
static bool merge_result(program *p, const step *s, uint32_t j, uint32_t k)
{
    const graph_node *n = s->node;
    const tutti_value out = n->out + j, in = program_alias_set(p, n->in[k]);
    alias_set *m = &p->alias_sets[in], *o = &p->alias_sets[out];
    bool fits = m->location == LOCATION_ARENA && m->last == s->time && !m->kept &&
                s->call->in[k].dtype == s->call->out[j].dtype &&
                tutti_same_shape(&s->call->in[k], &s->call->out[j]);
    for (uint32_t i = 0; i < n->nin && fits; i++)
        fits = i == k || program_alias_set(p, n->in[i]) != in;
    if (!fits)
        return false;
    m->last = o->last;
    m->kept = o->kept;
    o->used = false;
    p->alias_set_of[out] = in;
    return true;
}

/* Results that lie where operands lie which die there: the first where the kernel allows that, others where the operation
 * says so. */
static void merge_in_place(builder *b, const step *s)
{
    const graph_node *n = s->node;
    const tutti_op_traits *t = traits_of(n->op);
    const bool says = TUTTI_HAS(t, tutti_op_traits, updates) && t->updates;
    program *p = b->p;
    uint32_t taken = 0;
    for (uint32_t j = 0; j < n->op->nout && s->kernel; j++) {
        const tutti_value out = n->out + j;
        const uint32_t onto = says ? t->updates[j] : 0;
        const uint32_t places = j == 0 ? s->kernel->inplace : onto ? 1u << (onto - 1) : 0;
        bool done = p->alias_set_of[out] != out || !p->alias_sets[out].used ||
                    p->alias_sets[out].location != LOCATION_ARENA;
        for (uint32_t k = 0; k < n->nin && !done; k++) {
            done = (places & ~taken) >> k & 1 && merge_result(p, s, j, k);
            taken |= done ? 1u << k : 0;
        }
    }
}

/* The same for every result of a group. */
static void merge_group_in_place(builder *b, const step *s)
{
    const pointwise_kernel *c = s->pointwise_kernel;
    program *p = b->p;
    for (uint32_t j = 0; j < c->nout; j++) {
        const tutti_value out = c->out[j];
        alias_set *o = &p->alias_sets[out];
        if (p->alias_set_of[out] != out || o->location != LOCATION_ARENA)
            continue;
        for (uint32_t k = 0; k < c->nin && p->alias_set_of[out] == out; k++) {
            const tutti_value in = program_alias_set(p, c->in[k]);
            alias_set *m = &p->alias_sets[in];
            bool fits = pointwise_kernel_in_place(c, j, k) && m->location == LOCATION_ARENA &&
                        m->last == s->time && !m->kept;
            for (uint32_t i = 0; i < c->nin && fits; i++)
                fits = i == k || program_alias_set(p, c->in[i]) != in;
            if (!fits)
                continue;
            m->last = o->last;
            m->kept = o->kept;
            o->used = false;
            p->alias_set_of[out] = in;
        }
    }
}

void builder_find_lifetimes(builder *b)
{
    const program *p = b->p;
    find_lifetimes(b);
    for (uint32_t k = 0; k <= p->nsteps; k++) {
        if (k == p->cut)
            merge_held(b);
        if (k < p->nsteps && p->steps[k].pointwise_kernel)
            merge_group_in_place(b, &p->steps[k]);
        else if (k < p->nsteps && p->steps[k].node)
            merge_in_place(b, &p->steps[k]);
    }
}

tutti_status builder_lay_out(builder *b, tutti_error *err)
{
    program *p = b->p;
    builder_find_lifetimes(b);
    for (tutti_value v = 1; v < p->nvalues; v++) {
        alias_set *m = &p->alias_sets[v];
        if (p->alias_set_of[v] == v && m->used && m->location == LOCATION_ARENA)
            m->interval = builder_add_interval(b, tutti_nbytes(&graph_value_at(b->g, v)->desc),
                                               m->first, m->last);
    }
    uint32_t cut = NEVER;
    if (b->spec->cut_bytes)
        cut = builder_add_interval(b, b->spec->cut_bytes, p->cut, p->cut);
    for (uint32_t k = 0; k < p->nslots; k++)
        p->slot_alias_set[k] = program_alias_set(p, p->slot_alias_set[k]);
    const tutti_status s = arena_pack(p->intervals, p->nintervals, &p->bytes, err);
    if (!s && cut != NEVER)
        p->cut_offset = p->intervals[cut].offset;
    return s;
}
