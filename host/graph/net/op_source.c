/* op_source.c - operations out of the plugin registry, opened when a graph first asks for them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/released.h"
#include "graph/net/net_internal.h"

#include <stdlib.h>
#include <string.h>

/* Copied, so that members which the plugin's SDK did not have yet are zeros. */
struct plugin_op {
    plugin_op *next;
    instance *instance;
    char *
        name; /* as the graph asks for it: "softsign", or "org.example.more:relu"; the op's name too, so that no
                   other has its kernels' choices */
    tutti_op_traits traits;
    tutti_op op;
};

static tutti_status check_fields(const tutti_op *op, tutti_error *err)
{
    static const uint32_t size_of[] = {[TUTTI_ATTR_I64] = sizeof(int64_t),
                                       [TUTTI_ATTR_F64] = sizeof(double),
                                       [TUTTI_ATTR_LIST] = sizeof(tutti_list)};
    for (uint64_t k = 0; k < op->nfields; k++) {
        const tutti_attr_field *f = &op->fields[k];
        if (!f->name || f->type < 0 || (size_t)f->type >= sizeof size_of / sizeof *size_of ||
            !size_of[f->type] || f->offset + size_of[f->type] > op->attr_size)
            return tutti_fail(
                err, TUTTI_E_FORMAT,
                "%s: attribute %u of the operation does not fit into its %u bytes", op->name,
                (unsigned)k, op->attr_size);
    }
    return TUTTI_OK;
}

static tutti_status check_packing(const char *name, const tutti_op *op, tutti_error *err)
{
    const tutti_packing *p = TUTTI_HAS(op, tutti_op, cpu_packing) ? op->cpu_packing : NULL;
    tutti_error why = TUTTI_ERROR_INIT;
    if (!p)
        return TUTTI_OK;
    const tutti_status s = RELEASED_TAKE(tutti_packing, p, &why);
    if (s)
        return tutti_fail(err, s, "%s: %s", name, why.text);
    const char *lacks = !p->bytes ? "bytes" : !p->pack ? "pack" : !p->use ? "use" : NULL;
    return lacks ? tutti_fail(err, TUTTI_E_FORMAT, "%s: the operation's cpu_packing has no %s",
                              name, lacks)
                 : TUTTI_OK;
}

/* A plugin's table is not trusted to be whole. */
static tutti_status check_op(const char *name, const tutti_op *op, tutti_error *err)
{
    const char *lacks = NULL;
    const char *colon = strrchr(name, ':');
    if (!op)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: the plugin answers no %s", name,
                          TUTTI_OP_V1);
    if (!op->name || strcmp(op->name, colon ? colon + 1 : name) != 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the plugin's operation calls itself \"%s\"",
                          name, op->name ? op->name : "");
    if (!op->infer)
        lacks = "infer";
    else if (!op->reference && !(op->flags & TUTTI_OP_VIEW))
        lacks = "reference";
    else if (!(op->cpu && op->cpu->run) && !(op->flags & TUTTI_OP_VIEW))
        lacks = "cpu";
    else if (op->nfields && !op->fields)
        lacks = "fields";
    if (lacks)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the plugin's operation has no %s", name,
                          lacks);
    if (op->nin_min > op->nin_max || op->nin_max > TUTTI_OP_MAX_IN || op->nout < 1 ||
        op->nout > TUTTI_OP_MAX_OUT)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "%s: the operation has %u to %u operands and %u results, want %d and "
                          "1 to %d at most",
                          name, op->nin_min, op->nin_max, op->nout, TUTTI_OP_MAX_IN,
                          TUTTI_OP_MAX_OUT);
    if (op->traits && op->traits->struct_size < RELEASED(tutti_op_traits))
        return tutti_fail(err, TUTTI_E_VERSION,
                          "%s: its tutti_op_traits has struct_size %u, want at least %u", name,
                          op->traits->struct_size, RELEASED(tutti_op_traits));
    const tutti_status s = check_fields(op, err);
    return s ? s : check_packing(name, op, err);
}

static void adopt(plugin_op *p, const tutti_op *op)
{
    memcpy(&p->op, op, op->struct_size < sizeof p->op ? op->struct_size : sizeof p->op);
    p->op.struct_size = sizeof p->op;
    p->op.name = p->name;
    const tutti_op_traits *t = p->op.traits;
    if (!t)
        return;
    memcpy(&p->traits, t,
           t->struct_size < sizeof p->traits ? t->struct_size : sizeof p->traits);
    p->traits.struct_size = sizeof p->traits;
    p->op.traits = &p->traits;
}

static void op_destroy(plugin_op *p)
{
    instance_free(p->instance);
    free(p->name);
    free(p);
}

/* Opens the object with its default settings. */
static tutti_status open_op(net *n, const object *o, const char *name, plugin_op **ret_op,
                            tutti_error *err)
{
    tutti_params *settings = NULL;
    plugin_op *p = calloc(1, sizeof *p);
    if (!p || !(p->name = strdup(name))) {
        free(p);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for an operation", name);
    }
    tutti_status s = params_from_attrs(o, NULL, 0, &settings, err);
    if (!s)
        s = instance_open(o, name, settings, n->options.services, n->options.services_ctx,
                          &p->instance, err);
    if (s) {
        params_free(settings);
        op_destroy(p);
        return s;
    }
    const tutti_op *op = instance_query(p->instance, TUTTI_OP_V1);
    s = check_op(name, op, err);
    if (s) {
        op_destroy(p);
        return s;
    }
    adopt(p, op);
    *ret_op = p;
    return TUTTI_OK;
}

const tutti_op *op_source_find(net *n, const char *name, tutti_error *err)
{
    const object *o;
    plugin_op *p = n->sources.ops;
    while (p && strcmp(p->name, name) != 0)
        p = p->next;
    if (p)
        return &p->op;
    if (!n->options.layers || registry_find(n->options.layers, TUTTI_KIND_OP, name, &o, err) ||
        open_op(n, o, name, &p, err))
        return NULL;
    p->next = n->sources.ops;
    n->sources.ops = p;
    return &p->op;
}

void op_source_close(net *n)
{
    while (n->sources.ops) {
        plugin_op *next = n->sources.ops->next;
        op_destroy(n->sources.ops);
        n->sources.ops = next;
    }
}
