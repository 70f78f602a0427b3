/* code.c - libraries of kernels by the name of their image; launches, run by the emulator. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUlib_st {
    images images;
};

/* What cudaKernel_t points to; one per kernel, kept. */
struct CUkern_st {
    struct CUkern_st *next;
    const emulator_kernel *kernel;
    uint32_t most_shared; /* what cudaFuncSetAttribute has allowed */
    bool there;           /* on the device: it was launched, or its attributes asked for */
};

enum { SHARED = 48 << 10, SHARED_OPTIN = 227 << 10, PATTERN = 64 };

static struct CUkern_st *kernels;
static uint64_t alive, launches;

/* `code` is what the host calls the image, for it sees who exports tutti_cuda_standin. */
EXPORT unsigned cudaLibraryLoadData(struct CUlib_st **ret_library, const void *code,
                                    const unsigned *jit, void *const *jit_values, unsigned njit,
                                    const unsigned *options, void *const *option_values,
                                    unsigned noptions)
{
    unsigned error = enter();
    images found = {0};
    if (!error && queue_is_gathering())
        error = CAPTURE_UNSUPPORTED;
    else if (!images_find(code, &found) && !error)
        error = NO_KERNEL_IMAGE;
    struct CUlib_st *l = error ? NULL : calloc(1, sizeof *l);
    if (l) {
        l->images = found;
        alive++;
        *ret_library = l;
    }
    trace("load %s", found.name);
    return leave(error);
}

EXPORT unsigned cudaLibraryUnload(struct CUlib_st *library)
{
    const unsigned code = enter();
    if (queue_is_gathering())
        return leave(CAPTURE_UNSUPPORTED);
    free(library);
    alive--;
    return leave(code);
}

EXPORT unsigned cudaLibraryGetKernel(struct CUkern_st **ret_kernel,
                                     const struct CUlib_st *library, const char *name)
{
    unsigned code = enter();
    const emulator_kernel *k = code ? NULL : images_kernel(&library->images, name);
    if (!code && !k)
        return leave(SYMBOL_NOT_FOUND);
    struct CUkern_st *f = kernels;
    while (f && f->kernel != k)
        f = f->next;
    if (!code && !f) {
        f = calloc(1, sizeof *f);
        if (!f)
            return leave(MEMORY_ALLOCATION);
        *f = (struct CUkern_st){.next = kernels, .kernel = k, .most_shared = SHARED};
        kernels = f;
    }
    if (!code)
        *ret_kernel = f;
    return leave(code);
}

static struct CUkern_st *find(const void *function)
{
    struct CUkern_st *f = kernels;
    while (f && f != function)
        f = f->next;
    return f;
}

EXPORT unsigned cudaFuncGetParamInfo(const void *function, size_t index, size_t *ret_offset,
                                     size_t *ret_size)
{
    unsigned code = enter();
    const struct CUkern_st *f = find(function);
    if (!code && (!f || index >= f->kernel->nargs))
        code = INVALID_VALUE;
    if (!code) {
        *ret_offset = 0;
        for (size_t k = 0; k < index; k++)
            *ret_offset += (f->kernel->sizes[k] + 7u) / 8u * 8u;
        *ret_size = f->kernel->sizes[index];
    }
    return leave(code);
}

/* Lazy loading, as is the default: this brings the code onto the device. */
EXPORT unsigned cudaFuncGetAttributes(struct cudaFuncAttributes *ret_attributes,
                                      const void *function)
{
    unsigned code = enter();
    struct CUkern_st *f = kernels;
    while (f && f != function)
        f = f->next;
    if (!code && !f)
        code = INVALID_VALUE;
    if (!code && queue_is_gathering())
        code = CAPTURE_UNSUPPORTED;
    if (!code) {
        f->there = true;
        memset(ret_attributes, 0,
               sizeof(size_t)); /* static shared memory, and the rest unknown */
    }
    return leave(code);
}

EXPORT unsigned cudaFuncSetAttribute(const void *function, unsigned attribute, int value)
{
    enum { MOST_DYNAMIC_SHARED = 8 };
    unsigned code = enter();
    struct CUkern_st *f = kernels;
    while (f && f != function)
        f = f->next;
    if (!code && (!f || (attribute == MOST_DYNAMIC_SHARED && value > SHARED_OPTIN)))
        code = INVALID_VALUE;
    if (!code && attribute == MOST_DYNAMIC_SHARED)
        f->most_shared = (uint32_t)value;
    return leave(code);
}

/* ---- launches ---- */

static unsigned check_shape(const struct CUkern_st *f, const emulator_shape *s)
{
    const uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
    if (!threads || threads > 1024 || s->block[2] > 64 || !s->grid[0] || !s->grid[1] ||
        !s->grid[2] || s->grid[0] > INT32_MAX || s->grid[1] > 65535 || s->grid[2] > 65535)
        return INVALID_CONFIGURATION;
    return s->shared > f->most_shared ? INVALID_VALUE : OK;
}

/* The arguments as they are now. */
static void **keep_args(const emulator_kernel *k, void *const *args)
{
    size_t bytes = (k->nargs + 1) * sizeof(void *);
    for (uint32_t a = 0; a < k->nargs; a++)
        bytes += (k->sizes[a] + 15u) / 16u * 16u + 16u;
    char *kept = calloc(1, bytes);
    if (!kept)
        return NULL;
    size_t at = ((k->nargs + 1) * sizeof(void *) + 15u) / 16u * 16u;
    for (uint32_t a = 0; a < k->nargs; a++) {
        ((void **)(void *)kept)[a] = kept + at;
        memcpy(kept + at, args[a], k->sizes[a]);
        at += (k->sizes[a] + 15u) / 16u * 16u;
    }
    return (void **)(void *)kept;
}

static const char *extent(const uint32_t *n, char *room, size_t size)
{
    if (n[2] > 1)
        (void)snprintf(room, size, "%ux%ux%u", n[0], n[1], n[2]);
    else if (n[1] > 1)
        (void)snprintf(room, size, "%ux%u", n[0], n[1]);
    else
        (void)snprintf(room, size, "%u", n[0]);
    return room;
}

static void trace_launch(const emulator_kernel *k, const emulator_shape *shape, const stream *s)
{
    char grid[PATTERN], block[PATTERN], shared[PATTERN] = "";
    if (shape->shared)
        (void)snprintf(shared, sizeof shared, " shared %u", shape->shared);
    trace("launch %s grid %s block %s%s stream %llu", k->name,
          extent(shape->grid, grid, sizeof grid), extent(shape->block, block, sizeof block),
          shared, s ? (unsigned long long)s->number : 0);
}

static unsigned launch(const void *function, const emulator_shape *shape, void *const *args,
                       stream *s)
{
    unsigned code = enter();
    struct CUkern_st *f = find(function);
    if (!code && (!f || (s && (!queue_is_stream(s) || s->device != current_device()))))
        code = INVALID_RESOURCE_HANDLE;
    if (f)
        trace_launch(f->kernel, shape, s);
    if (!code)
        code = check_shape(f, shape);
    if (!code && !f->there && s && s->capture) { /* to load it now may have to wait */
        s->invalid = true;
        code = CAPTURE_UNSUPPORTED;
        trace("capture is spoilt: %s was never loaded", f->kernel->name);
    }
    if (!code)
        f->there = true;
    work *w = code ? NULL : calloc(1, sizeof *w);
    if (w) {
        *w = (work){.kind = WORK_LAUNCH,
                    .kernel = f->kernel,
                    .shape = *shape,
                    .args = keep_args(f->kernel, args)};
        queue_add(s, w);
    }
    return leave(code);
}

EXPORT unsigned cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block,
                                 void **args, size_t shared, stream *s)
{
    const emulator_shape shape = {
        {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, (uint32_t)shared};
    return launch(function, &shape, args, s);
}

struct launch_config { /* cudaLaunchConfig_t */
    struct dim3 grid, block;
    size_t shared;
    stream *stream;
    const void *attributes;
    unsigned nattributes;
};

EXPORT unsigned cudaLaunchKernelExC(const struct launch_config *c, const void *function,
                                    void **args)
{
    return cudaLaunchKernel(function, c->grid, c->block, args, c->shared, c->stream);
}

/* A kernel that touches what is not there: the device has failed, the process goes on.  The address
 * sanitizer tells more, so it is left alone. */
#ifndef STANDIN_ASAN
static sigjmp_buf back;
static void *fault_address;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    fault_address = info->si_addr;
    siglongjmp(back, signal);
}
#endif

static void emulate(const work *w)
{
    char text[512];
    if (emulator_run(w->kernel, &w->shape, w->args, text, sizeof text))
        go_bad(LAUNCH_FAILURE, text);
}

static void guarded(const work *w)
{
#ifdef STANDIN_ASAN
    emulate(w);
#else
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK}, theirs, before;
    char text[512], where[256];
    ours.sa_sigaction = on_fault;
    (void)sigemptyset(&ours.sa_mask);
    (void)sigaction(SIGSEGV, &ours, &theirs);
    (void)sigaction(SIGILL, &ours, &before); /* what a test of alignment ends in */
    const int signal = sigsetjmp(back, 1);
    if (!signal) {
        emulate(w);
    } else {
        emulator_where(where, sizeof where);
        if (signal == SIGILL)
            (void)snprintf(text, sizeof text, "%s: it touched no multiple of what it took",
                           where);
        else
            (void)snprintf(text, sizeof text, "%s: it touched %p, where nothing is", where,
                           fault_address);
        go_bad(signal == SIGILL ? MISALIGNED_ADDRESS : ILLEGAL_ADDRESS, text);
    }
    (void)sigaction(SIGILL, &before, NULL);
    (void)sigaction(SIGSEGV, &theirs, NULL);
#endif
}

void launch_run(const work *w)
{
    const settings *s = standin_settings();
    static bool seeded;
    if (!seeded)
        emulator_seed(s->seed);
    seeded = true;
    if (++launches == s->fail_launch)
        go_bad((unsigned)s->fail_code, "");
    else
        guarded(w);
}

uint64_t code_leaks(void)
{
    return alive;
}
