/* plugin_kernels.c - plugins' kernels on a device whose memory is out of the host's reach. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/plugin_kernels.h"

#include "graph/program/program.h"
#include "tutti/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_A_MULTIPROCESSOR = 16, MAX_ARGS = 64 };

/* Device code of a file beside a manifest; loaded when a kernel of it is first found. */
typedef struct code {
    struct code *next;
    tutti_cuda_image image;
    char path[512];
} code;

/* What one instance gets. */
typedef struct instance_kernels {
    struct instance_kernels *next;
    tutti_kernel_v1 table;
    device_view view;
    plugin_kernels *all;
    instance *instance;
    code *codes;
    bool viewed; /* it has asked for views, so that kernels may run on the host */
} instance_kernels;

/* ---- device code ---- */

/* A file that is not there leaves no data: the device then says that there is no code. */
static tutti_status find_code(instance_kernels *p, uint32_t number, const kernel_info *k,
                              code **ret_code, tutti_error *err)
{
    void *data = NULL;
    char path[sizeof(*p->codes).path];
    if (snprintf(path, sizeof path, "%s/%s", k->folder, k->file) >= (int)sizeof path)
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", path);
    for (code *c = p->codes; c; c = c->next)
        if (strcmp(c->path, path) == 0) {
            *ret_code = c;
            return TUTTI_OK;
        }
    code *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for device code");
    memcpy(c->path, path, sizeof path);
    c->image.name = c->path;
    const tutti_status s = instance_read_code(p->instance, number, &data, &c->image.bytes, err);
    if (s) {
        free(c);
        return s;
    }
    c->image.data = data;
    c->next = p->codes;
    *ret_code = p->codes = c;
    return TUTTI_OK;
}

/* The device function of a kernel, its arguments held to those of the manifest. */
static tutti_status find_function(instance_kernels *p, uint32_t number, const kernel_info *k,
                                  void **ret_function, tutti_error *err)
{
    const tutti_cuda_v1 *cuda = program_cuda(context_device(p->all->run));
    uint32_t sizes[MAX_ARGS];
    code *c = NULL;
    const tutti_status s = find_code(p, number, k, &c, err);
    if (s)
        return s;
    for (uint32_t a = 0; a < k->nargs && a < MAX_ARGS; a++)
        sizes[a] = kernel_arg_size(k->arg_types[a]);
    return cuda->function(cuda->ctx, &c->image, k->entry, sizes, k->nargs, ret_function, err);
}

static uint32_t blocks_of(const tutti_cuda_v1 *cuda, const kernel_info *k, void *const *args)
{
    if (k->grid_arg < 0)
        return k->grid;
    const int64_t n = *(const int64_t *)args[k->grid_arg];
    const int64_t want = (n + (int64_t)k->block - 1) / (int64_t)k->block;
    const int64_t most = (int64_t)cuda->multiprocessors * BLOCKS_A_MULTIPROCESSOR;
    return (uint32_t)(want < most ? want : most);
}

static tutti_status launch_cuda(instance_kernels *p, uint32_t number, const kernel_info *k,
                                void *const *args, tutti_error *err)
{
    const tutti_cuda_v1 *cuda = program_cuda(context_device(p->all->run));
    void *function = NULL;
    const tutti_status s = find_function(p, number, k, &function, err);
    if (s)
        return s;
    const tutti_cuda_launch l = {.struct_size = sizeof l,
                                 .shared = k->shared,
                                 .grid = {blocks_of(cuda, k, args), 1, 1},
                                 .block = {k->block, 1, 1},
                                 .function = function,
                                 .args = args};
    if (l.grid[0] == 0)
        return TUTTI_OK;
    const tutti_status launched = cuda->launch(cuda->ctx, &l);
    return launched ? tutti_fail(err, launched, "kernel %s of %s could not be launched",
                                 k->name, k->plugin_id)
                    : TUTTI_OK;
}

/* ---- where a device runs code of the host's ---- */

typedef struct deferred {
    tutti_op_call call;
    const instance *instance;
    uint32_t number;
    uint32_t nargs;
    void *args[MAX_ARGS];
    uint64_t values[MAX_ARGS];
} deferred;

static tutti_status run_deferred(void *state, const tutti_op_call *c, const void *const *in,
                                 void *const *out, void *scratch)
{
    deferred *d = state;
    instance_run_kernel(d->instance, d->number, d->args);
    free(d);
    return TUTTI_OK;
}

static tutti_status launch_host(instance_kernels *p, uint32_t number, const kernel_info *k,
                                void *const *args, tutti_error *err)
{
    const tutti_device *device = context_device(p->all->run);
    deferred *d = calloc(1, sizeof *d);
    if (!d || k->nargs > MAX_ARGS) {
        free(d);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a call of kernel %s", k->name);
    }
    *d = (deferred){.call = {.struct_size = sizeof d->call, .threads = 1},
                    .instance = p->instance,
                    .number = number,
                    .nargs = k->nargs};
    d->call.step = &p->all->run->step;
    for (uint32_t a = 0; a < k->nargs; a++) {
        memcpy(&d->values[a], args[a], kernel_arg_size(k->arg_types[a]));
        d->args[a] = &d->values[a];
    }
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = k->name,
                            .run = run_deferred,
                            .state = d,
                            .call = &d->call};
    const tutti_status s = device->table->launch(device->device, NULL, &l, err);
    if (s)
        free(d);
    return s;
}

/* ---- tutti.kernel/1 ---- */

static bool on_host(const instance_kernels *p)
{
    return p->viewed && !p->view.place;
}

static tutti_status find(void *ctx, const char *name, uint32_t *ret_kernel, tutti_error *err)
{
    instance_kernels *p = ctx;
    kernel_info k;
    void *function = NULL;
    uint32_t number = 0;
    tutti_status s = instance_find_kernel(p->instance, name, &number, err);
    if (!s && instance_kernel(p->instance, number, &k) && !on_host(p) &&
        program_cuda(context_device(p->all->run)))
        s = k.entry ? find_function(p, number, &k, &function, err)
                    : tutti_fail(err, TUTTI_E_UNSUPPORTED, "kernel %s of %s has no device code",
                                 name, k.plugin_id);
    if (!s)
        *ret_kernel = number;
    return s;
}

/* Whether one of the arguments points at weights that there are copies of; the optimizer says itself what it writes. */
static bool gets_weights(const instance_kernels *p, const kernel_info *k, void *const *args)
{
    for (uint32_t a = 0; a < k->nargs; a++) {
        const float *at = NULL;
        if (strncmp(k->arg_types[a], "buf<", 4) != 0)
            continue;
        memcpy(&at, args[a], sizeof at);
        if (net_has_half(p->all->run->net, at))
            return strcmp(object_describe(instance_object(p->instance))->kind,
                          TUTTI_KIND_OPTIMIZER) != 0;
    }
    return false;
}

static tutti_status launch(void *ctx, uint32_t number, void *const *args, uint32_t nargs,
                           tutti_error *err)
{
    instance_kernels *p = ctx;
    kernel_info k;
    if (!instance_kernel(p->instance, number, &k))
        return tutti_fail(err, TUTTI_E_RANGE, "%s: there is no kernel %u",
                          instance_name(p->instance), number);
    if (nargs != k.nargs)
        return tutti_fail(err, TUTTI_E_ARG, "%s: kernel %s takes %u arguments, not %u",
                          k.plugin_id, k.name, k.nargs, nargs);
    if (on_host(p)) {
        instance_run_kernel(p->instance, number, args);
        return TUTTI_OK;
    }
    tutti_status s = mirrors_flush(p->all->mirrors, false, err);
    if (s || (s = scalars_apply_factor(p->all->scalars, err)))
        return s;
    mirrors_invalidate(p->all->mirrors, MIRROR_ALL);
    if (gets_weights(p, &k, args))
        net_touch_weights(p->all->run->net);
    return program_cuda(context_device(p->all->run)) ? launch_cuda(p, number, &k, args, err)
                                                     : launch_host(p, number, &k, args, err);
}

static bool runs_there(instance_kernels *p, uint32_t number, const kernel_info *k)
{
    const tutti_device *d = context_device(p->all->run);
    void *function;
    if (!program_cuda(d))
        return strcmp(d->info.kernels, "cpu") == 0;
    const tutti_status s =
        k->entry ? find_function(p, number, k, &function, NULL) : TUTTI_E_UNSUPPORTED;
    return s != TUTTI_E_UNSUPPORTED; /* what else is wrong is said by who finds it */
}

/* Whether all kernels of the plugin run where the run is. */
static bool all_run(instance_kernels *p)
{
    kernel_info k;
    for (uint32_t n = 0; n < instance_kernel_count(p->instance); n++)
        if (instance_kernel(p->instance, n, &k) && !runs_there(p, n, &k))
            return false;
    return true;
}

static instance_kernels *entry_of(plugin_kernels *all, instance *i)
{
    instance_kernels *p = all->first;
    const bool remote = context_is_remote(all->run);
    while (p && p->instance != i)
        p = p->next;
    if (p)
        return p;
    p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (instance_kernels){.next = all->first, .all = all, .instance = i};
    p->table = (tutti_kernel_v1){
        .struct_size = sizeof p->table, .ctx = p, .find = find, .launch = launch};
    device_view_init(&p->view, all, remote && all_run(p) ? context_device(all->run) : NULL);
    all->first = p;
    return p;
}

bool kernels_run_there(plugin_kernels *p, instance *i)
{
    const instance_kernels *one = context_is_remote(p->run) ? entry_of(p, i) : NULL;
    return one && one->view.place;
}

const void *kernels_service(plugin_kernels *p, instance *i)
{
    instance_kernels *one = context_is_remote(p->run) ? entry_of(p, i) : NULL;
    return one ? &one->table : NULL;
}

const void *kernels_view(plugin_kernels *p, instance *i)
{
    instance_kernels *one = entry_of(p, i);
    if (!one)
        return NULL;
    one->viewed = true;
    return &one->view.table;
}

void kernels_fini(plugin_kernels *p)
{
    while (p->first) {
        instance_kernels *one = p->first;
        p->first = one->next;
        device_view_fini(&one->view);
        while (one->codes) {
            code *c = one->codes;
            one->codes = c->next;
            free((void *)(uintptr_t)c->image.data);
            free(c);
        }
        free(one);
    }
}
