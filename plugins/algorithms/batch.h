/* batch.h - what algorithms share that change a batch by kernels, wherever it lies. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_BATCH_H
#define PLUGIN_BATCH_H

#include "kernels.h"
#include "soft_targets.h"

/* The view, and the kernels of these names; *d is for the calls below. */
static inline tutti_status batch_open(algorithm_device *d, const tutti_host *host,
                                      const char *who, const char *const *names, uint32_t n,
                                      uint32_t *ret_kernels, tutti_error *err)
{
    const tutti_status s = algorithm_device_init(d, host, who, err);
    return s ? s : algorithm_kernels(d, names, n, ret_kernels, err);
}

/* Settings input_key and target_key, where the algorithm has them. */
static inline void batch_keys(algorithm_device *d, const tutti_params *params)
{
    if (tutti_param_is_set(params, "input_key"))
        d->input = tutti_param_str(params, "input_key");
    if (tutti_param_is_set(params, "target_key"))
        d->target = tutti_param_str(params, "target_key");
}

static inline tutti_status batch_describe(const algorithm_device *d, const char *name,
                                          tutti_desc *ret_desc, tutti_error *err)
{
    return d->view->describe(d->view->ctx, name, ret_desc, err);
}

/* The batch's images (B, H, W, C), of any dtype; *ret_images counts only on success. */
static inline tutti_status batch_images(const algorithm_device *d, tutti_desc *ret_images,
                                        tutti_error *err)
{
    char text[96];
    *ret_images = (tutti_desc){.rank = 0};
    const tutti_status s = batch_describe(d, d->input, ret_images, err);
    if (s)
        return s;
    if (ret_images->rank != 4 || tutti_numel(ret_images) == 0)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: the input is %s, want images (B, H, W, C)",
                          d->who, tutti_desc_text(ret_images, text, sizeof text));
    return TUTTI_OK;
}

/* Whether targets have a number or more for every pixel of `images`. */
static inline int32_t batch_is_dense(const tutti_desc *target, const tutti_desc *images)
{
    const int64_t *t = target->dim, *x = images->dim;
    return target->rank > 2 && t[0] == x[0] && t[1] == x[1] && t[2] == x[2];
}

static inline tutti_status batch_get(const algorithm_device *d, const char *name,
                                     tutti_tensor *ret, tutti_error *err)
{
    return d->view->get(d->view->ctx, name, ret, err);
}

/* A column, and the memory in its place that a kernel fills with what it becomes. */
static inline tutti_status batch_renew(const algorithm_device *d, const char *name,
                                       const tutti_desc *becomes, tutti_tensor *ret_from,
                                       tutti_tensor *ret_to, tutti_error *err)
{
    const tutti_status s = batch_get(d, name, ret_from, err);
    return s ? s : d->view->renew(d->view->ctx, name, becomes, ret_to, err);
}

/* Numbers of the host's in memory for kernels. */
static inline tutti_status batch_send(const algorithm_device *d, algorithm_memory *to,
                                      const void *from, uint64_t bytes, tutti_error *err)
{
    const tutti_status s = algorithm_take(d, to, bytes, err);
    return s || !bytes
               ? s
               : d->view->copy(d->view->ctx, to->data, from, bytes, TUTTI_COPY_TO_DEVICE, err);
}

/* ---- picked samples ---- */

/* A kernel on the CPU: rows order[0], order[1] ... of x, `row` units of `unit` bytes each; n units in all. */
static inline void batch_pick(const uint8_t *x, uint8_t *y, const uint32_t *order, int64_t row,
                              int64_t unit, int64_t n)
{
    const int64_t bytes = row * unit;
    for (int64_t k = 0; k * row < n; k++)
        memcpy(y + k * bytes, x + (int64_t)order[k] * bytes, (size_t)bytes);
}

/* Calls such a kernel, (x, y, order, row, unit, n), for `count` samples of a column. */
static inline tutti_status batch_launch_pick(const algorithm_device *d, uint32_t kernel,
                                             const tutti_tensor *x, void *y, const void *order,
                                             int64_t count, tutti_error *err)
{
    const int64_t bytes = (int64_t)algorithm_row(&x->desc);
    int64_t unit = bytes % 4 == 0 ? 4 : 1, row = bytes / unit, n = row * count;
    const void *from = x->data;
    return n ? algorithm_launch(d, kernel, err, &from, &y, &order, &row, &unit, &n) : TUTTI_OK;
}

/* ---- targets as probabilities ---- */

/* What kernels need to read them by soft_at. */
typedef struct batch_soft {
    const void *data;
    int64_t classes;
    int32_t kind; /* SOFT_* */
    int32_t reserved;
} batch_soft;

/* In the host's memory an impossible class is an error; on a device it makes the loss NaN. */
static inline tutti_status batch_check_classes(const char *who, const tutti_tensor *targets,
                                               const batch_soft *soft, tutti_error *err)
{
    const int64_t n = tutti_numel(&targets->desc);
    if (soft->kind == SOFT_F32 || targets->device != TUTTI_DEVICE_CPU)
        return TUTTI_OK;
    for (int64_t k = 0; k < n; k++) {
        const int64_t label = soft_class(soft->data, soft->kind, k);
        if (label != SOFT_IGNORED && (label < 0 || label >= soft->classes))
            return tutti_fail(err, TUTTI_E_RANGE, "%s: a target is class %lld, want 0 to %lld",
                              who, (long long)label, (long long)soft->classes - 1);
    }
    return TUTTI_OK;
}

/* Targets for outputs (B, ..., N): classes (B, ...) of i32 or i64, which count as ones and zeros, or
 * probabilities (B, ..., N) f32. */
static inline tutti_status batch_soften(const char *who, const tutti_tensor *targets,
                                        const tutti_desc *outputs, batch_soft *ret_soft,
                                        tutti_error *err)
{
    char got[96], out[96];
    const tutti_desc *d = &targets->desc;
    tutti_desc want = *outputs;
    batch_soft soft = {targets->data, 1, SOFT_F32, 0};
    if (outputs->rank > 0)
        soft.classes = outputs->dim[outputs->rank - 1];
    if (d->dtype != TUTTI_F32 || !tutti_same_shape(d, outputs)) {
        want.dtype = d->dtype;
        if (want.rank > 0)
            want.dim[--want.rank] = 0;
        if (outputs->rank < 1 || !tutti_same_shape(d, &want) ||
            (d->dtype != TUTTI_I32 && d->dtype != TUTTI_I64))
            return tutti_fail(
                err, TUTTI_E_SHAPE,
                "%s: the target is %s and the outputs are %s, want classes for all "
                "but the last dimension or F32 of the same shape",
                who, tutti_desc_text(d, got, sizeof got),
                tutti_desc_text(outputs, out, sizeof out));
        soft.kind = d->dtype == TUTTI_I32 ? SOFT_I32 : SOFT_I64;
    }
    *ret_soft = soft;
    return batch_check_classes(who, targets, &soft, err);
}

#endif
