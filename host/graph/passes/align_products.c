/* align_products.c - large products in 16 bits whose rows devices can read and write in pieces of 16 bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/align_products.h"
#include "graph/ir/attr.h"
#include "graph/ir/precision.h"
#include "graph/ir/traits.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

#include <string.h>

enum { PIECE = 8 };         /* numbers of 16 bits in 16 bytes */
enum { COLUMNS = 128 };     /* what rows of a result become multiples of: whole tiles */
enum { LEAST = 1ll << 27 }; /* FLOPs: smaller ones are not worth a copy of what they read */
enum { FACTOR = 1 };

#define CUT "slice" /* what takes columns off */

/* What a product wants `more` of: columns of its result, which are dimension `dim` of its factor, or terms of its sums,
 * which are the last dimension of both operands. */
typedef struct gap {
    bool summed;
    int32_t dim;
    int64_t more;
} gap;

static const tutti_desc *desc_of(const graph *g, tutti_value v)
{
    return &graph_value_at(g, v)->desc;
}

static int64_t last_of(const tutti_desc *d)
{
    return d->dim[d->rank - 1];
}

/* Whether the operation infers `y` with so many columns more where operands are longer. */
static bool infers(const graph_node *n, const tutti_desc *in, const tutti_desc *y, int64_t more)
{
    tutti_desc got, want = *y;
    const tutti_op_call call = {
        .struct_size = sizeof call, .nin = 2, .nout = 1, .in = in, .attr = n->attr};
    want.dim[want.rank - 1] += more;
    return !n->op->infer(&call, &got, NULL) && tutti_same_shape(&got, &want);
}

/* Rows of the result: of matrices, as sums over their rows show them to be ones. */
static bool find_columns(const graph_node *n, const tutti_desc *in, const tutti_desc *y,
                         gap *ret)
{
    const int64_t odd = last_of(y) % COLUMNS;
    if (!traits_fusion(n->op, TUTTI_FUSE_FACTOR_SUMS) || in[FACTOR].rank != 2 ||
        odd % PIECE == 0)
        return false;
    *ret = (gap){false, 0, COLUMNS - odd};
    for (; ret->dim < 2; ret->dim++) {
        tutti_desc longer[2] = {in[0], in[FACTOR]};
        longer[FACTOR].dim[ret->dim] += ret->more;
        if (infers(n, longer, y, ret->more))
            return true;
    }
    return false;
}

/* Sums of a few terms, as the three channels of a picture, where the result does not know how many there are. */
static bool find_terms(const graph_node *n, const tutti_desc *in, const tutti_desc *y, gap *ret)
{
    tutti_desc longer[2] = {in[0], in[FACTOR]};
    const int64_t terms = last_of(&in[0]);
    if (terms >= PIECE || last_of(&in[FACTOR]) != terms)
        return false;
    *ret = (gap){true, in[FACTOR].rank - 1, PIECE - terms};
    for (int k = 0; k < 2; k++)
        longer[k].dim[longer[k].rank - 1] += ret->more;
    return infers(n, longer, y, 0);
}

/* Of a large product of two operands in 16 bits.  False: it has no gap. */
static bool find_gap(const graph *g, const graph_node *n, gap *ret)
{
    const tutti_op_traits *t = traits_of(n->op);
    if (n->nin != 2 || n->op->nout != 1 || t->precision != TUTTI_AUTOCAST_PRODUCT ||
        !t->flops || !graph_op_is_built_in(g, n->op))
        return false;
    tutti_desc in[2] = {*desc_of(g, n->in[0]), *desc_of(g, n->in[FACTOR])};
    const tutti_desc *y = desc_of(g, n->out);
    if (!dtype_is_half(in[0].dtype) || in[FACTOR].dtype != in[0].dtype || !in[0].rank ||
        !in[FACTOR].rank || !y->rank)
        return false;
    /* Operations infer what F32 gives: precision.c has the dtypes. */
    in[0].dtype = in[FACTOR].dtype = TUTTI_F32;
    const tutti_op_call call = {
        .struct_size = sizeof call, .nin = 2, .nout = 1, .in = in, .out = y, .attr = n->attr};
    return t->flops(&call) >= (double)LEAST &&
           (find_columns(n, in, y, ret) || find_terms(n, in, y, ret));
}

static tutti_value emit_zeros_behind(graph *to, tutti_value v, int32_t dim, int64_t more)
{
    const int64_t before[TUTTI_MAX_RANK] = {0};
    int64_t after[TUTTI_MAX_RANK] = {0};
    tutti_graph *b = graph_builder(to);
    const uint32_t rank = (uint32_t)b->desc(b, v)->rank;
    after[dim] = more;
    const tutti_attr attr[2] = {tutti_attr_list("before", before, rank),
                                tutti_attr_list("after", after, rank)};
    return b->emit(b, "pad", &v, 1, attr, 2, NULL, 0);
}

/* A factor that was cast gets its zeros before that, so that its gradient is F32 and is not rounded. */
static tutti_value emit_factor(const graph *from, tutti_value factor, const gap *at, graph *to,
                               const tutti_value *map)
{
    const graph_value *x = graph_value_at(from, factor);
    const graph_node *n = x->kind == VALUE_NODE ? graph_node_at(from, x->index) : NULL;
    if (!n || !traits_have_role(n->op, TUTTI_ROLE_CAST))
        return emit_zeros_behind(to, map[factor], at->dim, at->more);
    return graph_cast(to, emit_zeros_behind(to, map[n->in[0]], at->dim, at->more),
                      x->desc.dtype);
}

tutti_value align_products_cut(graph *to, tutti_value v, int64_t columns)
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

tutti_value align_products_origin(const graph *g, tutti_value v)
{
    const graph_value *x = graph_value_at(g, v);
    const graph_node *n = x->kind == VALUE_NODE ? graph_node_at(g, x->index) : NULL;
    if (!n || x->desc.dtype != TUTTI_F32 || !traits_have_role(n->op, TUTTI_ROLE_CAST) ||
        !dtype_is_half(desc_of(g, n->in[0])->dtype))
        return v;
    const tutti_value whole = whole_of(g, n->in[0]);
    return whole ? whole : n->in[0];
}

/* Zeros in what it reads, the product, and of that the columns that there were. */
static void copy_aligned(const graph *from, const graph_node *n, const gap *at, graph *to,
                         tutti_value *map)
{
    const tutti_value first = map[n->in[0]], factor = map[n->in[FACTOR]];
    const rewrite_node same = rewrite_same(n);
    graph_set_segment(to, n->segment);
    (void)graph_set_scope(to, n->scope);
    (void)graph_set_guard(to, map[n->guard]);
    map[n->in[FACTOR]] = emit_factor(from, n->in[FACTOR], at, to, map);
    if (at->summed)
        map[n->in[0]] =
            emit_zeros_behind(to, first, desc_of(from, n->in[0])->rank - 1, at->more);
    rewrite_emit(to, &same, map);
    map[n->in[0]] = first;
    map[n->in[FACTOR]] = factor;
    if (!map[n->out])
        return;
    graph_set_dtype(to, map[n->out], desc_of(from, n->out)->dtype);
    (void)graph_set_guard(to, map[n->guard]);
    map[n->out] = align_products_cut(to, map[n->out], last_of(desc_of(from, n->out)));
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

tutti_status align_products(const graph *from, const bool *wanted, graph *to,
                            tutti_value *ret_map, tutti_error *err)
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
