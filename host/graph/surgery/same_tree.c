/* same_tree.c - whether a net's modules are still those that its model builds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/faults.h"
#include "graph/net/net_internal.h"
#include "graph/surgery/surgery.h"

#include <stdlib.h>
#include <string.h>

static tutti_status differs(const net *n, tutti_module m, const char *was, tutti_error *err)
{
    const char *path = module_tree_path(n, m), *kind = net_module(n, m)->kind;
    return tutti_fail(
        err, TUTTI_E_STATE,
        "%s%s%s, and not what the model has there, %s: an algorithm has changed it",
        *path ? path : "the model", *path ? " is " : " has other modules",
        *path && kind ? kind : "", was);
}

static tutti_status same_weights(const net *n, tutti_module m, const module *a, const module *b,
                                 tutti_error *err)
{
    bool same = a->nslots == b->nslots;
    for (uint32_t k = 0; k < a->nslots && same; k++) {
        const weight_slot *other = module_tree_slot(b, a->slots[k].name);
        same = other && a->slots[k].weight->nvia == 0 &&
               a->slots[k].weight->desc.dtype == other->weight->desc.dtype &&
               tutti_same_shape(&a->slots[k].weight->desc, &other->weight->desc);
    }
    return same ? TUTTI_OK : differs(n, m, "with other weights", err);
}

/* Module `m` of `n` and `like` of the tree that it is compared with, and all below. */
static tutti_status same_modules(const net *n, tutti_module m, const net *tree,
                                 tutti_module like, tutti_error *err)
{
    const module *a = net_module(n, m), *b = net_module(tree, like);
    if (strcmp(a->kind ? a->kind : "", b->kind ? b->kind : "") != 0)
        return differs(n, m, b->kind ? b->kind : "a model", err);
    tutti_status s = same_weights(n, m, a, b, err);
    for (uint32_t k = 0; k < a->nchildren && !s; k++) {
        const tutti_module other =
            module_tree_child(tree, b, net_module(n, a->children[k])->name);
        s = other ? same_modules(n, a->children[k], tree, other, err)
                  : differs(n, a->children[k], "nothing", err);
    }
    return !s && a->nchildren != b->nchildren ? differs(n, m, "more modules", err) : s;
}

/* ---- the tree again ---- */

static const void *only_modules(void *ctx, instance *i, const char *id)
{
    (void)i;
    return strcmp(id, TUTTI_MODULE_V1) == 0 ? net_modules(*(net **)ctx) : NULL;
}

/* The model with the same settings, for `ctx`, the address of a net; NULL with an error. */
static instance *open_again(const instance *model, net **ctx, tutti_error *err)
{
    const object *o = instance_object(model);
    char *text = params_text(instance_params(model));
    json_doc *settings = NULL;
    instance *again = NULL;
    faults *f = faults_create();
    if (!text || !f)
        (void)tutti_fail(err, TUTTI_E_NOMEM, "no memory for a model's settings");
    else if (!json_parse("settings", text, strlen(text), &settings, err)) {
        tutti_params *params = params_from_json(o, json_root(settings), NULL, ".", f);
        if (!params)
            (void)tutti_fail(err, TUTTI_E_ARG, "%s",
                             faults_count(f) ? faults_text(f, 0) : "no memory for settings");
        else if (instance_open(o, instance_name(model), params, only_modules, ctx, &again, err))
            params_free(params);
    }
    json_free(settings);
    faults_destroy(f);
    free(text);
    return again;
}

tutti_status net_check_unchanged(const net *n, tutti_error *err)
{
    net *tree = NULL;
    const net_options options = {.ops = n->options.ops,
                                 .layers = n->options.layers,
                                 .services = only_modules,
                                 .services_ctx = &tree,
                                 .threads = 1};
    tutti_status s = net_create(&options, &tree, err);
    instance *again = s ? NULL : open_again(n->model.instance, &tree, err);
    if (!s && !again)
        s = TUTTI_E_ARG;
    if (!s)
        s = net_build(tree, again, n->columns, n->ncolumns, err);
    if (!s)
        s = same_modules(n, 1, tree, 1, err);
    net_destroy(tree);
    instance_free(again);
    return s;
}
