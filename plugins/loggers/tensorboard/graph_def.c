/* graph_def.c - a plan's values as nodes with names, operations, inputs and shapes. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.plan/1 */
#include "graph_def.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { /* field numbers */
       GRAPH_NODE = 1,
       GRAPH_VERSIONS = 4,
       VERSIONS_PRODUCER = 1,
       NODE_NAME = 1,
       NODE_OP = 2,
       NODE_INPUT = 3,
       NODE_ATTR = 5,
       ATTR_KEY = 1,
       ATTR_VALUE = 2,
       VALUE_LIST = 1,
       VALUE_TYPE = 6,
       LIST_SHAPE = 7,
       SHAPE_DIM = 2,
       DIM_SIZE = 1
};
enum { PRODUCER = 22, NAME_SIZE = 512 }; /* as PyTorch writes */

typedef struct drawn {
    tutti_planned_value *values; /* by number; [0] is not used */
    bool *read;                  /* some operation does */
    uint32_t *ordinal;           /* among those with its name in its module */
    uint32_t n;
} drawn;

/* DataType of TensorFlow. */
static int data_type(int32_t dtype)
{
    static const unsigned char types[] = {
        [TUTTI_F32] = 1,      [TUTTI_F64] = 2,     [TUTTI_I32] = 3,  [TUTTI_U8] = 4,
        [TUTTI_I16] = 5,      [TUTTI_I8] = 6,      [TUTTI_I64] = 9,  [TUTTI_BOOL] = 10,
        [TUTTI_BF16] = 14,    [TUTTI_U16] = 17,    [TUTTI_F16] = 19, [TUTTI_U64] = 23,
        [TUTTI_F8_E5M2] = 24, [TUTTI_F8_E4M3] = 25};
    return (size_t)dtype < sizeof types ? types[dtype] : 0;
}

static const char *op_of(const tutti_planned_value *v)
{
    switch (v->kind) {
    case TUTTI_PLANNED_INPUT:
        return "input";
    case TUTTI_PLANNED_WEIGHT:
        return "weight";
    case TUTTI_PLANNED_CONSTANT:
        return "constant";
    default:
        return v->name;
    }
}

/* Path with a slash for each dot: TensorBoard's scopes. */
static size_t add_path(char *to, size_t at, const char *path)
{
    for (; *path && at + 1 < NAME_SIZE; path++)
        to[at++] = *path == '.' ? '/' : *path;
    to[at] = '\0';
    return at;
}

/* "inputs/pixels", "fc/weight", "constants/0", "fc/matmul_0". */
static void name_value(const drawn *d, uint32_t k, char *to)
{
    const tutti_planned_value *v = &d->values[k];
    size_t at = 0;
    to[0] = '\0';
    switch (v->kind) {
    case TUTTI_PLANNED_INPUT:
        (void)snprintf(to, NAME_SIZE, "inputs/%s", v->name);
        return;
    case TUTTI_PLANNED_WEIGHT:
        (void)add_path(to, 0, v->name);
        return;
    case TUTTI_PLANNED_CONSTANT:
        (void)snprintf(to, NAME_SIZE, "constants/%u", d->ordinal[k]);
        return;
    default:
        at = add_path(to, 0, v->module);
        (void)snprintf(to + at, NAME_SIZE - at, "%s%s_%u", at ? "/" : "", v->name,
                       d->ordinal[k]);
    }
}

static bool is_like(const tutti_planned_value *a, const tutti_planned_value *b)
{
    return a->kind == b->kind && strcmp(a->name, b->name) == 0 &&
           strcmp(a->module, b->module) == 0;
}

/* Those that stand for themselves: no further result, nothing that no operation reads. */
static bool is_node(const drawn *d, uint32_t k)
{
    const tutti_planned_value *v = &d->values[k];
    return v->kind == TUTTI_PLANNED_RESULT ? v->first == k : d->read[k];
}

static void drawn_free(drawn *d)
{
    free(d->values);
    free(d->read);
    free(d->ordinal);
}

static tutti_status drawn_fill(drawn *d, const tutti_plan_v1 *plan, tutti_error *err)
{
    for (uint32_t k = 1; k <= d->n; k++) {
        tutti_planned_value *v = &d->values[k];
        v->struct_size = sizeof *v;
        const tutti_status s = plan->value(plan->ctx, k, v, err);
        if (s)
            return s;
        for (uint32_t j = 0; j < v->noperands; j++)
            d->read[v->operands[j]] = true;
    }
    for (uint32_t k = 1; k <= d->n; k++)
        for (uint32_t j = k; is_node(d, k) && --j > 0;)
            if (is_node(d, j) && is_like(&d->values[j], &d->values[k])) {
                d->ordinal[k] = d->ordinal[j] + 1;
                break;
            }
    return TUTTI_OK;
}

static tutti_status drawn_init(drawn *d, const tutti_plan_v1 *plan, tutti_error *err)
{
    tutti_plan_facts facts = {.struct_size = sizeof facts};
    const tutti_status s = plan->describe(plan->ctx, &facts, err);
    *d = (drawn){.n = facts.values};
    if (s)
        return s;
    d->values = calloc(d->n + (size_t)1, sizeof *d->values);
    d->read = calloc(d->n + (size_t)1, sizeof *d->read);
    d->ordinal = calloc(d->n + (size_t)1, sizeof *d->ordinal);
    if (!d->values || !d->read || !d->ordinal)
        return tutti_fail(err, TUTTI_E_NOMEM, "tensorboard: no memory for the model's graph");
    return drawn_fill(d, plan, err);
}

/* ---- NodeDef ---- */

static void put_attr(bytes *node, const char *key, bytes *value)
{
    bytes entry = {0};
    put_string(&entry, ATTR_KEY, key);
    put_message(&entry, ATTR_VALUE, value);
    put_message(node, NODE_ATTR, &entry);
}

static void put_shape(bytes *list, const tutti_desc *desc)
{
    bytes shape = {0};
    for (int32_t k = 0; k < desc->rank; k++) {
        bytes dim = {0};
        put_int(&dim, DIM_SIZE, desc->dim[k]);
        put_message(&shape, SHAPE_DIM, &dim);
    }
    put_message(list, LIST_SHAPE, &shape);
}

/* Shapes of all its results, and the type of the first. */
static void put_attrs(bytes *node, const drawn *d, uint32_t k)
{
    bytes shapes = {0}, list = {0}, type = {0};
    for (uint32_t j = k; j <= d->n && d->values[j].first == k; j++)
        put_shape(&list, &d->values[j].desc);
    put_message(&shapes, VALUE_LIST, &list);
    put_attr(node, "_output_shapes", &shapes);
    put_int(&type, VALUE_TYPE, data_type(d->values[k].desc.dtype));
    put_attr(node, "dtype", &type);
}

static void put_operand(bytes *node, const drawn *d, uint32_t k)
{
    char name[NAME_SIZE + 16];
    const uint32_t first = d->values[k].first;
    name_value(d, first, name);
    const size_t used = strlen(name);
    if (k > first)
        (void)snprintf(name + used, sizeof name - used, ":%u", k - first);
    put_string(node, NODE_INPUT, name);
}

static void put_node(bytes *def, const drawn *d, uint32_t k)
{
    const tutti_planned_value *v = &d->values[k];
    char name[NAME_SIZE];
    bytes node = {0};
    name_value(d, k, name);
    put_string(&node, NODE_NAME, name);
    put_string(&node, NODE_OP, op_of(v));
    for (uint32_t j = 0; j < v->noperands; j++)
        if (v->operands[j])
            put_operand(&node, d, v->operands[j]);
    put_attrs(&node, d, k);
    put_message(def, GRAPH_NODE, &node);
}

tutti_status graph_def_write(const tutti_plan_v1 *plan, bytes *ret_def, tutti_error *err)
{
    drawn d;
    bytes versions = {0};
    tutti_status s = drawn_init(&d, plan, err);
    for (uint32_t k = 1; k <= d.n && !s; k++)
        if (is_node(&d, k))
            put_node(ret_def, &d, k);
    put_int(&versions, VERSIONS_PRODUCER, PRODUCER);
    put_message(ret_def, GRAPH_VERSIONS, &versions);
    drawn_free(&d);
    if (!s && ret_def->failed)
        s = tutti_fail(err, TUTTI_E_NOMEM, "tensorboard: no memory for the model's graph");
    return s;
}
