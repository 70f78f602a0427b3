/* cudnn.c - finding cuDNN; graphs of its backend API. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/cudnn.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library ---- */

tutti_status cdnn_load(void *ctx, cuda_finder *find, cdnn *ret_lib, tutti_error *err)
{
    static const cuda_symbol functions[] = {
        {"cudnnGetLastErrorString", offsetof(cdnn, last_error)},
#define CDNN_ENTRY(member, name, args) {#name, offsetof(cdnn, member)},
        CDNN_FUNCTIONS(CDNN_ENTRY)
#undef CDNN_ENTRY
    };
    size_t (*version)(void) = NULL;
    void *found = NULL;
    tutti_status s = cuda_symbols(ctx, find, "cudnn", functions,
                                  sizeof functions / sizeof *functions, ret_lib, err);
    if (!s)
        s = find(ctx, "cudnn", "cudnnGetVersion", &found, err);
    if (!s) {
        memcpy(&version, &found, sizeof found);
        ret_lib->version = version();
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
