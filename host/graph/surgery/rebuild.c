/* rebuild.c - tutti.module/1: modules that are built anew in place, and weights that are read through modules. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/surgery/rebuild.h"
#include "graph/surgery/surgery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SETTINGS 64

static tutti_status out_of_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the module tree");
}

/* ---- rebuild ---- */

static const tutti_attr *attr_named(const tutti_attr *attr, uint32_t n, const char *name)
{
    for (uint32_t k = 0; k < n; k++)
        if (strcmp(attr[k].name, name) == 0)
            return &attr[k];
    return NULL;
}

/* The settings of `it`, where `change` does not say otherwise, and then those in `change`. */
static tutti_status merge(const module *it, const tutti_attr *change, uint32_t nchange,
                          tutti_attr *attr, uint32_t *ret_count, tutti_error *err)
{
    const tutti_params *p = it->impl.params;
    uint32_t n = 0;
    if ((p ? p->count : 0) + nchange > MAX_SETTINGS)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: more than %d settings", it->kind,
                          MAX_SETTINGS);
    for (uint32_t k = 0; p && k < p->count; k++) {
        const tutti_param *s = p->items[k];
        if (s->type == TUTTI_PARAM_NULL || attr_named(change, nchange, s->name))
            continue;
        if (s->type == TUTTI_PARAM_FLOAT)
            attr[n++] = tutti_attr_f(s->name, s->f);
        else if (s->type == TUTTI_PARAM_BOOL || s->type == TUTTI_PARAM_INT ||
                 s->type == TUTTI_PARAM_ENUM)
            attr[n++] = tutti_attr_i(s->name, s->i);
        else
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "%s: setting %s is no number, which a module that is built anew "
                              "cannot keep",
                              it->kind, s->name);
    }
    if (nchange)
        memcpy(attr + n, change, sizeof *attr * nchange);
    *ret_count = n + nchange;
    return TUTTI_OK;
}

/* Weights of `it` stay where `fresh` declares them alike. */
static void keep_weights(const module *it, const module *fresh)
{
    for (uint32_t k = 0; k < fresh->nslots; k++) {
        const weight_slot *had = module_tree_slot(it, fresh->slots[k].name);
        if (had && had->weight->desc.dtype == fresh->slots[k].weight->desc.dtype &&
            tutti_same_shape(&had->weight->desc, &fresh->slots[k].weight->desc))
            fresh->slots[k].weight = had->weight;
    }
}

/* Children of `it` stay; those of `fresh` that have other names come behind them. */
static tutti_status keep_children(net *n, tutti_module m, module *it, module *fresh,
                                  tutti_error *err)
{
    const uint32_t capacity = it->nchildren + fresh->nchildren;
    tutti_module *all = realloc(it->children, sizeof *all * (capacity + 1u));
    if (!all)
        return out_of_memory(err);
    it->children = all;
    uint32_t left = 0;
    for (uint32_t k = 0; k < fresh->nchildren; k++) {
        const tutti_module c = fresh->children[k];
        if (module_tree_child(n, it, n->tree.modules[c]->name)) {
            fresh->children[left++] = c;
            continue;
        }
        all[it->nchildren++] = c;
        n->tree.modules[c]->parent = m;
    }
    fresh->nchildren = left;
    return TUTTI_OK;
}

tutti_status rebuild_module(void *ctx, tutti_module m, const char *kind,
                            const tutti_attr *params, uint32_t nparams, tutti_error *err)
{
    net *n = ctx;
    module *it = net_module(n, m);
    tutti_attr attr[MAX_SETTINGS];
    tutti_module next;
    uint32_t nattr = nparams;
    if (!it || m == 1)
        return tutti_fail(err, TUTTI_E_ARG, "there is no module %u that could be built anew",
                          m);
    const bool same = !kind || strcmp(kind, it->kind) == 0;
    tutti_status s = same ? merge(it, params, nparams, attr, &nattr, err) : TUTTI_OK;
    if (!s) /* by the table that has this function */
        s = n->service.create(ctx, same ? it->kind : kind, same ? attr : params, nattr, &next,
                              err);
    if (s)
        return s;
    it = net_module(n, m);
    module *fresh = net_module(n, next);
    keep_weights(it, fresh);
    if ((s = keep_children(n, m, it, fresh, err)))
        return s;
    const module had = *it;
    it->kind = fresh->kind;
    it->impl = fresh->impl;
    it->slots = fresh->slots;
    it->nslots = fresh->nslots;
    fresh->kind = had.kind;
    fresh->impl = had.impl;
    fresh->slots = had.slots;
    fresh->nslots = had.nslots;
    n->tree.changed = true;
    return TUTTI_OK;
}

/* ---- parametrizations ---- */

static weight *weight_named(const net *n, tutti_module m, const char *name, tutti_error *err)
{
    const module *it = net_module(n, m);
    const weight_slot *slot = it ? module_tree_slot(it, name) : NULL;
    if (!it)
        (void)tutti_fail(err, TUTTI_E_ARG, "there is no module %u", m);
    else if (!slot)
        (void)module_tree_no_weight(it, module_tree_path(n, m), name, err);
    return slot ? slot->weight : NULL;
}

tutti_status rebuild_parametrize(void *ctx, tutti_module m, const char *name, tutti_module by,
                                 tutti_error *err)
{
    net *n = ctx;
    weight *w = weight_named(n, m, name, err);
    module *p = net_module(n, by);
    if (!w)
        return err->status;
    if (!w->parameter)
        return tutti_fail(
            err, TUTTI_E_ARG, "%s: %s is a buffer, which has no parametrization",
            *module_tree_path(n, m) ? module_tree_path(n, m) : net_module(n, m)->kind, name);
    if (!p || !p->impl.table || p->parent || p->shapes)
        return tutti_fail(err, TUTTI_E_STATE,
                          "module %u cannot be a parametrization: it has a place already", by);
    tutti_module *more = realloc(w->via, sizeof *more * (w->nvia + 1u));
    if (!more)
        return out_of_memory(err);
    w->via = more;
    w->via[w->nvia++] = by;
    p->shapes = true;
    n->tree.changed = true;
    return TUTTI_OK;
}

tutti_module rebuild_parametrization(void *ctx, tutti_module m, const char *name, uint32_t k)
{
    const module *it = net_module(ctx, m);
    const weight_slot *slot = it ? module_tree_slot(it, name) : NULL;
    return slot && k < slot->weight->nvia ? slot->weight->via[k] : 0;
}

tutti_status rebuild_place(const net *n, const weight *w, const char *path, tutti_error *err)
{
    for (uint32_t k = 0; k < w->nvia; k++) {
        module *p = net_module(n, w->via[k]);
        const size_t size = strlen(path) + strlen(p->kind) + 2;
        char *full = malloc(size);
        if (!full)
            return out_of_memory(err);
        (void)snprintf(full, size, "%s.%s", path, p->kind);
        free(p->path);
        p->path = full;
    }
    return TUTTI_OK;
}
