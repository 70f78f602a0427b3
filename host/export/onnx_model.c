/* onnx_model.c - an ONNX graph as the messages of its file: names, types, initializers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "export/onnx_model.h"

#include "graph/runtime/device_memory.h"

#include <stdarg.h>
#include <stdio.h>

enum { IR_VERSION = 8 }; /* the first with opset 17 */

/* While a model is made: memory that is out stays out. */
typedef struct maker {
    onnx_model *m;
    const net *n;
    const onnx_trace *t;
    char **names; /* of values */
    bool *stored; /* initializers that are in the graph */
    tutti_error *err;
    tutti_status status;
} maker;

void *onnx_model_take(onnx_model *m, size_t size)
{
    return pool_take(&m->pool, size);
}

/* NULL after an error, which `k` keeps. */
static void *take(maker *k, size_t size)
{
    void *p = k->status ? NULL : onnx_model_take(k->m, size);
    if (!p && !k->status)
        k->status = tutti_fail(k->err, TUTTI_E_NOMEM, "no memory for an ONNX file");
    return p;
}

__attribute__((format(printf, 2, 3))) static char *text(maker *k, const char *format, ...)
{
    char line[1024];
    va_list a;
    va_start(a, format);
    const int n = vsnprintf(line, sizeof line, format, a);
    va_end(a);
    char *copy = n < 0 ? NULL : take(k, (size_t)n + 1);
    return copy ? strncpy(copy, line, (size_t)n) : NULL;
}

static int32_t data_type(int32_t dtype)
{
    static const int8_t types[] = {
        [TUTTI_F32] = 1,  [TUTTI_U8] = 2,   [TUTTI_I32] = 6,  [TUTTI_I64] = 7,
        [TUTTI_BOOL] = 9, [TUTTI_F16] = 10, [TUTTI_F64] = 11, [TUTTI_BF16] = 16};
    return dtype >= 0 && dtype < (int32_t)sizeof types ? types[dtype] : 0;
}

/* Numbers of `from`, of rank 4, with dimension k being its order[k]; both dense. */
static void reorder(const unsigned char *from, const tutti_desc *d, const int64_t *order,
                    unsigned char *to)
{
    const size_t size = tutti_dtype_size(d->dtype);
    int64_t stride[4] = {d->dim[1] * d->dim[2] * d->dim[3], d->dim[2] * d->dim[3], d->dim[3],
                         1};
    int64_t at[4];
    for (at[0] = 0; at[0] < d->dim[order[0]]; at[0]++)
        for (at[1] = 0; at[1] < d->dim[order[1]]; at[1]++)
            for (at[2] = 0; at[2] < d->dim[order[2]]; at[2]++)
                for (at[3] = 0; at[3] < d->dim[order[3]]; at[3]++, to += size) {
                    int64_t offset = 0;
                    for (int j = 0; j < 4; j++)
                        offset += at[j] * stride[order[j]];
                    memcpy(to, from + (size_t)offset * size, size);
                }
}

/* The bytes of a weight on the host. */
static const void *weight_bytes(maker *k, const tutti_weight *w)
{
    const tutti_device *d = net_device(k->n);
    const uint64_t bytes = tutti_nbytes(&w->data.desc);
    if (device_is_host(d))
        return w->data.data;
    void *here = take(k, bytes);
    if (here)
        k->status = device_copy(d, here, w->data.data, bytes, TUTTI_COPY_FROM_DEVICE, k->err);
    return here;
}

static void add_initializer(maker *k, const char *name, const tutti_desc *d, const void *data)
{
    Onnx__GraphProto *g = k->m->proto.graph;
    Onnx__TensorProto *t = take(k, sizeof *t);
    int64_t *dims = take(k, (size_t)d->rank * sizeof *dims + 1);
    if (!t || !dims)
        return;
    onnx__tensor_proto__init(t);
    memcpy(dims, d->dim, (size_t)d->rank * sizeof *dims);
    t->dims = dims;
    t->n_dims = (size_t)d->rank;
    t->has_data_type = true;
    t->data_type = data_type(d->dtype);
    t->name = (char *)(uintptr_t)name;
    t->has_raw_data = true;
    t->raw_data = (ProtobufCBinaryData){tutti_nbytes(d), (uint8_t *)(uintptr_t)data};
    g->initializer[g->n_initializer++] = t;
}

/* A filter's transpose is stored as that: ONNX's convolutions find it as they want it. */
static bool is_stored_transposed(const onnx_graph *g, const onnx_value *v)
{
    return v->base && g->values[v->base].kind == ONNX_WEIGHT &&
           g->values[v->base].desc.rank == 4;
}

/* Whether the file has the node. */
static bool is_written(const onnx_graph *g, const onnx_node *n)
{
    return n->live && !is_stored_transposed(g, &g->values[n->out]);
}

/* Whether a node of the file reads `v`. */
static bool is_read(const onnx_graph *g, tutti_value v)
{
    for (uint32_t k = 0; k < g->nnodes; k++)
        for (uint32_t j = 0; j < g->nodes[k].nin && is_written(g, &g->nodes[k]); j++)
            if (g->nodes[k].in[j] == v)
                return true;
    return false;
}

static void add_weight(maker *k, tutti_value v)
{
    const onnx_value *value = &k->t->g.values[v];
    const onnx_value *base = value->base ? &k->t->g.values[value->base] : value;
    const tutti_weight *w = eval_graph_weight(k->n, base->index);
    const void *data = w ? weight_bytes(k, w) : NULL;
    if (!data) {
        if (!k->status)
            k->status = tutti_fail(k->err, TUTTI_E_STATE, "a weight of the model is gone");
        return;
    }
    tutti_desc d = base->desc;
    if (base != value) {
        unsigned char *reordered = take(k, tutti_nbytes(&d));
        if (!reordered)
            return;
        reorder(data, &base->desc, value->order, reordered);
        for (int32_t j = 0; j < 4; j++)
            d.dim[j] = base->desc.dim[value->order[j]];
        data = reordered;
    }
    const bool twice = base != value && is_read(&k->t->g, value->base);
    add_initializer(k, k->names[v] = text(k, twice ? "%s.transposed" : "%s", w->path), &d,
                    data);
    k->m->weight_bytes += tutti_nbytes(&d);
    k->m->weights++;
}

/* What live nodes read of weights (`weights`), or of constants. */
static void add_initializers(maker *k, bool weights)
{
    const onnx_graph *g = &k->t->g;
    for (uint32_t j = 0; j < g->nnodes; j++)
        for (uint32_t i = 0; i < g->nodes[j].nin && is_written(g, &g->nodes[j]); i++) {
            const tutti_value v = g->nodes[j].in[i];
            const onnx_value *value = &g->values[v];
            if (!v || k->names[v])
                continue;
            if (weights && (value->kind == ONNX_WEIGHT || is_stored_transposed(g, value)))
                add_weight(k, v);
            else if (!weights && value->kind == ONNX_CONSTANT)
                add_initializer(k, k->names[v] = text(k, "constant_%u", v), &value->desc,
                                value->data);
        }
}

static Onnx__AttributeProto *attribute(maker *k, const tutti_attr *from)
{
    Onnx__AttributeProto *a = take(k, sizeof *a);
    if (!a)
        return NULL;
    onnx__attribute_proto__init(a);
    a->name = (char *)(uintptr_t)from->name;
    a->has_type = true;
    if (from->type == TUTTI_ATTR_I64) {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        a->has_i = true;
        a->i = from->i;
    } else if (from->type == TUTTI_ATTR_F64) {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        a->has_f = true;
        a->f = (float)from->f;
    } else if (from->type == TUTTI_ATTR_LIST) {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        a->n_ints = from->count;
        a->ints = (int64_t *)(uintptr_t)from->list;
    } else {
        a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
        a->has_s = true;
        a->s = (ProtobufCBinaryData){strlen(from->text), (uint8_t *)(uintptr_t)from->text};
    }
    return a;
}

/* "layer1.0.conv1/Conv_12" */
static void add_node(maker *k, const onnx_node *from)
{
    Onnx__GraphProto *g = k->m->proto.graph;
    Onnx__NodeProto *n = take(k, sizeof *n);
    char **names = take(k, ((size_t)from->nin + 1) * sizeof *names);
    Onnx__AttributeProto **attr = take(k, ((size_t)from->nattr + 1) * sizeof *attr);
    if (!n || !names || !attr)
        return;
    onnx__node_proto__init(n);
    n->name =
        text(k, *from->scope ? "%s/%s_%zu" : "%s%s_%zu", from->scope, from->type, g->n_node);
    n->op_type = (char *)(uintptr_t)from->type;
    for (uint32_t j = 0; j < from->nin; j++)
        names[j] = from->in[j] ? k->names[from->in[j]] : (char *)"";
    n->n_input = from->nin;
    n->input = names;
    if (!k->names[from->out])
        k->names[from->out] = n->name;
    names[from->nin] = k->names[from->out];
    n->n_output = 1;
    n->output = &names[from->nin];
    for (uint32_t j = 0; j < from->nattr; j++)
        attr[j] = attribute(k, &from->attr[j]);
    n->n_attribute = from->nattr;
    n->attribute = attr;
    g->node[g->n_node++] = n;
}

/* The type of an input or output, where the number of samples is "batch". */
static Onnx__ValueInfoProto *value_info(maker *k, char *name, int32_t dtype,
                                        const onnx_dims *dims)
{
    typedef struct parts {
        Onnx__ValueInfoProto info;
        Onnx__TypeProto type;
        Onnx__TypeProto__Tensor tensor;
        Onnx__TensorShapeProto shape;
        Onnx__TensorShapeProto__Dimension dim[TUTTI_MAX_RANK];
        Onnx__TensorShapeProto__Dimension *dims[TUTTI_MAX_RANK];
    } parts;
    parts *p = take(k, sizeof *p);
    if (!p)
        return NULL;
    onnx__value_info_proto__init(&p->info);
    onnx__type_proto__init(&p->type);
    onnx__type_proto__tensor__init(&p->tensor);
    onnx__tensor_shape_proto__init(&p->shape);
    for (int32_t j = 0; j < dims->rank; j++) {
        onnx__tensor_shape_proto__dimension__init(p->dims[j] = &p->dim[j]);
        if (dims->factor[j] == 1)
            p->dim[j].dim_param = (char *)"batch";
        else if (dims->factor[j])
            p->dim[j].dim_param = text(k, "%lld*batch", (long long)dims->factor[j]);
        else {
            p->dim[j].has_dim_value = true;
            p->dim[j].dim_value = dims->dim[j];
        }
    }
    p->shape.n_dim = (size_t)dims->rank;
    p->shape.dim = p->dims;
    p->tensor.has_elem_type = true;
    p->tensor.elem_type = data_type(dtype);
    p->tensor.shape = &p->shape;
    p->type.tensor_type = &p->tensor;
    p->info.type = &p->type;
    p->info.name = name;
    return &p->info;
}

static void add_ends(maker *k)
{
    const onnx_trace *t = k->t;
    Onnx__GraphProto *g = k->m->proto.graph;
    g->input = take(k, (t->ninputs + 1u) * sizeof(void *));
    g->output = take(k, (t->noutputs + 1u) * sizeof(void *));
    for (tutti_value v = 1; v < t->g.nvalues && !k->status; v++) {
        const onnx_value *value = &t->g.values[v];
        if (value->kind != ONNX_INPUT)
            continue;
        k->names[v] = text(k, "%s", t->names[value->index]);
        g->input[g->n_input++] = value_info(k, k->names[v], value->desc.dtype, &value->dims);
    }
    for (uint32_t j = 0; j < t->noutputs && !k->status; j++) {
        char *name = k->names[t->outputs[j]] =
            t->noutputs == 1 ? text(k, "output") : text(k, "output_%u", j);
        g->output[g->n_output++] =
            value_info(k, name, t->output_desc[j].dtype, &t->output_dims[j]);
    }
}

static void add_header(maker *k, const onnx_options *o)
{
    Onnx__ModelProto *m = &k->m->proto;
    Onnx__GraphProto *g = take(k, sizeof *g);
    Onnx__OperatorSetIdProto **sets = take(k, sizeof *sets), *set = take(k, sizeof *set);
    onnx__model_proto__init(m);
    if (k->status)
        return;
    onnx__graph_proto__init(m->graph = g);
    onnx__operator_set_id_proto__init(sets[0] = set);
    set->domain = (char *)"";
    set->has_version = true;
    set->version = TUTTI_ONNX_OPSET;
    m->opset_import = sets;
    m->n_opset_import = 1;
    m->has_ir_version = true;
    m->ir_version = IR_VERSION;
    m->producer_name = (char *)"tutti";
    m->producer_version = (char *)TUTTI_VERSION;
    m->doc_string =
        text(k, "%s in evaluation mode, exported by tutti %s", o->model, TUTTI_VERSION);
    g->name = text(k, "%s", o->model);
}

static void make(maker *k, const onnx_options *o)
{
    const onnx_graph *from = &k->t->g;
    add_header(k, o);
    k->names = take(k, from->nvalues * sizeof *k->names);
    if (k->status)
        return;
    Onnx__GraphProto *g = k->m->proto.graph;
    g->node = take(k, (from->nnodes + 1u) * sizeof(void *));
    g->initializer = take(k, (from->nvalues + 1u) * sizeof(void *));
    if (!k->status)
        add_ends(k);
    for (int weights = 1; weights >= 0 && !k->status; weights--)
        add_initializers(k, weights);
    for (uint32_t j = 0; j < from->nnodes && !k->status; j++)
        if (is_written(from, &from->nodes[j]))
            add_node(k, &from->nodes[j]);
}

tutti_status onnx_model_make(const net *n, const onnx_trace *t, const onnx_options *o,
                             onnx_model *ret, tutti_error *err)
{
    memset(ret, 0, sizeof *ret);
    maker k = {.m = ret, .n = n, .t = t, .err = err};
    make(&k, o);
    if (k.status)
        onnx_model_fini(ret);
    return k.status;
}

void onnx_model_fini(onnx_model *m)
{
    pool_free(&m->pool);
}
