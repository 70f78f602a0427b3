/* dnnl.c - oneDNN behind six calls. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dnnl.h"
#include "common/dnnl_api.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64 };

/* One tensor: the caller's memory, the primitive's, and the reorder between them. */
typedef struct slot {
    dnnl_memory_t user;
    dnnl_memory_t own; /* == user when the layouts agree */
    dnnl_primitive_t reorder;
    uint64_t offset; /* of `own` in the scratch memory */
    int is_output;
} slot;

struct dnn {
    int32_t kind;
    int32_t threads;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    dnnl_memory_t scratchpad;
    uint64_t pad; /* bytes of it; the copies of slots lie behind */
    slot slots[DNN_SLOTS];
    dnnl_exec_arg_t args[DNN_SLOTS + 1];
    int nargs;
};

static dnnl_engine_t the_engine;
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;

/* oneDNN does not look whether it got the memory for the code that it writes, and crashes without.  So it is
 * asked for a primitive only where more than one takes can be had. */
enum { PROBE_BYTES = 16 << 20 };

static int has_memory(void)
{
    void *probe =
        mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return probe != MAP_FAILED && munmap(probe, PROBE_BYTES) == 0;
}

static void engine_create(void)
{
    if (dnnl_engine_create(&the_engine, dnnl_cpu, 0) != dnnl_success)
        the_engine = NULL;
}

void dnn_name(const char *what, char ret[DNN_NAME])
{
    const dnnl_version_t *v = dnnl_version();
    (void)snprintf(ret, DNN_NAME, "oneDNN %d.%d.%d %s", v->major, v->minor, v->patch, what);
}

static uint64_t align(uint64_t n)
{
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* *ret: NULL where there is no tensor. */
static dnnl_status_t describe(const dnn_tensor *t, int bf16, int any, layout *ret)
{
    dnnl_dims_t dim = {0}, stride = {0};
    *ret = NULL;
    if (t->rank == 0)
        return dnnl_success;
    memcpy(dim, t->dim, (size_t)t->rank * sizeof *dim);
    memcpy(stride, t->stride, (size_t)t->rank * sizeof *stride);
    return layout_create(t->rank, dim, bf16 ? dnnl_bf16 : dnnl_f32, any ? NULL : stride, ret);
}

static work work_of(const dnn_call *c, const layout *l)
{
    static const dnnl_prop_kind_t directions[DNN_KINDS] = {
        [DNN_CONV] = dnnl_forward_training,
        [DNN_CONV_GRAD_INPUT] = dnnl_backward_data,
        [DNN_CONV_GRAD_WEIGHT] = dnnl_backward_weights};
    work w = {.kind = c->kind == DNN_MATMUL ? dnnl_matmul : dnnl_convolution,
              .direction = directions[c->kind],
              .algorithm = c->algorithm == DNN_WINOGRAD ? dnnl_convolution_winograd
                                                        : dnnl_convolution_direct,
              .src = l[DNN_SRC],
              .weights = l[DNN_WEIGHTS],
              .bias = l[DNN_BIAS],
              .dst = l[DNN_DST],
              .engine = the_engine};
    for (int k = 0; k < 2; k++) {
        w.stride[k] = c->stride[k];
        w.padding[k] = c->padding[k];
        w.dilation[k] = c->dilation[k] - 1;
    }
    return w;
}

/* Attributes: scratchpads are the caller's; what was there is added; a ReLU after the sum. */
static dnnl_status_t attr_init(int add, int relu, dnnl_primitive_attr_t *ret)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t s = dnnl_primitive_attr_create(ret);
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_scratchpad_mode(*ret, dnnl_scratchpad_mode_user);
    if (s == dnnl_success && (add || relu)) {
        s = dnnl_post_ops_create(&ops);
        if (s == dnnl_success && add)
            s = after_add(ops);
        if (s == dnnl_success && relu)
            s = after_relu(ops);
        if (s == dnnl_success)
            s = dnnl_primitive_attr_set_post_ops(*ret, ops);
        if (ops)
            (void)dnnl_post_ops_destroy(ops);
    }
    return s;
}

/* May the primitive choose how slot k lies? */
static int is_any(const dnn_call *c, int k)
{
    return c->slot[k].any || (c->algorithm != DNN_DIRECT && k != DNN_BIAS);
}

static int any_bf16(const dnn_call *c)
{
    for (int k = 0; k < DNN_SLOTS; k++)
        if (c->slot[k].bf16)
            return 1;
    return 0;
}

/* Whether the primitive may give wrong sums: oneDNN 2.6's 1 x 1 gradients of weights do where they skip
 * pixels, the last channels fill no register and threads have different numbers of images. */
static int is_wrong(const dnn_call *c, const char *name)
{
    const int skips = c->stride[0] != 1 || c->stride[1] != 1;
    return c->kind == DNN_CONV_GRAD_WEIGHT && c->threads > 1 && skips &&
           c->slot[DNN_SRC].dim[1] % 16 &&
           (strncmp(name, "jit_1x1", 7) == 0 || strncmp(name, "jit_bf16_1x1", 12) == 0);
}

/* Nor its loops of the definition for convolutions of bf16: conversions around f32 are faster. */
static int is_refused(const void *call, const_dnnl_primitive_desc_t pd)
{
    const dnn_call *c = call;
    const char *name = "";
    (void)dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name);
    return is_wrong(c, name) ||
           (c->kind != DNN_MATMUL && any_bf16(c) && strncmp(name, "ref", 3) == 0);
}

static int never(const void *call, const_dnnl_primitive_desc_t pd)
{
    (void)call, (void)pd;
    return 0;
}

/* The convolution whose gradient `c` is, as oneDNN wants to be told of it: all of one type. */
static dnnl_status_t forward_of(const dnn_call *c, const work *w,
                                const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *ret)
{
    layout l[DNN_SLOTS] = {NULL};
    work forward = *w;
    dnnl_status_t s = dnnl_success;
    for (int k = 0; k < DNN_SLOTS && s == dnnl_success; k++)
        s = describe(&c->slot[k], any_bf16(c), is_any(c, k), &l[k]);
    forward.direction = dnnl_forward_training;
    forward.src = l[DNN_SRC];
    forward.weights = l[DNN_WEIGHTS];
    forward.bias = l[DNN_BIAS];
    forward.dst = l[DNN_DST];
    if (s == dnnl_success)
        s = work_choose(&forward, attr, NULL, never, c, ret);
    for (int k = 0; k < DNN_SLOTS; k++)
        layout_destroy(l[k]);
    return s;
}

static dnnl_status_t choose(const dnn_call *c, const layout *l, dnnl_primitive_desc_t *ret)
{
    dnnl_primitive_attr_t attr = NULL, plain = NULL;
    dnnl_primitive_desc_t hint = NULL;
    const work w = work_of(c, l);
    dnnl_status_t s = attr_init(c->add, c->relu, &attr);
    if (s == dnnl_success)
        s = attr_init(0, 0, &plain);
    if (s == dnnl_success && w.kind == dnnl_convolution && w.direction != dnnl_forward_training)
        s = forward_of(c, &w, plain, &hint);
    if (s == dnnl_success)
        s = work_choose(&w, attr, hint, is_refused, c, ret);
    if (hint)
        (void)dnnl_primitive_desc_destroy(hint);
    if (attr)
        (void)dnnl_primitive_attr_destroy(attr);
    if (plain)
        (void)dnnl_primitive_attr_destroy(plain);
    return s;
}

static dnnl_status_t pd_create(const dnn_call *c, dnnl_primitive_desc_t *ret)
{
    layout l[DNN_SLOTS] = {NULL};
    dnnl_status_t s = dnnl_success;
    for (int k = 0; k < DNN_SLOTS && s == dnnl_success; k++)
        s = describe(&c->slot[k], c->slot[k].bf16, is_any(c, k), &l[k]);
    if (s == dnnl_success)
        s = choose(c, l, ret);
    for (int k = 0; k < DNN_SLOTS; k++)
        layout_destroy(l[k]);
    return s;
}

/* What the primitive calls slot k: the query for its layout and the number of the argument. */
static void slot_names(int kind, int k, dnnl_query_t *ret_query, int *ret_arg, int *ret_output)
{
    const int back_in = kind == DNN_CONV_GRAD_INPUT, back_w = kind == DNN_CONV_GRAD_WEIGHT;
    *ret_output = 0;
    switch (k) {
    case DNN_SRC:
        *ret_query = back_in ? dnnl_query_diff_src_md : dnnl_query_src_md;
        *ret_arg = back_in ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
        *ret_output = back_in;
        break;
    case DNN_WEIGHTS:
        *ret_query = back_w ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
        *ret_arg = back_w ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
        *ret_output = back_w;
        break;
    case DNN_BIAS:
        *ret_query = dnnl_query_weights_md;
        *ret_arg = DNNL_ARG_BIAS;
        break;
    default:
        *ret_query = back_in || back_w ? dnnl_query_diff_dst_md : dnnl_query_dst_md;
        *ret_arg = back_in || back_w ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST;
        *ret_output = !back_in && !back_w;
    }
}

/* The reorder between the two layouts of a slot; *scratchpad grows to what it needs. */
static dnnl_status_t reorder_create(slot *s, const_layout user, const_layout own,
                                    uint64_t *scratchpad)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    const const_layout from = s->is_output ? own : user, to = s->is_output ? user : own;
    dnnl_status_t r = attr_init(0, 0, &attr);
    if (r == dnnl_success)
        r = dnnl_reorder_primitive_desc_create(&pd, from, the_engine, to, the_engine, attr);
    if (r == dnnl_success)
        r = dnnl_primitive_create(&s->reorder, pd);
    if (r == dnnl_success) {
        const uint64_t size = dnnl_memory_desc_get_size(
            dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0));
        *scratchpad = size > *scratchpad ? size : *scratchpad;
    }
    if (pd)
        (void)dnnl_primitive_desc_destroy(pd);
    if (attr)
        (void)dnnl_primitive_attr_destroy(attr);
    return r;
}

/* Memories of slot k; *scratch grows by its reordered copy. */
static dnnl_status_t slot_create(dnn *p, const dnn_call *c, int k, uint64_t *scratch,
                                 uint64_t *scratchpad)
{
    slot *s = &p->slots[k];
    dnnl_query_t query;
    layout user = NULL;
    int arg;
    if (c->slot[k].rank == 0)
        return dnnl_success;
    slot_names(c->kind, k, &query, &arg, &s->is_output);
    const const_layout own = dnnl_primitive_desc_query_md(p->pd, query, k == DNN_BIAS);
    dnnl_status_t r = describe(&c->slot[k], c->slot[k].bf16 && !c->slot[k].f32, 0, &user);
    if (r == dnnl_success)
        r = dnnl_memory_create(&s->user, user, the_engine, DNNL_MEMORY_NONE);
    if (r == dnnl_success && dnnl_memory_desc_equal(user, own)) {
        s->own = s->user;
    } else if (r == dnnl_success) {
        s->offset = *scratch;
        *scratch += align(dnnl_memory_desc_get_size(own));
        r = dnnl_memory_create(&s->own, own, the_engine, DNNL_MEMORY_NONE);
        if (r == dnnl_success)
            r = reorder_create(s, user, own, scratchpad);
    }
    layout_destroy(user);
    p->args[p->nargs].arg = arg;
    p->args[p->nargs++].memory = s->own;
    return r;
}

/* One region serves the primitive and the reorders: they follow one another. */
static dnnl_status_t scratchpad_create(dnn *p)
{
    const dnnl_dims_t size = {(int64_t)p->pad}, one = {1};
    layout bytes = NULL;
    dnnl_status_t s = layout_create(1, size, dnnl_u8, one, &bytes);
    if (s == dnnl_success)
        s = dnnl_memory_create(&p->scratchpad, bytes, the_engine, DNNL_MEMORY_NONE);
    layout_destroy(bytes);
    return s;
}

static dnnl_status_t build(dnn *p, const dnn_call *c, uint64_t *ret_scratch)
{
    uint64_t scratch = 0;
    dnnl_status_t s = dnnl_stream_create(&p->stream, the_engine, dnnl_stream_default_flags);
    if (s == dnnl_success)
        s = pd_create(c, &p->pd);
    if (s == dnnl_success)
        s = dnnl_primitive_create(&p->primitive, p->pd);
    if (s != dnnl_success)
        return s;
    uint64_t scratchpad = dnnl_memory_desc_get_size(
        dnnl_primitive_desc_query_md(p->pd, dnnl_query_scratchpad_md, 0));
    for (int k = 0; k < DNN_SLOTS && s == dnnl_success; k++)
        s = slot_create(p, c, k, &scratch, &scratchpad);
    p->pad = align(scratchpad);
    if (s == dnnl_success)
        s = scratchpad_create(p);
    p->args[p->nargs].arg = DNNL_ARG_SCRATCHPAD;
    p->args[p->nargs++].memory = p->scratchpad;
    *ret_scratch = p->pad + scratch;
    return s;
}

tutti_status dnn_create(const dnn_call *c, const char *op, dnn **ret, uint64_t *ret_scratch,
                        tutti_error *err)
{
    uint64_t scratch = 0;
    if (!has_memory())
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for oneDNN", op);
    (void)pthread_once(&engine_once, engine_create);
    if (!the_engine)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: oneDNN has no CPU engine", op);
    dnn *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its state", op);
    p->kind = c->kind;
    p->threads = c->threads;
    const int before = omp_get_max_threads();
    omp_set_num_threads(c->threads); /* a primitive is made for one number of threads */
    const dnnl_status_t s = build(p, c, &scratch);
    omp_set_num_threads(before);
    if (s != dnnl_success) {
        dnn_destroy(p);
        if (s == dnnl_out_of_memory)
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for oneDNN", op);
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: oneDNN refuses it with status %d", op,
                          (int)s);
    }
    *ret = p;
    *ret_scratch = scratch;
    return TUTTI_OK;
}

static dnnl_status_t reorder(const dnn *p, const slot *s)
{
    const dnnl_exec_arg_t args[3] = {{DNNL_ARG_FROM, s->is_output ? s->own : s->user},
                                     {DNNL_ARG_TO, s->is_output ? s->user : s->own},
                                     {DNNL_ARG_SCRATCHPAD, p->scratchpad}};
    return dnnl_primitive_execute(s->reorder, p->stream, 3, args);
}

static dnnl_status_t execute(dnn *p, void *const data[DNN_SLOTS], void *scratch)
{
    char *copies = (char *)scratch + p->pad;
    dnnl_status_t r = dnnl_memory_set_data_handle(p->scratchpad, scratch);
    for (int k = 0; k < DNN_SLOTS && r == dnnl_success; k++) {
        slot *s = &p->slots[k];
        if (!s->user)
            continue;
        r = dnnl_memory_set_data_handle(s->user, data[k]);
        if (r == dnnl_success && s->reorder)
            r = dnnl_memory_set_data_handle(s->own, copies + s->offset);
        if (r == dnnl_success && s->reorder && !s->is_output)
            r = reorder(p, s);
    }
    if (r == dnnl_success)
        r = dnnl_primitive_execute(p->primitive, p->stream, p->nargs, p->args);
    for (int k = 0; k < DNN_SLOTS && r == dnnl_success; k++)
        if (p->slots[k].reorder && p->slots[k].is_output)
            r = reorder(p, &p->slots[k]);
    return r;
}

tutti_status dnn_run(dnn *p, void *const data[DNN_SLOTS], void *scratch)
{
    const int before = omp_get_max_threads();
    omp_set_num_threads(p->threads);
    const dnnl_status_t s = execute(p, data, scratch);
    omp_set_num_threads(before);
    return s == dnnl_success         ? TUTTI_OK
           : s == dnnl_out_of_memory ? TUTTI_E_NOMEM
                                     : TUTTI_E_FAIL;
}

tutti_status dnn_gemm_run(const dnn_gemm *p, const float *a, const float *b, float *y)
{
    static int has_run; /* its code has been written */
    if (!__atomic_load_n(&has_run, __ATOMIC_RELAXED) && !has_memory())
        return TUTTI_E_NOMEM;
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    const dnnl_status_t s =
        dnnl_sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->m, p->n, p->k,
                   1.0f, a, p->a_row, b, p->b_row, p->add ? 1.0f : 0.0f, y, p->y_row);
    omp_set_num_threads(before);
    __atomic_store_n(&has_run, s == dnnl_success, __ATOMIC_RELAXED);
    return s == dnnl_success         ? TUTTI_OK
           : s == dnnl_out_of_memory ? TUTTI_E_NOMEM
                                     : TUTTI_E_FAIL;
}

const char *dnn_implementation(const dnn *p)
{
    const char *name = NULL;
    if (dnnl_primitive_desc_query(p->pd, dnnl_query_impl_info_str, 0, &name) != dnnl_success)
        return "unknown";
    return name;
}

void dnn_destroy(dnn *p)
{
    if (!p)
        return;
    for (int k = 0; k < DNN_SLOTS; k++) {
        slot *s = &p->slots[k];
        if (s->reorder)
            (void)dnnl_primitive_destroy(s->reorder);
        if (s->own && s->own != s->user)
            (void)dnnl_memory_destroy(s->own);
        if (s->user)
            (void)dnnl_memory_destroy(s->user);
    }
    if (p->scratchpad)
        (void)dnnl_memory_destroy(p->scratchpad);
    if (p->primitive)
        (void)dnnl_primitive_destroy(p->primitive);
    if (p->pd)
        (void)dnnl_primitive_desc_destroy(p->pd);
    if (p->stream)
        (void)dnnl_stream_destroy(p->stream);
    free(p);
}
