/* code.c - device code: images found and loaded once, functions held to their arguments, launches. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"
#include "device/cuda/device_calls.h"

#include <stdlib.h>
#include <string.h>

static tutti_status no_code(const cuda_device *d, const tutti_cuda_image *image,
                            unsigned int code, tutti_error *err)
{
    if (code)
        (void)d->rt->cudaGetLastError();
    if (code == CUDART_NO_KERNEL_IMAGE)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s: %s has no device code for compute capability %d.%d", d->label,
                          image->name, d->kernels.capability / 10, d->kernels.capability % 10);
    return cuda_check(d, code, image->name, err);
}

/* Of the file of the device's architecture, which is opened at the first image. */
static tutti_status read_file(cuda_device *d, const char *name, void **ret_data,
                              tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (!d->code.file)
        s = code_file_open(cuda_code_ids, d->rt->standin ? 0 : d->kernels.capability,
                           &d->code.file, err);
    return s ? s : code_file_read(d->code.file, name, ret_data, err);
}

/* The host's own images, of operations and of the device, and those of plugins that were built without.  The
 * stand-in also knows images by their names, where there is no file for it that someone has named. */
static tutti_status read_own(cuda_device *d, const char *name, void **ret_data,
                             tutti_error *err)
{
    const char *ignored;
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = read_file(d, name, ret_data, &why);
    if (d->rt->standin && (s == TUTTI_E_UNSUPPORTED ||
                           (s == TUTTI_E_NOTFOUND && !env_get(ENV_CUDA_CODE, &ignored)))) {
        *ret_data = strdup(name);
        return *ret_data ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a name");
    }
    return s ? tutti_fail(err, s, "%s: %s", d->label, why.text) : TUTTI_OK;
}

/* The bytes of an image; *ret_own are to be freed once they are loaded. */
static tutti_status find_bytes(cuda_device *d, const tutti_cuda_image *image,
                               const void **ret_data, void **ret_own, tutti_error *err)
{
    const bool of_plugin = *image->name == '/';
    *ret_data = image->data;
    if (d->rt->standin && image->data &&
        strncmp(image->data, CUDART_STANDIN_FILE, strlen(CUDART_STANDIN_FILE)) == 0)
        *ret_data = image->data; /* what the stand-in of NVRTC has made */
    else if (d->rt->standin && (of_plugin || image->data))
        *ret_data = image->name;
    else if (of_plugin && !image->data)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: there is no device code in %s",
                          d->label, image->name);
    else if (!image->data) {
        const tutti_status s = read_own(d, image->name, ret_own, err);
        if (s)
            return s;
        *ret_data = *ret_own;
    }
    return TUTTI_OK;
}

static tutti_status load(cuda_device *d, const tutti_cuda_image *image, cuda_code **ret_code,
                         tutti_error *err)
{
    const void *data = NULL;
    void *own = NULL;
    for (cuda_code *c = d->code.images; c; c = c->next)
        if (c->image == image) {
            *ret_code = c;
            return TUTTI_OK;
        }
    const tutti_status s = find_bytes(d, image, &data, &own, err);
    if (s)
        return s;
    cuda_code *c = calloc(1, sizeof *c);
    if (!c) {
        free(own);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for device code");
    }
    c->image = image;
    const unsigned int code =
        d->rt->cudaLibraryLoadData(&c->library, data, NULL, NULL, 0, NULL, NULL, 0);
    free(own); /* the driver has copied it */
    if (code) {
        free(c);
        return no_code(d, image, code, err);
    }
    c->next = d->code.images;
    *ret_code = d->code.images = c;
    return TUTTI_OK;
}

/* Its arguments are those that the caller will pass.  Plugins ask before each launch. */
static tutti_status check_arguments(const cuda_device *d, const cuda_function *f,
                                    const uint32_t *sizes, uint32_t nargs, tutti_error *err)
{
    if (f->checked && f->nargs == nargs && memcmp(f->sizes, sizes, nargs * sizeof *sizes) == 0)
        return TUTTI_OK;
    for (uint32_t k = 0; k <= nargs; k++) {
        size_t offset = 0, size = 0;
        const unsigned int code = d->rt->cudaFuncGetParamInfo(f->kernel, k, &offset, &size);
        const bool there = code == CUDART_SUCCESS;
        if (code == CUDART_INVALID_VALUE)
            (void)d->rt->cudaGetLastError();
        else if (code)
            return cuda_check(d, code, f->entry, err);
        if (there != (k < nargs))
            return tutti_fail(err, TUTTI_E_ARG, "%s: %s of %s takes %s arguments than %u",
                              d->label, f->entry, f->code->image->name,
                              there ? "more" : "fewer", nargs);
        if (there && size != sizes[k])
            return tutti_fail(err, TUTTI_E_ARG,
                              "%s: argument %u of %s of %s has %zu bytes, not %u", d->label, k,
                              f->entry, f->code->image->name, size, sizes[k]);
    }
    return TUTTI_OK;
}

/* Onto the device now, not with its first launch, which may be one that a graph gathers. */
static tutti_status bring(const cuda_device *d, const cuda_function *f, tutti_error *err)
{
    union {
        char bytes[CUDART_FUNC_BYTES];
        void *align;
    } attributes;
    return no_code(
        d, f->code->image,
        d->rt->cudaFuncGetAttributes((struct cudaFuncAttributes *)&attributes, f->kernel), err);
}

tutti_status code_function(void *ctx, const tutti_cuda_image *image, const char *entry,
                           const uint32_t *sizes, uint32_t nargs, void **ret_function,
                           tutti_error *err)
{
    cuda_device *d = ctx;
    cuda_code *code = NULL;
    cuda_enter(d);
    for (cuda_function *f = d->code.functions; f; f = f->next)
        if (f->code->image == image && strcmp(f->entry, entry) == 0) {
            const tutti_status s = check_arguments(d, f, sizes, nargs, err);
            if (!s)
                *ret_function = f;
            return s;
        }
    tutti_status s = load(d, image, &code, err);
    if (s)
        return s;
    cuda_function *f = calloc(1, sizeof *f + nargs * sizeof *sizes + strlen(entry) + 1);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a function");
    char *name = (char *)(f->sizes + nargs);
    *f = (cuda_function){.code = code, .entry = name, .nargs = nargs};
    if (nargs)
        memcpy(f->sizes, sizes, nargs * sizeof *sizes);
    memcpy(name, entry, strlen(entry) + 1);
    const unsigned int e = d->rt->cudaLibraryGetKernel(&f->kernel, code->library, entry);
    if (e == CUDART_SYMBOL_NOT_FOUND) {
        (void)d->rt->cudaGetLastError();
        s = tutti_fail(err, TUTTI_E_NOTFOUND, "%s: %s has no function %s", d->label,
                       image->name, entry);
    } else {
        s = no_code(d, image, e, err);
    }
    if (!s)
        s = check_arguments(d, f, sizes, nargs, err);
    f->checked = !s;
    if (!s)
        s = bring(d, f, err);
    if (s) {
        free(f);
        return s;
    }
    f->next = d->code.functions;
    *ret_function = d->code.functions = f;
    return TUTTI_OK;
}

void code_unload(cuda_device *d)
{
    while (d->code.functions) {
        cuda_function *next = d->code.functions->next;
        free(d->code.functions);
        d->code.functions = next;
    }
    while (d->code.images) {
        cuda_code *next = d->code.images->next;
        (void)d->rt->cudaLibraryUnload(d->code.images->library);
        free(d->code.images);
        d->code.images = next;
    }
    code_file_close(d->code.file);
    d->code.file = NULL;
}

static tutti_status keep_error(cuda_device *d, const cuda_function *f,
                               const tutti_cuda_launch *l, unsigned int code)
{
    tutti_error why = TUTTI_ERROR_INIT;
    (void)cuda_check(d, code, f->entry, &why);
    return tutti_fail(&d->faults.kept, why.status,
                      "%s; grid %u x %u x %u, block %u x %u x %u, %u bytes shared", why.text,
                      l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                      l->shared);
}

tutti_status code_launch(void *ctx, const tutti_cuda_launch *l)
{
    cuda_device *d = ctx;
    cuda_function *f = l->function;
    const struct dim3 grid = {l->grid[0], l->grid[1], l->grid[2]};
    const struct dim3 block = {l->block[0], l->block[1], l->block[2]};
    unsigned int code = CUDART_SUCCESS;
    if (!d->running) { /* a plugin's own, between launches of operations */
        cuda_enter(d);
        d->faults.dirty = true;
        d->history.last[d->history.count++ % LAUNCHES_KEPT] =
            (launched){names_number(&d->history.names, NULL, "a plugin's kernel"), 0, NULL};
    }
    if (l->shared > f->shared) { /* unasked, a block has 48 KiB with its static memory */
        code =
            d->rt->cudaFuncSetAttribute(f->kernel, CUDART_FUNC_DYNAMIC_SHARED, (int)l->shared);
        f->shared = code ? f->shared : l->shared;
    }
    if (!code)
        code = d->rt->cudaLaunchKernel(f->kernel, grid, block, (void **)(uintptr_t)l->args,
                                       l->shared, d->streams.current);
    if (code)
        return keep_error(d, f, l, code);
    d->history.last[(d->history.count - 1) % LAUNCHES_KEPT].function = f;
    return TUTTI_OK;
}
