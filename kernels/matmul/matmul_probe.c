/* matmul_probe.c - are the bits of cuBLASLt's masks where ours are?  NVIDIA does not say; a small product
 * with known signs tells. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/runtime.h"
#include "matmul/matmul_lt.h"
#include "matmul/matmul_mask.h"

#include <stdbool.h>
#include <stdlib.h>

enum { ROWS = 16, COLUMNS = 136, ROW_BYTES = 32, ONE = 0x3F80, MINUS_ONE = 0xBF80 };
enum { A_AT = 0, B_AT = 1024, Y_AT = 8192, MASK_AT = 16384, WORKSPACE_AT = 20480 };

/* No two rows or bytes alike. */
static bool is_positive(int i, int j)
{
    return (unsigned)(i * 8191 + j * 131 + i * j * 7) * 2654435761u >> 31;
}

/* a is the unit, so that y = b. */
static void fill(unsigned char *host)
{
    uint16_t *a = (uint16_t *)(void *)(host + A_AT), *b = (uint16_t *)(void *)(host + B_AT);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < ROWS; k++)
            a[i * ROWS + k] = i == k ? ONE : 0;
        for (int j = 0; j < COLUMNS; j++)
            b[i * COLUMNS + j] = is_positive(i, j) ? ONE : MINUS_ONE;
    }
}

static bool agrees(const unsigned char *mask)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            if ((mask[i * ROW_BYTES + j / 8] >> j % 8 & 1) != is_positive(i, j))
                return false;
    return true;
}

static matmul_lt_want product(void)
{
    static const matmul_attr attr = {0};
    const tutti_desc in[2] = {{{ROWS, ROWS}, 2, TUTTI_BF16}, {{ROWS, COLUMNS}, 2, TUTTI_BF16}};
    const tutti_desc out = {{ROWS, COLUMNS}, 2, TUTTI_BF16};
    const tutti_op_call c = {sizeof c, 2, 1, 1, in, &out, &attr, NULL, NULL, NULL};
    matmul_lt_want w = {
        .shape = matmul_shape_of(&c), .act = MATMUL_RELU, .masks = 1, .probe = 1};
    for (int k = 0; k < MATMUL_OPERANDS; k++)
        w.dtype[k] = TUTTI_DTYPE_NONE;
    w.dtype[MATMUL_A] = w.dtype[MATMUL_B] = w.dtype[MATMUL_Y] = TUTTI_BF16;
    w.dtype[MATMUL_AUX] = TUTTI_U8;
    return w;
}

static bool run(const tutti_cuda_v1 *cuda, const cuda_runtime *rt, const matmul_lt *p,
                unsigned char *host, unsigned char *device)
{
    void *const data[MATMUL_OPERANDS] = {[MATMUL_A] = device + A_AT,
                                         [MATMUL_B] = device + B_AT,
                                         [MATMUL_AUX] = device + MASK_AT,
                                         [MATMUL_Y] = device + Y_AT};
    fill(host);
    return !rt->copy(device, host, WORKSPACE_AT, CUDA_COPY_TO_DEVICE) &&
           !matmul_lt_run(p, cuda, data, device + WORKSPACE_AT) &&
           !rt->wait_stream(cuda->stream(cuda->ctx)) &&
           !rt->copy(host, device, WORKSPACE_AT, CUDA_COPY_TO_HOST) && agrees(host + MASK_AT);
}

static bool probe(const tutti_cuda_v1 *cuda)
{
    const matmul_lt_want w = product();
    cuda_runtime rt;
    matmul_lt *p = NULL;
    uint64_t workspace = 0;
    void *device = NULL;
    if (cuda_runtime_load(cuda, &rt, NULL) || matmul_lt_create(cuda, &w, &p, &workspace, NULL))
        return false;
    unsigned char *host = calloc(1, WORKSPACE_AT);
    const bool good =
        host && !rt.alloc(&device, WORKSPACE_AT + workspace) && run(cuda, &rt, p, host, device);
    if (device)
        (void)rt.release(device);
    free(host);
    matmul_lt_destroy(p);
    return good;
}

typedef struct verdict {
    bool known, good;
} verdict;

static tutti_status make(const tutti_cuda_v1 *cuda, void **ret_object, tutti_error *err)
{
    *ret_object = calloc(1, sizeof(verdict));
    return *ret_object ? TUTTI_OK
                       : tutti_fail(err, TUTTI_E_NOMEM, "matmul: no memory for a verdict");
}

int matmul_lt_masks(const tutti_cuda_v1 *cuda)
{
    static const char key = 0;
    void *object = NULL;
    if (cuda->object(cuda->ctx, &key, make, free, &object, NULL))
        return 0;
    verdict *v = object;
    if (!v->known) {
        v->known = true;
        v->good = probe(cuda);
    }
    return v->good;
}
