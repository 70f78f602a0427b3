/* plugin.c - weight_pull: all weights a little towards zero, by a kernel that runs where they are. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pull.h"
#include "tutti/device_view.h"
#include "tutti/kernel.h"
#include "tutti/tutti.h"

#include <stdlib.h>

/* The kernel on a CPU, by its name in plugin.json. */
TUTTI_EXPORT void weight_pull_cpu(float *w, float rate, int64_t n);

void weight_pull_cpu(float *w, float rate, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        w[k] = pulled(w[k], rate);
}

typedef struct pull {
    const tutti_device_view_v1 *view; /* where tensors are */
    const tutti_kernel_v1 *kernels;   /* calls those of plugin.json there */
    float rate;
    uint32_t kernel;
} pull;

static tutti_status weight_pull_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    const tutti_device_view_v1 *view = host->query(host->ctx, TUTTI_DEVICE_VIEW_V1);
    const tutti_kernel_v1 *kernels = host->query(host->ctx, TUTTI_KERNEL_V1);
    if (!view || !kernels)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "weight_pull: this host has no %s",
                          view ? TUTTI_KERNEL_V1 : TUTTI_DEVICE_VIEW_V1);
    pull *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "weight_pull: no memory");
    p->view = view;
    p->kernels = kernels;
    p->rate = (float)tutti_param_f64(params, "rate");
    /* On a GPU this loads the device code and holds its arguments to the manifest's. */
    const tutti_status s = kernels->find(kernels->ctx, "pull", &p->kernel, err);
    if (s) {
        free(p);
        return s;
    }
    *ret_self = p;
    return TUTTI_OK;
}

static tutti_status weight_pull_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static int32_t weight_pull_match(void *self, const tutti_event *event)
{
    const pull *p = self;
    (void)event;
    return p->rate > 0.0f;
}

/* Stretches of weights, a launch each.  Their pointers are for kernels: on a GPU this code could not look
 * behind them.  What lies between weights is zero and stays so. */
static tutti_status weight_pull_apply(void *self, const tutti_event *event,
                                      int64_t *ret_exit_code, tutti_error *err)
{
    pull *p = self;
    const tutti_device_view_v1 *v = p->view;
    tutti_status s = TUTTI_OK;
    (void)event;
    (void)ret_exit_code;
    for (uint32_t k = 0, n = v->spans(v->ctx); k < n && !s; k++) {
        tutti_span span = {.struct_size = sizeof span};
        s = v->span(v->ctx, k, &span, err);
        if (s || !span.g) /* not trained: running means and the like */
            continue;
        void *const args[] = {&span.w, &p->rate, &span.n};
        s = p->kernels->launch(p->kernels->ctx, p->kernel, args, 3, err);
    }
    return s;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = weight_pull_open,
                                  .match = weight_pull_match,
                                  .apply = weight_pull_apply,
                                  .close = weight_pull_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("weight_pull", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.weight_pull", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
