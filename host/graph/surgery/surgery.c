/* surgery.c - tutti.module/1: what plugins ask of the tree of modules and change in it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/surgery/surgery.h"
#include "graph/surgery/rebuild.h"

#include <stdlib.h>
#include <string.h>

static tutti_status out_of_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the module tree");
}

static tutti_status no_module(tutti_module m, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_ARG, "there is no module %u", m);
}

/* How errors call a module: its path, or its kind where it has no place. */
static const char *label(const net *n, tutti_module m)
{
    const char *path = module_tree_path(n, m);
    return *path ? path : net_module(n, m)->kind;
}

static tutti_module module_root(void *ctx)
{
    const net *n = ctx;
    return n->tree.nmodules > 1 ? 1 : 0;
}

static tutti_status module_create(void *ctx, const char *kind, const tutti_attr *params,
                                  uint32_t nparams, tutti_module *ret_module, tutti_error *err)
{
    net *n = ctx;
    layer_impl impl = {NULL, NULL, NULL, NULL};
    tutti_module m;
    tutti_status s =
        n->sources.make_layer(n->sources.make_layer_ctx, kind, params, nparams, &impl, err);
    if (s)
        return s;
    s = module_tree_new(n, kind, &m, err);
    if (s) {
        if (impl.instance)
            instance_free(impl.instance);
        return s;
    }
    net_module(n, m)->impl = impl; /* closed with the net, built or not */
    instance_call c = instance_enter_whole(impl.instance, "build");
    s = impl.table->build(impl.self, m, err);
    instance_leave(&c);
    if (s)
        return tutti_fail(err, s, "%s: build failed without a reason", kind);
    *ret_module = m;
    return TUTTI_OK;
}

static bool is_inside(const net *n, tutti_module m, tutti_module top)
{
    for (; m; m = n->tree.modules[m]->parent)
        if (m == top)
            return true;
    return false;
}

/* `m` may be placed under `parent`: it has no place yet and the tree stays a tree. */
static tutti_status check_placeable(const net *n, tutti_module parent, tutti_module m,
                                    tutti_error *err)
{
    if (!net_module(n, m))
        return no_module(m, err);
    if (m == 1 || net_module(n, m)->parent || net_module(n, m)->shapes)
        return tutti_fail(err, TUTTI_E_STATE, "%s: the module is in the tree already",
                          label(n, m));
    if (is_inside(n, parent, m))
        return tutti_fail(err, TUTTI_E_STATE, "%s: a module cannot be placed inside itself",
                          label(n, m));
    return TUTTI_OK;
}

static tutti_status module_add(void *ctx, tutti_module parent, const char *name,
                               tutti_module child, tutti_error *err)
{
    net *n = ctx;
    module *p = net_module(n, parent);
    if (!p)
        return no_module(parent, err);
    const tutti_status s = check_placeable(n, parent, child, err);
    if (s)
        return s;
    if (!*name || strchr(name, '.'))
        return tutti_fail(err, TUTTI_E_ARG, "%s: \"%s\" cannot be a child's name",
                          label(n, parent), name);
    if (module_tree_child(n, p, name) || module_tree_slot(p, name))
        return tutti_fail(err, TUTTI_E_EXISTS, "%s: there is a \"%s\" already",
                          label(n, parent), name);
    char *copy = strdup(name);
    tutti_module *place =
        copy ? module_tree_append(&p->children, &p->nchildren, sizeof *place) : NULL;
    if (!place) {
        free(copy);
        return out_of_memory(err);
    }
    *place = child;
    n->tree.modules[child]->name = copy;
    n->tree.modules[child]->parent = parent;
    n->tree.changed = true;
    return TUTTI_OK;
}

static tutti_status module_replace(void *ctx, tutti_module old, tutti_module next,
                                   tutti_error *err)
{
    net *n = ctx;
    module *from = net_module(n, old);
    if (!from)
        return no_module(old, err);
    if (!from->parent)
        return tutti_fail(
            err, TUTTI_E_STATE,
            "%s: only a module that is in the tree below the root can be replaced",
            label(n, old));
    const tutti_status s = check_placeable(n, from->parent, next, err);
    if (s)
        return s;
    module *parent = n->tree.modules[from->parent], *to = n->tree.modules[next];
    for (uint32_t k = 0; k < parent->nchildren; k++)
        if (parent->children[k] == old)
            parent->children[k] = next;
    to->name = from->name;
    to->parent = from->parent;
    from->name = NULL;
    from->parent = 0;
    n->tree.changed = true;
    return TUTTI_OK;
}

static tutti_module module_child_at(void *ctx, tutti_module m, uint32_t k)
{
    const module *it = net_module(ctx, m);
    return it && k < it->nchildren ? it->children[k] : 0;
}

static tutti_module module_child(void *ctx, tutti_module m, const char *name)
{
    const module *it = net_module(ctx, m);
    return it ? module_tree_child(ctx, it, name) : 0;
}

static tutti_module module_parent(void *ctx, tutti_module m)
{
    const module *it = net_module(ctx, m);
    return it ? it->parent : 0;
}

static tutti_module module_next(void *ctx, tutti_module m)
{
    return module_tree_next(ctx, m);
}

static const char *module_kind(void *ctx, tutti_module m)
{
    const module *it = net_module(ctx, m);
    return it ? it->kind : "";
}

static const char *module_path(void *ctx, tutti_module m)
{
    return module_tree_path(ctx, m);
}

static const tutti_params *module_params(void *ctx, tutti_module m)
{
    static const tutti_params none = {sizeof none, 0, NULL};
    const module *it = net_module(ctx, m);
    return it && it->impl.params ? it->impl.params : &none;
}

static tutti_status check_weight(const net *n, tutti_module m, const char *name,
                                 const tutti_desc *desc, const tutti_init *init, uint32_t flags,
                                 tutti_error *err)
{
    const module *it = net_module(n, m);
    if (module_tree_slot(it, name) || module_tree_child(n, it, name))
        return tutti_fail(err, TUTTI_E_EXISTS, "%s: there is a \"%s\" already", label(n, m),
                          name);
    if (!*name || strchr(name, '.'))
        return tutti_fail(err, TUTTI_E_ARG, "%s: \"%s\" cannot be a weight's name", label(n, m),
                          name);
    if (flags & TUTTI_WEIGHT_TRAINABLE && desc->dtype != TUTTI_F32)
        return tutti_fail(err, TUTTI_E_ARG, "%s: trainable weight \"%s\" is %s, want F32",
                          label(n, m), name, tutti_dtype_name(desc->dtype));
    tutti_error cause = TUTTI_ERROR_INIT;
    if (tutti_desc_check(desc, 0, &cause))
        return tutti_fail(err, cause.status, "%s: weight \"%s\": %s", label(n, m), name,
                          cause.text);
    const bool scaled =
        init->kind == TUTTI_INIT_KAIMING_NORMAL || init->kind == TUTTI_INIT_KAIMING_UNIFORM;
    if (init->kind < TUTTI_INIT_CONSTANT || init->kind > TUTTI_INIT_DATA ||
        (scaled && !(init->fan > 0.0)) || (init->kind == TUTTI_INIT_DATA && !init->data))
        return tutti_fail(err, TUTTI_E_ARG, "%s: weight \"%s\" has no valid start", label(n, m),
                          name);
    return TUTTI_OK;
}

static tutti_status module_weight(void *ctx, tutti_module m, const char *name,
                                  const tutti_desc *desc, const tutti_init *init,
                                  uint32_t flags, tutti_error *err)
{
    net *n = ctx;
    module *it = net_module(n, m);
    weight *w;
    if (!it)
        return no_module(m, err);
    tutti_status s = check_weight(n, m, name, desc, init, flags, err);
    if (!s)
        s = weight_create(n, desc, init, flags, &w, err);
    if (s)
        return s;
    char *copy = strdup(name);
    weight_slot *slot = copy ? module_tree_append(&it->slots, &it->nslots, sizeof *slot) : NULL;
    if (!slot) {
        free(copy);
        return out_of_memory(err);
    }
    *slot = (weight_slot){copy, w};
    n->tree.changed = true;
    return TUTTI_OK;
}

static tutti_status module_take_weight(void *ctx, tutti_module m, const char *name,
                                       tutti_module from, const char *from_name,
                                       tutti_error *err)
{
    net *n = ctx;
    char have[96], want[96];
    if (!net_module(n, m) || !net_module(n, from))
        return no_module(net_module(n, m) ? from : m, err);
    weight_slot *to = module_tree_slot(n->tree.modules[m], name);
    if (!to)
        return module_tree_no_weight(net_module(n, m), label(n, m), name, err);
    const weight_slot *source = module_tree_slot(n->tree.modules[from], from_name);
    if (!source)
        return module_tree_no_weight(net_module(n, from), label(n, from), from_name, err);
    const tutti_desc *a = &to->weight->desc, *b = &source->weight->desc;
    if (!tutti_same_shape(a, b) || a->dtype != b->dtype)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: weight \"%s\" is %s, \"%s\" of %s is %s",
                          label(n, m), name, tutti_desc_text(a, want, sizeof want), from_name,
                          label(n, from), tutti_desc_text(b, have, sizeof have));
    to->weight = source->weight;
    n->tree.changed = true;
    return TUTTI_OK;
}

/* The weight `name` of m, which has values from now on. */
static tutti_status started(net *n, tutti_module m, const char *name, const weight **ret,
                            tutti_error *err)
{
    const module *it = net_module(n, m);
    if (!it)
        return no_module(m, err);
    const weight_slot *slot = module_tree_slot(it, name);
    if (!slot)
        return module_tree_no_weight(net_module(n, m), label(n, m), name, err);
    char *path = module_tree_join(module_tree_path(n, m), name);
    const tutti_status s =
        path && !it->lacks_path ? weight_start(n, slot->weight, path, err) : out_of_memory(err);
    free(path);
    if (!s)
        *ret = slot->weight;
    return s;
}

static tutti_status module_weight_data(void *ctx, tutti_module m, const char *name,
                                       tutti_tensor *ret_view, tutti_error *err)
{
    net *n = ctx;
    const weight *w;
    const tutti_status s = started(n, m, name, &w, err);
    if (s)
        return s;
    tutti_tensor view = {w->data, w->desc,
                         w->owned ? TUTTI_DEVICE_CPU : device_number(n->options.device), 0};
    const tutti_status seen = n->options.see_weight
                                  ? n->options.see_weight(n->options.services_ctx, &view, err)
                                  : TUTTI_OK;
    if (!seen && w->parameter && device_is_host(n->options.device))
        net_expose_weights(n); /* who has the address may write at any time */
    if (!seen)
        *ret_view = view;
    return seen;
}

static tutti_status module_set_weight(void *ctx, tutti_module m, const char *name,
                                      const void *value, uint64_t bytes, tutti_error *err)
{
    net *n = ctx;
    const weight *w;
    const tutti_status s = started(n, m, name, &w, err);
    if (s)
        return s;
    if (bytes != tutti_nbytes(&w->desc))
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: %s has %llu bytes, not %llu", label(n, m),
                          name, (unsigned long long)tutti_nbytes(&w->desc),
                          (unsigned long long)bytes);
    if (w->parameter) /* of a buffer there is no copy */
        net_touch_weights(n);
    if (!w->owned && n->options.wrote_weight)
        n->options.wrote_weight(n->options.services_ctx);
    return device_copy(w->owned ? NULL : n->options.device, w->data, value, bytes,
                       TUTTI_COPY_TO_DEVICE, err);
}

static void set_trainable(net *n, tutti_module m, int32_t trainable)
{
    const module *it = n->tree.modules[m];
    for (uint32_t k = 0; k < it->nslots; k++) {
        weight *w = it->slots[k].weight;
        for (uint32_t j = 0; j < w->nvia; j++)
            set_trainable(n, w->via[j], trainable);
        const uint32_t flags = trainable ? w->flags | TUTTI_WEIGHT_TRAINABLE
                                         : w->flags & ~(uint32_t)TUTTI_WEIGHT_TRAINABLE;
        if (!w->parameter || flags == w->flags)
            continue;
        w->flags = flags;
        n->tree.changed = true;
    }
    for (uint32_t k = 0; k < it->nchildren; k++)
        set_trainable(n, it->children[k], trainable);
}

static tutti_status module_set_trainable(void *ctx, tutti_module m, int32_t trainable,
                                         tutti_error *err)
{
    if (!net_module(ctx, m))
        return no_module(m, err);
    set_trainable(ctx, m, trainable);
    return TUTTI_OK;
}

const tutti_module_v1 *net_modules(net *n)
{
    if (n->service.ctx)
        return &n->service;
    n->service = (tutti_module_v1){.struct_size = sizeof n->service,
                                   .ctx = n,
                                   .root = module_root,
                                   .create = module_create,
                                   .add = module_add,
                                   .replace = module_replace,
                                   .child_at = module_child_at,
                                   .child = module_child,
                                   .parent = module_parent,
                                   .next = module_next,
                                   .kind = module_kind,
                                   .path = module_path,
                                   .params = module_params,
                                   .weight = module_weight,
                                   .take_weight = module_take_weight,
                                   .weight_data = module_weight_data,
                                   .set_trainable = module_set_trainable,
                                   .set_weight = module_set_weight,
                                   .rebuild = rebuild_module,
                                   .parametrize = rebuild_parametrize,
                                   .parametrization = rebuild_parametrization};
    return &n->service;
}
