/* program.c - replaying a program, and what it tells of itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"
#include "graph/ir/sound.h"
#include "graph/program/packed_operands.h"
#include "graph/runtime/autotune_measure.h"
#include "graph/runtime/upcast.h"

#include <stdlib.h>

tutti_status program_run_uncaptured(program *p, int32_t segment, const tutti_step *now,
                                    tutti_error *err)
{
    if (!p->device || tutti_device_is_host(p->device))
        return program_run(p, segment, now, err);
    if (p->base.dirty)
        program_bind(p);
    p->now = *now;
    p->captures.ran = p->captures.ran || segment;
    return program_run_steps(p, p->steps + (segment ? p->cut : 0),
                             p->steps + (segment ? p->nsteps : p->cut), err);
}

bool program_has_run(const program *p)
{
    return p->captures.ran;
}

tutti_status program_run(program *p, int32_t segment, const tutti_step *now, tutti_error *err)
{
    if (p->base.dirty)
        program_bind(p);
    p->now = *now;
    if (!p->device)
        return program_run_here(p, segment, err);
    p->captures.ran = p->captures.ran || segment;
    return program_run_on_device(p, segment, err);
}

tutti_status program_run_part(program *p, int32_t segment, uint32_t *at, const tutti_step *now,
                              program_pause *ret_pause, tutti_error *err)
{
    if (p->base.dirty)
        program_bind(p);
    p->now = *now;
    if (p->device)
        return program_run_part_on_device(p, segment, at, ret_pause, err);
    return program_run_part_here(p, segment, at, ret_pause, err);
}

static bool touches(void *const *places, const tutti_desc *descs, uint32_t n,
                    const unsigned char *first, uint64_t bytes)
{
    for (uint32_t k = 0; k < n; k++) {
        const unsigned char *at = places[k];
        if (at && at < first + bytes && first < at + tutti_nbytes(&descs[k]))
            return true;
    }
    return false;
}

program_use program_uses(program *p, int32_t segment, const void *memory, uint64_t bytes)
{
    const uint32_t begin = segment ? p->cut : 0, end = segment ? p->nsteps : p->cut;
    program_use use = {0, 0};
    if (p->base.dirty)
        program_bind(p);
    for (uint32_t k = begin; k < end; k++) {
        const step *s = &p->steps[k];
        if (!touches(s->out, s->call->out, s->call->nout, memory, bytes) &&
            !touches((void *const *)s->in, s->call->in, s->call->nin, memory, bytes))
            continue;
        use.last = k - begin + 1;
        use.first = use.first ? use.first : use.last;
    }
    return use;
}

uint32_t program_last_use(program *p, const void *memory, uint64_t bytes)
{
    return program_uses(p, 1, memory, bytes).last;
}

void program_reach(program *p, void (*reached)(void *ctx, int32_t segment, uint32_t step),
                   void *ctx)
{
    p->watcher.reached = reached;
    p->watcher.reached_ctx = ctx;
}

void program_watch(program *p, void (*passed)(void *ctx, uint32_t step), void *ctx,
                   const uint32_t *marks, uint32_t nmarks)
{
    p->watcher.passed = passed;
    p->watcher.ctx = ctx;
    p->watcher.marks = marks;
    p->watcher.nmarks = nmarks;
}

static bool is_sound(const step *s)
{
    bool sound = true;
    for (uint32_t j = 0; s->node && j < s->call->nout && sound; j++) {
        const tutti_tensor t = {s->out[j], s->call->out[j], TUTTI_DEVICE_CPU, 0};
        sound = tensor_is_sound(&t);
    }
    return sound;
}

tutti_status program_find_unsound(program *p, const tutti_step *now, const char **ret_scope,
                                  const char **ret_op, tutti_error *err)
{
    *ret_scope = *ret_op = NULL;
    if (p->device && !tutti_device_is_host(p->device))
        return TUTTI_OK;
    if (p->base.dirty)
        program_bind(p);
    p->now = *now;
    for (const step *s = p->steps; s < p->steps + p->cut; s++) {
        if (s->guard && **s->guard == 0.0f) {
            program_skip_step(s);
            continue;
        }
        packed_operands_refresh(p, s);
        const tutti_status status = s->run(s->state, s->call, s->in, s->out, s->scratch);
        if (status)
            return program_fail_step(s, status, err);
        if (is_sound(s))
            continue;
        *ret_scope = s->node->scope;
        *ret_op = s->node->op->name;
        break;
    }
    return TUTTI_OK;
}

uint64_t program_bytes(const program *p)
{
    return p->bytes;
}

uint64_t program_held_bytes(const program *p)
{
    uint64_t sum = sizeof *p + pool_bytes(&p->memory);
    sum += (uint64_t)p->nvalues * (sizeof *p->alias_set_of + sizeof *p->alias_sets);
    sum += (uint64_t)p->nslots * (sizeof *p->slots + sizeof *p->slot_alias_set);
    sum += (uint64_t)p->nsteps * sizeof *p->steps;
    sum += (uint64_t)p->nintervals * sizeof *p->intervals;
    for (uint32_t k = 0; k < p->nsteps; k++)
        if (p->steps[k].state && !p->steps[k].pointwise_kernel)
            sum += 32 << 10;
    return sum;
}

uint64_t program_cut_offset(const program *p)
{
    return p->cut_offset;
}

program_rematerialization program_rematerialized(const program *p)
{
    return p->rematerialization;
}

uint32_t program_nsteps(const program *p)
{
    return p->nsteps;
}

uint32_t program_nsteps_of(const program *p, int32_t segment)
{
    return segment ? p->nsteps - p->cut : p->cut;
}

const arena_interval *program_intervals(const program *p, uint32_t *ret_count)
{
    *ret_count = p->nintervals;
    return p->intervals;
}

/* Has one of the algorithms of a kernel to do with bf16? */
static bool may_split(const step *s)
{
    const char *algorithm = NULL;
    for (uint32_t k = 0; (algorithm = autotune_algorithm_name(s->node->op, s->call, k)); k++)
        if (strstr(algorithm, "bf16"))
            return true;
    return false;
}

uint32_t program_fast_steps(const program *p, uint32_t *ret_possible)
{
    uint32_t fast = 0, possible = 0;
    for (uint32_t k = 0; k < p->nsteps; k++) {
        const step *s = &p->steps[k];
        const bool may = s->node && !s->pointwise_kernel && s->algorithm &&
                         attr_get(s->node->op, s->node->attr, "fast") == 1 && may_split(s);
        possible += may;
        fast += may && strstr(s->algorithm, "bf16");
    }
    *ret_possible = possible;
    return fast;
}

static void dump_place(const program *p, tutti_value v, FILE *file)
{
    char text[96];
    const alias_set *m = &p->alias_sets[program_alias_set(p, v)];
    (void)fprintf(file, " %%%u %s", v,
                  tutti_desc_text(&graph_value_at(p->g, v)->desc, text, sizeof text));
    if (m->location == LOCATION_EXTERNAL)
        (void)fprintf(file, " at external %u", m->external);
    else if (m->location == LOCATION_FIXED)
        (void)fprintf(file, " fixed");
    else if (m->interval != NEVER)
        (void)fprintf(file, " at %llu", (unsigned long long)p->intervals[m->interval].offset);
}

/* "add+relu %3 F32 (8, 4) at 0 %5 ... -> %7 ...".  "converted to f32": its kernel does not take these 16 bits here. */
static void dump_step(const program *p, const step *s, FILE *file)
{
    const pointwise_kernel *c = s->pointwise_kernel;
    const graph_node *n = s->node;
    for (uint32_t j = 0; c && j < c->nops; j++)
        (void)fprintf(file, "%s%s", j ? "+" : "", c->ops[j].node->op->name);
    if (!c)
        (void)fprintf(file, "%s", n ? n->op->name : "store");
    if (s->algorithm)
        (void)fprintf(file, " [%s]", s->algorithm);
    if (s->choice)
        (void)fprintf(file, " [%s: %s]",
                      *s->choice->library ? s->choice->library : "own kernel", s->choice->text);
    if (s->upcast)
        (void)fprintf(file, " converted to f32");
    if (n && n->group)
        (void)fprintf(file, " again");
    if (s->packed)
        (void)fprintf(file, " of packed weights");
    for (uint32_t j = 0; n && j < s->call->nin; j++)
        dump_place(p, c ? c->in[j] : n->in[j], file);
    if (s->guard)
        (void)fprintf(file, " if %%%u", n->guard);
    (void)fprintf(file, " ->");
    for (uint32_t j = 0; n && j < s->call->nout; j++)
        dump_place(p, c ? c->out[j] : n->out + j, file);
}

void program_dump(const program *p, FILE *file)
{
    for (uint32_t k = 0; k < p->nsteps; k++) {
        const step *s = &p->steps[k];
        if (k == p->cut)
            (void)fprintf(file, "---\n");
        (void)fprintf(file, "%4u ", s->time);
        dump_step(p, s, file);
        if (s->scratch_interval != NEVER)
            (void)fprintf(file, " scratch %llu at %llu",
                          (unsigned long long)p->intervals[s->scratch_interval].bytes,
                          (unsigned long long)p->intervals[s->scratch_interval].offset);
        (void)fprintf(file, s->node && *s->node->scope ? "  # %s\n" : "\n",
                      s->node ? s->node->scope : "");
    }
    for (uint32_t k = 0; k < p->nintervals; k++)
        if (p->intervals[k].bytes)
            (void)fprintf(file, "arena %llu +%llu steps %u-%u\n",
                          (unsigned long long)p->intervals[k].offset,
                          (unsigned long long)p->intervals[k].bytes, p->intervals[k].first,
                          p->intervals[k].last);
    (void)fprintf(file, "arena %llu bytes\n", (unsigned long long)p->bytes);
}

void program_end_step(const step *s)
{
    if (s->upcast)
        upcast_destroy(s->state);
    else if (s->kernel && s->kernel->destroy && s->kernel->prepare)
        s->kernel->destroy(s->state);
}

void program_destroy(program *p)
{
    if (!p)
        return;
    program_leave_device(p);
    program_drop_parts(p);
    packed_operands_give(p);
    for (uint32_t k = 0; k < p->nsteps; k++)
        program_end_step(&p->steps[k]);
    pool_free(&p->memory);
    free(p->alias_set_of);
    free(p->alias_sets);
    free(p->steps);
    free(p->slots);
    free(p->slot_alias_set);
    free(p->intervals);
    free(p->external);
    free(p);
}
