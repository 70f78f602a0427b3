/* buffer_binding.c - buffer binding: the addresses of a program's values, in the arena or at places that others own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/program_internal.h"

tutti_value program_alias_set(const program *p, tutti_value v)
{
    while (p->alias_set_of[v] != v)
        v = p->alias_set_of[v];
    return v;
}

static void *fixed_address(const program *p, void *fixed)
{
    const uint64_t at = (uint64_t)(uintptr_t)fixed - (uint64_t)(uintptr_t)p->base.from;
    return at < p->base.bytes ? p->base.to + at : fixed;
}

static void *class_address(const program *p, tutti_value class)
{
    const alias_set *m = &p->alias_sets[class];
    if (m->location == LOCATION_FIXED)
        return fixed_address(p, m->fixed);
    if (m->location == LOCATION_EXTERNAL)
        return p->external[m->external];
    return m->interval == NEVER || !p->base.arena
               ? NULL
               : p->base.arena + p->intervals[m->interval].offset;
}

void *program_address(const program *p, tutti_value v)
{
    return class_address(p, program_alias_set(p, v));
}

bool program_is_external(const program *p, tutti_value v, uint32_t k)
{
    const alias_set *m = &p->alias_sets[program_alias_set(p, v)];
    return m->location == LOCATION_EXTERNAL && m->external == k;
}

bool program_is_shared(const program *p, tutti_value a, tutti_value b)
{
    return program_alias_set(p, a) == program_alias_set(p, b);
}

void program_set_arena(program *p, void *base)
{
    p->base.dirty = p->base.dirty || p->base.arena != base;
    p->base.arena = base;
    p->external[p->nexternal + PLACE_ARENA] = base;
}

void program_set_external(program *p, uint32_t k, const void *place)
{
    if (p->external[k] == place)
        return;
    p->external[k] = (void *)(uintptr_t)place;
    for (uint32_t j = 0; j < p->nslots && !p->base.dirty; j++) {
        const alias_set *m = &p->alias_sets[p->slot_alias_set[j]];
        if (m->location == LOCATION_EXTERNAL && m->external == k)
            p->slots[j] = p->external[k];
    }
}

void program_bind(program *p)
{
    for (uint32_t j = 0; j < p->nslots; j++)
        p->slots[j] = class_address(p, p->slot_alias_set[j]);
    for (uint32_t k = 0; k < p->nsteps; k++)
        if (p->steps[k].scratch_interval != NEVER && p->base.arena)
            p->steps[k].scratch =
                p->base.arena + p->intervals[p->steps[k].scratch_interval].offset;
    p->base.dirty = false;
}
