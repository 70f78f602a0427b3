/* module_tree.c - the tree of modules: paths, slots of weights, walks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/net_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

module *net_module(const net *n, tutti_module m)
{
    return m && m < n->tree.nmodules ? n->tree.modules[m] : NULL;
}

void *module_tree_append(void *array, uint32_t *count, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    unsigned char *grown = realloc(old, (*count + 1) * size);
    if (!grown)
        return NULL;
    memcpy(array, &grown, sizeof grown);
    return memset(grown + (*count)++ * size, 0, size);
}

static tutti_status out_of_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the module tree");
}

char *module_tree_join(const char *path, const char *name)
{
    const size_t a = strlen(path), b = strlen(name);
    char *text = malloc(a + b + 2);
    if (text)
        (void)snprintf(text, a + b + 2, "%s%s%s", path, a ? "." : "", name);
    return text;
}

const char *module_tree_path(const net *n, tutti_module m)
{
    module *it = net_module(n, m);
    if (!it || !it->parent)
        return it && it->shapes && it->path ? it->path : "";
    char *path = module_tree_join(module_tree_path(n, it->parent), it->name);
    if (path) {
        free(it->path);
        it->path = path;
    }
    if (!path || net_module(n, it->parent)->lacks_path)
        it->lacks_path = true;
    return it->path ? it->path : it->name;
}

tutti_module module_tree_child(const net *n, const module *parent, const char *name)
{
    for (uint32_t k = 0; k < parent->nchildren; k++)
        if (strcmp(n->tree.modules[parent->children[k]]->name, name) == 0)
            return parent->children[k];
    return 0;
}

weight_slot *module_tree_slot(const module *m, const char *name)
{
    for (uint32_t k = 0; k < m->nslots; k++)
        if (strcmp(m->slots[k].name, name) == 0)
            return &m->slots[k];
    return NULL;
}

tutti_status module_tree_no_weight(const module *m, const char *where, const char *name,
                                   tutti_error *err)
{
    char known[256] = "no weights";
    size_t used = 0;
    for (uint32_t k = 0; k < m->nslots && used < sizeof known; k++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", k ? ", " : "",
                                 m->slots[k].name);
    return tutti_fail(err, TUTTI_E_NOTFOUND, "%s%sthere is no weight \"%s\"; it has %s", where,
                      *where ? ": " : "", name, known);
}

tutti_status module_tree_new(net *n, const char *kind, tutti_module *ret, tutti_error *err)
{
    module *m = calloc(1, sizeof *m);
    char *copy = strdup(kind);
    module **place =
        m && copy ? module_tree_append(&n->tree.modules, &n->tree.nmodules, sizeof *place)
                  : NULL;
    if (!place) {
        free(m);
        free(copy);
        return out_of_memory(err);
    }
    m->kind = copy;
    *place = m;
    *ret = n->tree.nmodules - 1;
    return TUTTI_OK;
}

tutti_module module_tree_next(const net *n, tutti_module m)
{
    const module *it = net_module(n, m);
    if (it && it->nchildren)
        return it->children[0];
    while (it && it->parent) {
        const module *parent = n->tree.modules[it->parent];
        for (uint32_t k = 0; k + 1 < parent->nchildren; k++)
            if (parent->children[k] == m)
                return parent->children[k + 1];
        m = it->parent;
        it = parent;
    }
    return 0;
}

void module_tree_destroy(net *n)
{
    for (tutti_module m = 1; m < n->tree.nmodules; m++) {
        module *it = n->tree.modules[m];
        if (it->impl.instance)
            instance_free(it->impl.instance);
        for (uint32_t k = 0; k < it->nslots; k++)
            free(it->slots[k].name);
        free(it->slots);
        free(it->children);
        free(it->name);
        free(it->kind);
        free(it->path);
        free(it);
    }
    free(n->tree.modules);
}
