/* fuse_factors.c - a product and the sums of one of its factors, a weight's gradient and its bias's, as one
 * node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/attr.h"
#include "graph/copy.h"
#include "graph/fuse.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef struct fuser {
    const graph *from;
    graph *to;
    const bool *wanted;
    tutti_value *map;
    uint32_t *first; /* by value: its first reader, or NONE */
    uint32_t *
        with; /* by node: the product or the sums that the later of the two takes in, or NONE */
    bool *gone; /* by node: part of a later one */
} fuser;

static bool is_op(const graph_node *n, const char *name)
{
    return strcmp(n->op->name, name) == 0;
}

static const tutti_desc *desc_of(const fuser *f, tutti_value v)
{
    return &graph_value_at(f->from, v)->desc;
}

static int64_t last_dim(const tutti_desc *d)
{
    return d->rank ? d->dim[d->rank - 1] : 0;
}

/* What `v` is as rows of the same length. */
static tutti_value rows_of(const fuser *f, tutti_value v)
{
    for (;;) {
        const graph_value *x = graph_value_at(f->from, v);
        const graph_node *n = x->kind == VALUE_NODE ? graph_node_at(f->from, x->index) : NULL;
        if (!n || !is_op(n, "reshape") || last_dim(desc_of(f, n->in[0])) != last_dim(&x->desc))
            return v;
        v = n->in[0];
    }
}

/* Sums over all rows. */
static bool sums_rows(const fuser *f, const graph_node *n)
{
    const tutti_desc *y = desc_of(f, n->out);
    return is_op(n, "sum_to") && y->rank == 1 && y->dtype == TUTTI_F32 && tutti_numel(y) > 0 &&
           desc_of(f, n->in[0])->rank > 1 && last_dim(desc_of(f, n->in[0])) == y->dim[0];
}

/* Is factor `of` of a product, as rows that are multiplied over, what node `sums` adds up? */
static bool has_factor(const fuser *f, const graph_node *p, uint32_t of, const graph_node *sums)
{
    const tutti_desc *x = desc_of(f, p->in[of]);
    const bool turned = attr_is_set(p->op, p->attr, of ? "transpose_b" : "transpose_a");
    return x->rank == 2 && turned == (of == 0) &&
           last_dim(x) == desc_of(f, sums->out)->dim[0] &&
           tutti_numel(x) == tutti_numel(desc_of(f, sums->in[0])) &&
           rows_of(f, p->in[of]) == rows_of(f, sums->in[0]);
}

/* 0 or 1; NONE: the two do not go together. */
static uint32_t factor_of(const fuser *f, const graph_node *p, const graph_node *sums)
{
    const bool plain = is_op(p, "matmul") && p->nin == 2 && !attr_is_set(p->op, p->attr, "act");
    const bool added = is_op(p, "matmul_add") && p->nin == 3;
    if ((!plain && !added) || p->guard != sums->guard || p->segment != sums->segment ||
        desc_of(f, p->in[0])->rank != 2 || desc_of(f, p->in[1])->rank != 2)
        return NONE;
    return has_factor(f, p, 0, sums) ? 0 : has_factor(f, p, 1, sums) ? 1 : NONE;
}

static bool is_read(const fuser *f, uint32_t k)
{
    const tutti_value v = graph_node_at(f->from, k)->out;
    return f->first[v] != NONE || f->wanted[v];
}

/* Nobody needs the earlier one before the later one is there. */
static bool can_wait(const fuser *f, uint32_t a, uint32_t b)
{
    const graph_node *earlier = graph_node_at(f->from, a < b ? a : b);
    return f->first[earlier->out] > (a < b ? b : a);
}

static void find_pairs(fuser *f)
{
    const uint32_t nnodes = graph_nnodes(f->from);
    for (uint32_t k = 0; k < nnodes; k++) {
        const graph_node *n = graph_node_at(f->from, k);
        if (!sums_rows(f, n) || !is_read(f, k))
            continue;
        for (uint32_t p = 0; p < nnodes; p++) {
            const uint32_t later = p > k ? p : k, earlier = p > k ? k : p;
            if (f->with[p] != NONE || f->gone[p] || !is_read(f, p) || !can_wait(f, p, k) ||
                factor_of(f, graph_node_at(f->from, p), n) == NONE)
                continue;
            f->with[later] = earlier;
            f->gone[earlier] = true;
            break;
        }
    }
}

/* Emits `op` where `place` was, with the attributes of `n` and, unless negative, of; its results come to
 * out, like those of values from[0..nout). */
static void emit(const fuser *f, const graph_node *place, const char *op, const graph_node *n,
                 int64_t of, const tutti_value *from, uint32_t nout)
{
    tutti_graph *b = graph_builder(f->to);
    tutti_attr attr[GRAPH_MAX_ATTR + 1];
    tutti_list lists[GRAPH_MAX_ATTR];
    tutti_value in[TUTTI_OP_MAX_IN], out[TUTTI_OP_MAX_OUT];
    uint32_t nattr = (uint32_t)n->op->nfields;
    attr_encode(n->op, n->attr, lists, attr);
    if (of >= 0)
        attr[nattr++] = tutti_attr_i("of", of);
    for (uint32_t j = 0; j < n->nin; j++)
        in[j] = f->map[n->in[j]];
    graph_set_segment(f->to, place->segment);
    (void)graph_set_scope(f->to, place->scope);
    (void)graph_set_guard(f->to, f->map[place->guard]);
    (void)b->emit(b, op, in, n->nin, attr, nattr, out, nout);
    (void)graph_set_guard(f->to, 0);
    for (uint32_t k = 0; k < nout && !b->status(b); k++) {
        f->map[from[k]] = out[k];
        graph_set_dtype(f->to, out[k], desc_of(f, from[k])->dtype);
    }
}

static void copy_node(const fuser *f, uint32_t k)
{
    const graph_node *n = graph_node_at(f->from, k);
    tutti_value from[TUTTI_OP_MAX_OUT];
    for (uint32_t j = 0; j < n->op->nout; j++)
        from[j] = n->out + j;
    if (f->with[k] == NONE) {
        emit(f, n, n->op->name, n, -1, from, n->op->nout);
        return;
    }
    const graph_node *other = graph_node_at(f->from, f->with[k]);
    const graph_node *sums = is_op(n, "sum_to") ? n : other, *p = sums == n ? other : n;
    from[0] = p->out;
    from[1] = sums->out;
    emit(f, n, "matmul_sums", p, (int64_t)factor_of(f, p, sums), from, 2);
}

static void copy_all(const fuser *f)
{
    graph_set_passes(f->to, GRAPH_PLAIN);
    for (tutti_value v = 1; v < graph_nvalues(f->from); v++) {
        const graph_value *x = graph_value_at(f->from, v);
        if (x->kind != VALUE_NODE)
            f->map[v] = graph_copy_leaf(f->from, v, f->to);
        else if (graph_node_at(f->from, x->index)->out == v && !f->gone[x->index])
            copy_node(f, x->index);
    }
    graph_copy_assigns(f->from, f->to, f->map);
}

static void find_readers(const fuser *f)
{
    for (tutti_value v = 0; v < graph_nvalues(f->from); v++)
        f->first[v] = NONE;
    for (uint32_t k = graph_nnodes(f->from); k-- > 0;) {
        const graph_node *n = graph_node_at(f->from, k);
        f->with[k] = NONE;
        f->first[n->guard] = k;
        for (uint32_t j = 0; j < n->nin; j++)
            f->first[n->in[j]] = k;
    }
}

tutti_status fuse_factors(const graph *from, const bool *wanted, graph *to,
                          tutti_value *ret_map, tutti_error *err)
{
    const uint32_t nvalues = graph_nvalues(from), nnodes = graph_nnodes(from);
    fuser f = {.from = from, .to = to, .wanted = wanted, .map = ret_map};
    f.first = calloc(nvalues, sizeof *f.first);
    f.with = malloc(((size_t)nnodes + 1) * sizeof *f.with);
    f.gone = calloc((size_t)nnodes + 1, sizeof *f.gone);
    memset(ret_map, 0, sizeof *ret_map * nvalues);
    tutti_status s = TUTTI_OK;
    if (!f.first || !f.with || !f.gone)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    if (!s) {
        find_readers(&f);
        find_pairs(&f);
        copy_all(&f);
        s = graph_error(to, err);
    }
    free(f.first);
    free(f.with);
    free(f.gone);
    return s;
}
