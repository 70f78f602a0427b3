/* cudnn.c - finding cuDNN; graphs of its backend API, and plans that run them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/cudnn.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library ---- */

tutti_status cdnn_load(void *ctx,
                       tutti_status (*symbol)(void *ctx, const char *library, const char *name,
                                              void **ret_symbol, tutti_error *err),
                       cdnn *ret_lib, tutti_error *err)
{
    static const struct {
        const char *name;
        size_t at;
    } functions[] = {{"cudnnGetLastErrorString", offsetof(cdnn, last_error)},
#define CDNN_ENTRY(member, name, args) {#name, offsetof(cdnn, member)},
                     CDNN_FUNCTIONS(CDNN_ENTRY)
#undef CDNN_ENTRY
    };
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < sizeof functions / sizeof *functions && !s; k++) {
        void *found = NULL;
        s = symbol(ctx, "cudnn", functions[k].name, &found, err);
        memcpy((char *)ret_lib + functions[k].at, &found, sizeof found);
    }
    return s;
}

static void destroy(void *object)
{
    cdnn *lib = object;
    if (lib && lib->handle)
        (void)lib->destroy(lib->handle);
    free(lib);
}

static tutti_status make(const tutti_cuda_v1 *cuda, void **ret_object, tutti_error *err)
{
    cdnn *lib = calloc(1, sizeof *lib);
    if (!lib)
        return tutti_fail(err, TUTTI_E_NOMEM, "cuDNN: no memory for its functions");
    tutti_status s = cdnn_load(cuda->ctx, cuda->symbol, lib, err);
    if (!s) {
        const uint32_t status = lib->create(&lib->handle);
        if (status)
            s = tutti_fail(err, TUTTI_E_FAIL, "cuDNN: cudnnCreate failed with %u", status);
    }
    if (s) {
        destroy(lib);
        return s;
    }
    *ret_object = lib;
    return TUTTI_OK;
}

tutti_status cdnn_of(const tutti_cuda_v1 *cuda, const cdnn **ret_lib, tutti_error *err)
{
    static const char key = 0;
    void *object = NULL;
    const tutti_status s = cuda->object(cuda->ctx, &key, make, destroy, &object, err);
    if (!s)
        *ret_lib = object;
    return s;
}

/* ---- graphs ---- */

uint32_t cdnn_dtype(int32_t dtype)
{
    return dtype == TUTTI_BF16  ? CDNN_DATA_BFLOAT16
           : dtype == TUTTI_F16 ? CDNN_DATA_HALF
                                : CDNN_DATA_FLOAT;
}

static void check(cdnn_graph *g, uint32_t status)
{
    if (!g->failed)
        g->failed = status;
}

void *cdnn_make(cdnn_graph *g, uint32_t type)
{
    void *desc = NULL;
    if (g->nmade == CDNN_MADE_MAX)
        g->failed = UINT32_MAX; /* our own limit */
    if (g->failed)
        return NULL;
    check(g, g->lib->desc_create(type, &desc));
    if (g->failed)
        return NULL;
    return g->made[g->nmade++] = desc;
}

void cdnn_set(cdnn_graph *g, void *desc, uint32_t attribute, uint32_t type, int64_t count,
              const void *values)
{
    if (!g->failed)
        check(g, g->lib->desc_set(desc, attribute, type, count, values));
}

void cdnn_set_desc(cdnn_graph *g, void *desc, uint32_t attribute, void *value)
{
    cdnn_set(g, desc, attribute, CDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

void cdnn_set_value(cdnn_graph *g, void *desc, uint32_t attribute, uint32_t type, int32_t value)
{
    cdnn_set(g, desc, attribute, type, 1, &value);
}

void *cdnn_finish(cdnn_graph *g, void *desc)
{
    if (!g->failed)
        check(g, g->lib->desc_finish(desc));
    return desc;
}

void cdnn_finish_op(cdnn_graph *g, void *desc)
{
    (void)cdnn_finish(g, desc);
    if (g->nops == CDNN_OPS_MAX)
        g->failed = UINT32_MAX;
    if (!g->failed)
        g->ops[g->nops++] = desc;
}

void *cdnn_add_tensor(cdnn_graph *g, const cdnn_tensor *t)
{
    void *d = cdnn_make(g, CDNN_BACKEND_TENSOR_DESCRIPTOR);
    const bool is_virtual = t->kind == CDNN_VIRTUAL, by_value = t->kind == CDNN_BY_VALUE;
    const int64_t alignment = t->alignment ? t->alignment : 16;
    const int64_t uid = t->uid ? t->uid : --g->next_uid;
    cdnn_set_value(g, d, CDNN_ATTR_TENSOR_DATA_TYPE, CDNN_TYPE_DATA_TYPE, t->dtype);
    cdnn_set(g, d, CDNN_ATTR_TENSOR_DIMENSIONS, CDNN_TYPE_INT64, t->rank, t->dim);
    cdnn_set(g, d, CDNN_ATTR_TENSOR_STRIDES, CDNN_TYPE_INT64, t->rank, t->stride);
    cdnn_set(g, d, CDNN_ATTR_TENSOR_UNIQUE_ID, CDNN_TYPE_INT64, 1, &uid);
    cdnn_set(g, d, CDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CDNN_TYPE_INT64, 1, &alignment);
    cdnn_set(g, d, CDNN_ATTR_TENSOR_IS_VIRTUAL, CDNN_TYPE_BOOLEAN, 1, &is_virtual);
    cdnn_set(g, d, CDNN_ATTR_TENSOR_IS_BY_VALUE, CDNN_TYPE_BOOLEAN, 1, &by_value);
    return cdnn_finish(g, d);
}

void cdnn_add_pointwise(cdnn_graph *g, const cdnn_pointwise *p)
{
    void *how = cdnn_make(g, CDNN_BACKEND_POINTWISE_DESCRIPTOR);
    cdnn_set_value(g, how, CDNN_ATTR_POINTWISE_MODE, CDNN_TYPE_POINTWISE_MODE,
                   (int32_t)p->mode);
    cdnn_set_value(g, how, CDNN_ATTR_POINTWISE_MATH_PREC, CDNN_TYPE_DATA_TYPE, p->precision);
    if (p->axis >= 0)
        cdnn_set(g, how, CDNN_ATTR_POINTWISE_AXIS, CDNN_TYPE_INT64, 1, &p->axis);
    (void)cdnn_finish(g, how);
    void *op = cdnn_make(g, CDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_POINTWISE_XDESC, p->x);
    if (p->b)
        cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_POINTWISE_BDESC, p->b);
    if (p->t)
        cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_POINTWISE_TDESC, p->t);
    cdnn_set_desc(g, op, CDNN_ATTR_OPERATION_POINTWISE_YDESC, p->y);
    cdnn_finish_op(g, op);
}

void cdnn_drop(cdnn_graph *g)
{
    while (g->nmade)
        (void)g->lib->desc_destroy(g->made[--g->nmade]);
}

/* ---- plans ---- */

enum { CONFIGS_MAX = 32 };

struct cdnn_plan {
    cdnn_graph graph; /* whose descriptors the plan refers to */
    void *plan;
    uint64_t workspace;
    void *pack; /* NULL before the first run */
    void *last[CDNN_UIDS_MAX + 1];
};

/* A plan is made for the device of the handle, or for the described one. */
static void set_device(cdnn_graph *g, void *desc, uint32_t handle, uint32_t device)
{
    if (g->device && device)
        cdnn_set_desc(g, desc, device, g->device);
    else if (!g->device && handle)
        cdnn_set(g, desc, handle, CDNN_TYPE_HANDLE, 1, &g->lib->handle);
}

/* 1 << note of every numerical note of a configuration's engine; all bits where it does not tell. */
static uint32_t notes_of(cdnn_graph *g, void *config)
{
    const cdnn *lib = g->lib;
    int32_t notes[CDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t n = 0;
    uint32_t bits = 0;
    void *engine = NULL;
    if (lib->desc_create(CDNN_BACKEND_ENGINE_DESCRIPTOR, &engine))
        return ~0u;
    if (lib->desc_get(config, CDNN_ATTR_ENGINECFG_ENGINE, CDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n,
                      &engine) ||
        lib->desc_get(engine, CDNN_ATTR_ENGINE_NUMERICAL_NOTE, CDNN_TYPE_NUMERICAL_NOTE,
                      CDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, notes)) {
        bits = ~0u;
        n = 0;
    }
    for (int64_t k = 0; k < n && k < CDNN_NUMERICAL_NOTE_TYPE_COUNT; k++)
        bits |= 1u << notes[k];
    (void)lib->desc_destroy(engine);
    return bits;
}

static bool finish_plan(cdnn_plan *p, void *config, uint64_t most)
{
    cdnn_graph *g = &p->graph;
    const cdnn *lib = g->lib;
    int64_t n = 0, workspace = 0;
    if (lib->desc_create(CDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &p->plan))
        return false;
    cdnn_set_desc(g, p->plan, CDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    set_device(g, p->plan, CDNN_ATTR_EXECUTION_PLAN_HANDLE,
               CDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    (void)cdnn_finish(g, p->plan);
    if (!g->failed)
        check(g, lib->desc_get(p->plan, CDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                               CDNN_TYPE_INT64, 1, &n, &workspace));
    if (!g->failed && workspace >= 0 && (uint64_t)workspace <= most) {
        p->workspace = (uint64_t)workspace;
        return true;
    }
    g->failed = 0; /* another configuration may do */
    (void)lib->desc_destroy(p->plan);
    p->plan = NULL;
    return false;
}

/* The configurations that `mode` proposes for the graph, most promising first. */
static int64_t propose(cdnn_graph *g, void *graph, int32_t mode, void *configs[CONFIGS_MAX])
{
    const cdnn *lib = g->lib;
    int64_t n = 0, made = 0;
    void *heur = cdnn_make(g, CDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    cdnn_set_desc(g, heur, CDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    cdnn_set_value(g, heur, CDNN_ATTR_ENGINEHEUR_MODE, CDNN_TYPE_HEUR_MODE, mode);
    set_device(g, heur, 0, CDNN_ATTR_ENGINEHEUR_DEVICEPROP);
    (void)cdnn_finish(g, heur);
    while (!g->failed && made < CONFIGS_MAX && g->nmade < CDNN_MADE_MAX)
        configs[made++] = cdnn_make(g, CDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (!g->failed)
        check(g, lib->desc_get(heur, CDNN_ATTR_ENGINEHEUR_RESULTS, CDNN_TYPE_BACKEND_DESCRIPTOR,
                               made, &n, configs));
    n = g->failed ? 0 : n < made ? n : made;
    return n;
}

static void try_mode(cdnn_plan *p, void *graph, int32_t mode, uint32_t refuse, uint64_t most)
{
    cdnn_graph *g = &p->graph;
    void *configs[CONFIGS_MAX];
    const uint32_t before = g->nmade;
    const int64_t n = propose(g, graph, mode, configs);
    for (int64_t k = 0; k < n && !p->plan; k++)
        if (!(notes_of(g, configs[k]) & refuse))
            (void)finish_plan(p, configs[k], most);
    g->failed = 0;
    while (!p->plan && g->nmade > before)
        (void)g->lib->desc_destroy(g->made[--g->nmade]);
}

tutti_status cdnn_plan_make(cdnn_graph *g, uint32_t refuse, uint64_t workspace,
                            cdnn_plan **ret_plan, tutti_error *err)
{
    char text[128] = "";
    cdnn_plan *p = calloc(1, sizeof *p);
    if (!p) {
        cdnn_drop(g);
        return tutti_fail(err, TUTTI_E_NOMEM, "cuDNN: no memory for a plan");
    }
    p->graph = *g;
    g->nmade = 0;
    g = &p->graph;
    void *graph = cdnn_make(g, CDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    cdnn_set(g, graph, CDNN_ATTR_OPERATIONGRAPH_OPS, CDNN_TYPE_BACKEND_DESCRIPTOR, g->nops,
             g->ops);
    set_device(g, graph, CDNN_ATTR_OPERATIONGRAPH_HANDLE, 0);
    (void)cdnn_finish(g, graph);
    const uint32_t failed = g->failed;
    if (!failed)
        try_mode(p, graph, CDNN_HEUR_MODE_A, refuse, workspace);
    if (!failed && !p->plan)
        try_mode(p, graph, CDNN_HEUR_MODE_FALLBACK, refuse, workspace);
    if (!p->plan) {
        g->lib->last_error(text, sizeof text);
        cdnn_plan_destroy(p);
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "cuDNN: no engine for the graph (%u): %s",
                          failed, text);
    }
    *ret_plan = p;
    return TUTTI_OK;
}

uint64_t cdnn_plan_workspace(const cdnn_plan *p)
{
    return p->workspace;
}

/* Where the tensors lie.  It is finished once, so that other places mean another pack. */
static uint32_t pack(cdnn_plan *p, uint32_t n, const int64_t *uids, void *const *data,
                     void *workspace)
{
    const cdnn *lib = p->graph.lib;
    if (p->pack && p->last[n] == workspace && !memcmp(p->last, data, n * sizeof *data))
        return 0;
    if (p->pack)
        (void)lib->desc_destroy(p->pack);
    p->pack = NULL;
    uint32_t s = lib->desc_create(CDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &p->pack);
    if (s)
        return s;
    s = lib->desc_set(p->pack, CDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CDNN_TYPE_INT64, n, uids);
    if (!s)
        s = lib->desc_set(p->pack, CDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CDNN_TYPE_VOID_PTR, n,
                          data);
    if (!s)
        s = lib->desc_set(p->pack, CDNN_ATTR_VARIANT_PACK_WORKSPACE, CDNN_TYPE_VOID_PTR, 1,
                          &workspace);
    if (!s)
        s = lib->desc_finish(p->pack);
    if (s) {
        (void)lib->desc_destroy(p->pack);
        p->pack = NULL;
        return s;
    }
    memcpy(p->last, data, n * sizeof *data);
    p->last[n] = workspace;
    return 0;
}

tutti_status cdnn_plan_run(cdnn_plan *p, void *stream, uint32_t n, const int64_t *uids,
                           void *const *data, void *workspace)
{
    const cdnn *lib = p->graph.lib;
    if (n > CDNN_UIDS_MAX || lib->set_stream(lib->handle, stream) ||
        pack(p, n, uids, data, workspace) || lib->execute(lib->handle, p->plan, p->pack))
        return TUTTI_E_FAIL;
    return TUTTI_OK;
}

void cdnn_plan_destroy(cdnn_plan *p)
{
    if (!p)
        return;
    if (p->pack)
        (void)p->graph.lib->desc_destroy(p->pack);
    if (p->plan)
        (void)p->graph.lib->desc_destroy(p->plan);
    cdnn_drop(&p->graph);
    free(p);
}
