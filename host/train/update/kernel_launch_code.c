/* kernel_launch_code.c - plugins' kernels as device code: files beside the manifest, launched on a CUDA device. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/kernel_launch.h"

#include "graph/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_A_MULTIPROCESSOR = 16 };

/* Device code of a file beside a manifest; loaded when a kernel of it is first found. */
typedef struct device_code {
    struct device_code *next;
    tutti_cuda_image image;
    char path[512];
} device_code;

/* A file that is not there leaves no data: the device then says that there is no code. */
static tutti_status find_code(instance_kernels *p, uint32_t number, const kernel_info *k,
                              device_code **ret_code, tutti_error *err)
{
    void *data = NULL;
    char path[sizeof(*p->codes).path];
    if (snprintf(path, sizeof path, "%s/%s", k->folder, k->file) >= (int)sizeof path)
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", path);
    for (device_code *c = p->codes; c; c = c->next)
        if (strcmp(c->path, path) == 0) {
            *ret_code = c;
            return TUTTI_OK;
        }
    device_code *c = calloc(1, sizeof *c);
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
    uint32_t sizes[KERNEL_MAX_ARGS];
    device_code *c = NULL;
    const tutti_status s = find_code(p, number, k, &c, err);
    if (s)
        return s;
    for (uint32_t a = 0; a < k->nargs && a < KERNEL_MAX_ARGS; a++)
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

static tutti_status launch(instance_kernels *p, uint32_t number, const kernel_info *k,
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

static tutti_status find(instance_kernels *p, uint32_t number, const kernel_info *k,
                         tutti_error *err)
{
    void *function = NULL;
    return k->entry ? find_function(p, number, k, &function, err)
                    : tutti_fail(err, TUTTI_E_UNSUPPORTED, "kernel %s of %s has no device code",
                                 k->name, k->plugin_id);
}

void device_codes_free(instance_kernels *p)
{
    while (p->codes) {
        device_code *c = p->codes;
        p->codes = c->next;
        free((void *)(uintptr_t)c->image.data);
        free(c);
    }
}

const kernel_launcher kernel_launch_code = {.find = find, .launch = launch};
