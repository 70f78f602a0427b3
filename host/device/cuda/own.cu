/* own.cu - device code of the backend itself: draws, sums, guarded blocks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/cuda_code.h"
#include "tutti/device.h"
#include "tutti/rng.h"

/* x[k] is word k % 4 of block k / 4. */
TUTTI_KERNEL(own_uniform)(float *x, uint64_t n, tutti_device_draw draw)
{
    const int64_t blocks = (int64_t)((n + 3) / 4);
    TUTTI_EACH(k, blocks)
    {
        const uint64_t first = 4 * (uint64_t)k;
        const tutti_rng4 four =
            tutti_rng(draw.seed, draw.purpose, draw.step, draw.index + (uint64_t)k);
        for (uint64_t j = 0; j < 4 && first + j < n; j++)
            x[first + j] = tutti_uniform_f32(four.v[j]);
    }
}
TUTTI_KERNEL_ENTRY(own_uniform);

TUTTI_KERNEL(own_add)(float *to, const float *from, uint64_t n)
{
    TUTTI_EACH(k, (int64_t)n)
    {
        to[k] += from[k];
    }
}
TUTTI_KERNEL_ENTRY(own_add);

/* Zeros where the guard is 0; `memory` begins at a multiple of 4. */
TUTTI_KERNEL(own_clear_unless)(const float *guard, unsigned char *memory, uint64_t bytes)
{
    const int64_t words = (int64_t)((bytes + 3) / 4);
    if (*guard != 0.0f)
        return;
    TUTTI_EACH(k, words)
    {
        const uint64_t first = 4 * (uint64_t)k;
        if (first + 4 <= bytes)
            reinterpret_cast<uint32_t *>(memory)[k] = 0;
        else
            for (uint64_t j = first; j < bytes; j++)
                memory[j] = 0;
    }
}
TUTTI_KERNEL_ENTRY(own_clear_unless);
