/* plugin.c - halve: an algorithm whose kernel is for CPUs alone; it halves the first weight's gradient and its optimizer's slot. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* slot */
#include "tutti/device_view.h"
#include "tutti/kernel.h"
#include "tutti/tutti.h"

#include <stdlib.h>

typedef struct halver {
    const tutti_device_view_v1 *view;
    const tutti_kernel_v1 *kernels;
    uint32_t kernel;
    uint32_t reserved;
} halver;

TUTTI_EXPORT void halve_cpu(float *x, int64_t n);

void halve_cpu(float *x, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        x[k] *= 0.5f;
}

static tutti_status halve_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    halver h = {host->query(host->ctx, TUTTI_DEVICE_VIEW_V1),
                host->query(host->ctx, TUTTI_KERNEL_V1), 0, 0};
    if (!h.view || !h.kernels)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "halve: this host has no views or kernels");
    const tutti_status s = h.kernels->find(h.kernels->ctx, "halve", &h.kernel, err);
    halver *self = s ? NULL : malloc(sizeof *self);
    if (!self)
        return s ? s : tutti_fail(err, TUTTI_E_NOMEM, "halve: no memory");
    *self = h;
    *ret_self = self;
    return TUTTI_OK;
}

static tutti_status halve_close(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static int32_t halve_match(void *self, const tutti_event *event)
{
    return 1;
}

static tutti_status halve_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                tutti_error *err)
{
    const halver *h = self;
    tutti_weight w = {.struct_size = sizeof w};
    tutti_slot slot = {.struct_size = sizeof slot};
    tutti_status s = h->view->weight(h->view->ctx, 0, &w, err);
    if (s || (s = h->view->slot(h->view->ctx, 0, 0, &slot, err)))
        return s;
    int64_t n = tutti_numel(&w.data.desc);
    void *const gradient[] = {&w.grad, &n}, *const state[] = {&slot.data.data, &n};
    s = h->kernels->launch(h->kernels->ctx, h->kernel, gradient, 2, err);
    return s ? s : h->kernels->launch(h->kernels->ctx, h->kernel, state, 2, err);
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = halve_open,
                                  .match = halve_match,
                                  .apply = halve_apply,
                                  .close = halve_close};
static const tutti_object object = TUTTI_OBJECT_INIT("halve", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.test.halve", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
