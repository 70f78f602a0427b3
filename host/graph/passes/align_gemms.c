/* align_gemms.c - padding: large GEMMs in 16 bits get rows of whole pieces of 16 bytes, the alignment that devices read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/align_gemms.h"
#include "graph/ir/attr.h"
#include "graph/ir/precision.h"
#include "graph/ir/traits.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

#include <string.h>

enum { PIECE = 8 };         /* numbers of 16 bits in 16 bytes */
enum { COLUMNS = 128 };     /* what is padded becomes a multiple of it: whole tiles */
enum { LEAST = 1LL << 26 }; /* multiply-adds: smaller ones are not worth a copy of the factor */
enum { FACTOR = 1, MATRIX = 2 }; /* operand 1, a matrix, is what is padded */

#define CUT "slice" /* what takes columns off */

/* A GEMM whose result has `more` columns too few; they are dimension `dim` of its factor. */
typedef struct gap {
    int64_t columns;
    int64_t more;
    int32_t dim;
} gap;

static const tutti_desc *desc_of(const graph *g, tutti_value v)
{
    return &graph_value_at(g, v)->desc;
}

/* With `more` rows or columns in the factor: whether the result has so many columns more, and is else the same. */
static bool pads_result(const graph_node *n, const tutti_op_call *c, const tutti_desc *y,
                        int32_t dim, int64_t more)
{
    tutti_desc in[2] = {c->in[0], c->in[1]}, got, want = *y;
    tutti_op_call call = *c;
    in[FACTOR].dim[dim] += more;
    want.dim[want.rank - 1] += more;
    call.in = in;
    return !n->op->infer(&call, &got, NULL) && tutti_same_shape(&got, &want);
}

/* Of a GEMM of two factors, as sums over their rows show it to be one.  False: it has no gap. */
static bool find_gap(const graph *g, const graph_node *n, gap *ret)
{
    if (n->nin != 2 || !traits_fusion(n->op, TUTTI_FUSE_FACTOR_SUMS) || n->op->nout != 1)
        return false;
    const tutti_desc *a = desc_of(g, n->in[0]), *b = desc_of(g, n->in[FACTOR]),
                     *y = desc_of(g, n->out);
    if (!dtype_is_half(a->dtype) || b->dtype != a->dtype || b->rank != MATRIX || y->rank < 1)
        return false;
    const int64_t columns = y->dim[y->rank - 1];
    if (columns % PIECE == 0 || tutti_numel(a) * columns < LEAST)
        return false;
    /* Operations infer what F32 gives: precision.c has the dtypes. */
    tutti_desc in[2] = {*a, *b};
    in[0].dtype = in[FACTOR].dtype = TUTTI_F32;
    const tutti_op_call call = {
        .struct_size = sizeof call, .nin = 2, .nout = 1, .in = in, .attr = n->attr};
    *ret = (gap){columns, COLUMNS - columns % COLUMNS, 0};
    while (ret->dim < MATRIX && !pads_result(n, &call, y, ret->dim, ret->more))
        ret->dim++;
    return ret->dim < MATRIX;
}

static tutti_value emit_zeros_behind(graph *to, tutti_value v, const gap *at)
{
    const int64_t before[MATRIX] = {0, 0};
    const int64_t after[MATRIX] = {at->dim ? 0 : at->more, at->dim ? at->more : 0};
    const tutti_attr attr[2] = {tutti_attr_list("before", before, MATRIX),
                                tutti_attr_list("after", after, MATRIX)};
    tutti_graph *b = graph_builder(to);
    return b->emit(b, "pad", &v, 1, attr, 2, NULL, 0);
}

/* A factor that was cast gets its zeros before that, so that its gradient is F32 and is not rounded. */
static tutti_value emit_factor(const graph *from, tutti_value factor, const gap *at, graph *to,
                               const tutti_value *map)
{
    const graph_value *x = graph_value_at(from, factor);
    const graph_node *n = x->kind == VALUE_NODE ? graph_node_at(from, x->index) : NULL;
    if (!n || !traits_have_role(n->op, TUTTI_ROLE_CAST))
        return emit_zeros_behind(to, map[factor], at);
    return graph_cast(to, emit_zeros_behind(to, map[n->in[0]], at), x->desc.dtype);
}

tutti_value align_gemms_slice(graph *to, tutti_value v, int64_t columns)
{
    tutti_graph *b = graph_builder(to);
    const int64_t begin[TUTTI_MAX_RANK] = {0};
    tutti_desc d = *b->desc(b, v);
    if (!d.rank || d.dim[d.rank - 1] == columns)
        return v;
    d.dim[d.rank - 1] = columns;
    const tutti_attr attr[2] = {tutti_attr_list("begin", begin, (uint32_t)d.rank),
                                tutti_attr_list("end", d.dim, (uint32_t)d.rank)};
    return b->emit(b, CUT, &v, 1, attr, 2, NULL, 0);
}

/* Begins at 0 along every axis, with strides of 1. */
static bool is_leading(const graph_node *n)
{
    tutti_attr attr[GRAPH_MAX_ATTR];
    tutti_list lists[GRAPH_MAX_ATTR];
    attr_encode(n->op, n->attr, lists, attr);
    for (uint32_t k = 0; k < n->op->nfields; k++)
        for (uint32_t j = 0; j < attr[k].count; j++)
            if ((strcmp(attr[k].name, "begin") == 0 && attr[k].list[j] != 0) ||
                (strcmp(attr[k].name, "stride") == 0 && attr[k].list[j] != 1))
                return false;
    return true;
}

/* What `v` is the first columns of; 0: nothing. */
static tutti_value whole_of(const graph *g, tutti_value v)
{
    const graph_value *x = graph_value_at(g, v);
    const graph_node *n = x->kind == VALUE_NODE ? graph_node_at(g, x->index) : NULL;
    if (!n || strcmp(n->op->name, CUT) != 0 || n->op->nfields > GRAPH_MAX_ATTR ||
        !is_leading(n))
        return 0;
    const tutti_desc *whole = desc_of(g, n->in[0]);
    tutti_desc want = x->desc;
    want.dim[want.rank - 1] = whole->dim[whole->rank - 1];
    return tutti_same_shape(whole, &want) ? n->in[0] : 0;
}

tutti_value align_gemms_look_through(const graph *g, tutti_value v)
{
    const graph_value *x = graph_value_at(g, v);
    const graph_node *n = x->kind == VALUE_NODE ? graph_node_at(g, x->index) : NULL;
    if (!n || x->desc.dtype != TUTTI_F32 || !traits_have_role(n->op, TUTTI_ROLE_CAST) ||
        !dtype_is_half(desc_of(g, n->in[0])->dtype))
        return v;
    const tutti_value whole = whole_of(g, n->in[0]);
    return whole ? whole : n->in[0];
}

/* Zeros in the factor, the GEMM, and of that the columns that there were. */
static void copy_aligned(const graph *from, const graph_node *n, const gap *at, graph *to,
                         tutti_value *map)
{
    const tutti_value factor = map[n->in[FACTOR]];
    const rewrite_node same = rewrite_same(n);
    graph_set_segment(to, n->segment);
    (void)graph_set_scope(to, n->scope);
    (void)graph_set_guard(to, map[n->guard]);
    map[n->in[FACTOR]] = emit_factor(from, n->in[FACTOR], at, to, map);
    rewrite_emit(to, &same, map);
    map[n->in[FACTOR]] = factor;
    if (!map[n->out])
        return;
    graph_set_dtype(to, map[n->out], desc_of(from, n->out)->dtype);
    (void)graph_set_guard(to, map[n->guard]);
    map[n->out] = align_gemms_slice(to, map[n->out], at->columns);
    (void)graph_set_guard(to, 0);
}

static void copy_node(const graph *from, const graph_node *n, graph *to, tutti_value *map)
{
    gap found;
    if (find_gap(from, n, &found)) {
        copy_aligned(from, n, &found, to, map);
        return;
    }
    const rewrite_node same = rewrite_same(n);
    rewrite_emit(to, &same, map);
    for (uint32_t k = 0; k < same.nout && map[same.out[k]]; k++)
        if (graph_is_floating(desc_of(to, map[same.out[k]])->dtype))
            graph_set_dtype(to, map[same.out[k]], desc_of(from, same.out[k])->dtype);
}

tutti_status align_gemms(const graph *from, const bool *wanted, graph *to, tutti_value *ret_map,
                         tutti_error *err)
{
    (void)wanted; /* every value has its like */
    memset(ret_map, 0, sizeof *ret_map * graph_nvalues(from));
    for (tutti_value v = 1; v < graph_nvalues(from); v++) {
        const graph_value *x = graph_value_at(from, v);
        if (x->kind != VALUE_NODE)
            ret_map[v] = rewrite_leaf(from, v, to);
        else if (graph_node_at(from, x->index)->out == v)
            copy_node(from, graph_node_at(from, x->index), to, ret_map);
    }
    rewrite_assigns(from, to, ret_map);
    return graph_error(to, err);
}
