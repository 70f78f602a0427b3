/* catalogue.c - tutti ops, tutti layers: what graphs are built of, one line each. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "tutti/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line only ever grows at its end from release to release: sdk/abi has those that were released. */
static void print_field(const tutti_attr_field *f, bool first)
{
    (void)printf("%s%s", first ? "; " : ", ", f->name);
    if (f->type == TUTTI_ATTR_I64)
        (void)printf(" i64 = %lld", (long long)f->i);
    else if (f->type == TUTTI_ATTR_F64)
        (void)printf(" f64 = %.9g", f->f);
    else
        (void)printf(" list");
}

static void print_op(const tutti_op *op)
{
    (void)printf("%s: %u", op->name, op->nin_min);
    if (op->nin_max != op->nin_min)
        (void)printf(" to %u", op->nin_max);
    (void)printf(" inputs, %u outputs", op->nout);
    for (uint64_t k = 0; k < op->nfields; k++)
        print_field(&op->fields[k], k == 0);
    (void)printf("\n");
}

static int nothing(const char *what, const char *name)
{
    (void)fprintf(stderr, "tutti: there is no %s %s\n", what, name);
    return CLI_USAGE;
}

static int run_ops(const cli_options *o, const tutti_op *const *ops)
{
    size_t printed = 0;
    for (size_t k = 0; ops[k]; k++)
        if (!o->nwords || strcmp(ops[k]->name, o->words[0]) == 0) {
            print_op(ops[k]);
            printed++;
        }
    return printed ? CLI_OK : nothing("operation", o->words[0]);
}

/* False: no memory for what is printed. */
static bool print_layer(const object_info *o)
{
    (void)printf("%s:", o->name);
    for (size_t k = 0; k < json_count(o->params); k++) {
        const json_node *p = json_at(o->params, k), *fallback = json_get(p, "default");
        char *value = fallback ? json_text(fallback) : NULL;
        if (fallback && !value)
            return false;
        (void)printf("%s %s %s", k ? "," : "", json_key(p), json_string(json_get(p, "type")));
        if (value)
            (void)printf(" = %s", value);
        else if (json_bool(json_get(p, "required")))
            (void)printf(" (required)");
        free(value);
    }
    (void)printf("\n");
    return true;
}

static int run_layers(const cli_options *o, const tutti_op *const *ops)
{
    size_t printed = 0;
    bool whole = true;
    registry *r = cli_registry(o);
    if (!r)
        return CLI_USAGE;
    for (size_t k = 0; whole && k < registry_plugin_count(r); k++) {
        plugin_info p;
        registry_plugin(r, k, &p);
        for (size_t n = 0; whole && !p.fault && n < p.nobjects; n++) {
            const object_info *one = object_describe(p.objects[n]);
            if (strcmp(one->kind, TUTTI_KIND_LAYER) != 0 ||
                (o->nwords && strcmp(one->name, o->words[0]) != 0))
                continue;
            whole = print_layer(one);
            printed++;
        }
    }
    registry_destroy(r);
    if (!whole) {
        (void)fprintf(stderr, "tutti: no memory for what is printed of layers\n");
        return CLI_FAILED;
    }
    return printed || !o->nwords ? CLI_OK : nothing("layer", o->words[0]);
}

const cli_command cli_ops = {
    .name = "ops",
    .args = "[NAME]",
    .kind = CLI_VALUE_OP,
    .summary = "print the operations of graphs with their attributes",
    .doc = "Prints every operation, or NAME: how many inputs and outputs it has, and its "
           "attributes with their types and defaults. What dtypes and shapes it takes it says "
           "where it is given others.",
    .more = "Exit status: 0 printed, 2 wrong usage, no such operation.",
    .takes = 0,
    .least = 0,
    .most = 1,
    .run = run_ops,
};

const cli_command cli_layers = {
    .name = "layers",
    .args = "[NAME]",
    .kind = CLI_VALUE_LAYER,
    .summary = "print the kinds of layers with their settings",
    .doc = "Prints every kind of layer that a plugin on the search path has, or NAME, with its "
           "settings, their types and defaults.",
    .more = "Exit status: 0 printed, 2 wrong usage, no such layer.",
    .takes = CLI_TAKES_PLUGINS,
    .least = 0,
    .most = 1,
    .run = run_layers,
};
