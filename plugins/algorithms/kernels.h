/* kernels.h - what algorithms share that work on tensors where those are. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_KERNELS_H
#define PLUGIN_KERNELS_H

#include "algorithm.h"
#include "tutti/device_view.h"
#include "tutti/kernel.h"

typedef struct algorithm_device {
    const char *who;            /* the algorithm */
    const char *input, *target; /* its columns of the batch */
    const tutti_device_view_v1 *view;
    const tutti_kernel_v1 *kernels;
} algorithm_device;

static inline tutti_status algorithm_device_init(algorithm_device *d, const tutti_host *host,
                                                 const char *who, tutti_error *err)
{
    d->who = who;
    d->input = "input";
    d->target = "target";
    d->view =
        (const tutti_device_view_v1 *)algorithm_service(host, who, TUTTI_DEVICE_VIEW_V1, err);
    d->kernels =
        d->view ? (const tutti_kernel_v1 *)algorithm_service(host, who, TUTTI_KERNEL_V1, err)
                : NULL;
    return d->kernels ? TUTTI_OK : TUTTI_E_UNSUPPORTED;
}

/* The numbers of the manifest's kernels of these names. */
static inline tutti_status algorithm_kernels(const algorithm_device *d,
                                             const char *const *names, uint32_t n,
                                             uint32_t *ret_kernels, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < n && !s; k++)
        s = d->kernels->find(d->kernels->ctx, names[k], &ret_kernels[k], err);
    return s;
}

/* algorithm_launch(d, kernel, err, &a, &b): pointers to the arguments, in the manifest's order. */
#define algorithm_launch(d, kernel, err, ...)                                                  \
    (d)->kernels->launch((d)->kernels->ctx, (kernel), (void *const[]){__VA_ARGS__},            \
                         (uint32_t)(sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *)),    \
                         (err))

/* Memory on the device that grows; what was in it is lost. */
typedef struct algorithm_memory {
    void *data;
    uint64_t capacity;
} algorithm_memory;

static inline tutti_status algorithm_take(const algorithm_device *d, algorithm_memory *m,
                                          uint64_t bytes, tutti_error *err)
{
    void *data = NULL;
    if (m->data && bytes <= m->capacity)
        return TUTTI_OK;
    const tutti_status s = d->view->take(d->view->ctx, bytes, &data, err);
    if (s)
        return tutti_fail(err, s, "%s: no memory for %llu bytes", d->who,
                          (unsigned long long)bytes);
    d->view->give(d->view->ctx, m->data);
    m->data = data;
    m->capacity = bytes;
    return TUTTI_OK;
}

static inline void algorithm_give(const algorithm_device *d, algorithm_memory *m)
{
    if (d->view)
        d->view->give(d->view->ctx, m->data);
    m->data = NULL;
    m->capacity = 0;
}

#endif
