/* own.c - what the device does with code of its own: draws, sums, guarded blocks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/device_calls.h"

extern const tutti_cuda_image CUDA_IMAGE; /* own.cu */

enum { BLOCK = 256 };

/* The arguments of the functions in own.cu. */
static const struct {
    const char *entry;
    uint32_t nargs;
    uint32_t sizes[3];
} code[OWN_COUNT] = {
    [OWN_UNIFORM] = {"own_uniform", 3, {8, 8, sizeof(tutti_device_draw)}},
    [OWN_ADD] = {"own_add", 3, {8, 8, 8}},
    [OWN_CLEAR_UNLESS] = {"own_clear_unless", 3, {8, 8, 8}},
};

tutti_status own_load(cuda_device *d, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (int k = 0; k < OWN_COUNT && !s; k++) {
        void *function = NULL;
        s = code_function(d, &CUDA_IMAGE, code[k].entry, code[k].sizes, code[k].nargs,
                          &function, err);
        d->code.own[k] = function;
    }
    return s;
}

/* `threads` of them over blocks that fill the device. */
static tutti_status run(cuda_device *d, void *on, int which, uint64_t threads,
                        void *const *args, tutti_error *err)
{
    const uint64_t want = (threads + BLOCK - 1) / BLOCK;
    const uint64_t most = 16 * (uint64_t)d->kernels.multiprocessors;
    const struct dim3 grid = {(uint32_t)(want < most ? want : most), 1, 1},
                      block = {BLOCK, 1, 1};
    const cuda_function *f = d->code.own[which];
    cuda_enter(d);
    if (!threads)
        return TUTTI_OK;
    d->history.last[d->history.count++ % LAUNCHES_KEPT] =
        (launched){names_number(&d->history.names, NULL, f->entry), 0, f};
    return cuda_check(d,
                      d->rt->cudaLaunchKernel(f->kernel, grid, block, (void **)(uintptr_t)args,
                                              0, cuda_stream_of(d, on)),
                      f->entry, err);
}

tutti_status cuda_random(void *device, void *on, float *memory, uint64_t n,
                         const tutti_device_draw *draw, tutti_error *err)
{
    tutti_device_draw own = *draw;
    void *const args[] = {&memory, &n, &own};
    return run(device, on, OWN_UNIFORM, (n + 3) / 4, args, err);
}

tutti_status cuda_add(void *device, void *on, float *to, const float *from, uint64_t n,
                      tutti_error *err)
{
    void *const args[] = {&to, &from, &n};
    return run(device, on, OWN_ADD, n, args, err);
}

tutti_status cuda_clear_unless(void *device, void *on, const float *guard, void *memory,
                               uint64_t bytes, tutti_error *err)
{
    void *const args[] = {&guard, &memory, &bytes};
    return run(device, on, OWN_CLEAR_UNLESS, (bytes + 3) / 4, args, err);
}
