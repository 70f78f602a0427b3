/* join_instance.c - a plugin's instance becomes a participant: what its manifest says of events and order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

static tutti_status end_close(void *owner, tutti_error *err)
{
    return instance_close(owner, err);
}

static tutti_status end_post_close(void *owner, tutti_error *err)
{
    return instance_post_close(owner, err);
}

/* Copies a list of strings into `*next`, moves it past, and returns the copy, NULL-terminated. */
static const char *const *copy_list(const json_node *list, const char ***next)
{
    const char **copy = *next;
    if (!list)
        return NULL;
    for (size_t k = 0; k < json_count(list); k++)
        *(*next)++ = json_string(json_at(list, k));
    *(*next)++ = NULL;
    return copy;
}

static tutti_status read_events(const engine *e, const json_node *list, uint64_t *mask,
                                const char *manifest, tutti_error *err)
{
    for (size_t k = 0; list && k < json_count(list); k++) {
        const char *name = json_string(json_at(list, k));
        const int32_t event = engine_find_event(e, name);
        if (event < 0)
            return tutti_fail(err, TUTTI_E_ARG, "%s: reverse_on names no event: %s", manifest,
                              name);
        mask[event >> 6] |= UINT64_C(1) << (event & 63);
    }
    return TUTTI_OK;
}

/* The manifest's "order" object; texts stay the manifest's, the lists go to p->memory. */
static tutti_status read_order(const engine *e, const json_node *order, participant *p,
                               tutti_error *err)
{
    static const char *const lists[] = {"before", "after", "exclusive"};
    size_t count = 0;
    if (!order)
        return TUTTI_OK;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        const json_node *list = json_get(order, lists[k]);
        count += list ? json_count(list) + 1 : 0;
    }
    const char **next = malloc((count + 1) * sizeof *next);
    if (!next)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the order rules of %s", p->name);
    p->memory = next;
    const json_node *first = json_get(order, "first"), *last = json_get(order, "last");
    p->rules.first = first && json_bool(first);
    p->rules.last = last && json_bool(last);
    p->rules.before = copy_list(json_get(order, "before"), &next);
    p->rules.after = copy_list(json_get(order, "after"), &next);
    p->rules.exclusive = copy_list(json_get(order, "exclusive"), &next);
    return read_events(e, json_get(order, "reverse_on"), p->rules.reverse_on, p->manifest, err);
}

static bool has_word(const char *const *words, const char *word)
{
    for (; words && *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

bool engine_instance(const engine *e, size_t k, const instance **ret_instance)
{
    if (k >= e->nparts)
        return false;
    const bool ours = e->parts[k].close == end_close;
    *ret_instance = ours ? e->parts[k].owner : NULL;
    return true;
}

tutti_status engine_add(engine *e, instance *i, tutti_error *err)
{
    const object_info *info = object_describe(instance_object(i));
    const tutti_param *switched = tutti_param_find(instance_params(i), "interpolate_loss");
    const tutti_param *index = tutti_param_find(instance_params(i), "index");
    size_t nevents = 0;
    const int32_t *events = instance_events(i, &nevents);
    participant p = {.name = instance_name(i),
                     .object = info->name,
                     .kind = info->kind,
                     .plugin = info->plugin_id,
                     .manifest = info->manifest,
                     .events = events,
                     .nevents = nevents,
                     .tags = info->tags,
                     .on_error = info->on_error,
                     .pass_index =
                         index && index->type == TUTTI_PARAM_INT ? (int)index->i : info->index,
                     .interpolates_loss = has_word(info->traits, "interpolate_loss") &&
                                          (!switched || switched->i),
                     .close = end_close,
                     .post_close = end_post_close,
                     .owner = i};
    p.calls = instance_participant(i, &p.self);
    tutti_status s = read_order(e, info->order, &p, err);
    if (s == TUTTI_OK)
        s = engine_add_object(e, &p, err);
    if (s != TUTTI_OK)
        free(p.memory);
    return s;
}
