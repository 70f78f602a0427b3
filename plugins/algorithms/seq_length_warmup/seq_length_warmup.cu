/* seq_length_warmup.cu - sequences cut on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../pixel.h"
#include "ends.h"

/* mask: n sequences of `length` numbers of `size` bytes. */
TUTTI_KERNEL(seq_length_warmup_ends_cuda)
(const uint8_t *mask, int64_t *ends, int64_t length, int64_t size, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        ends[k] = ends_find(mask + k * length * size, length, size);
    }
}
TUTTI_KERNEL_ENTRY(seq_length_warmup_ends_cuda);

/* y: n tokens of `size` bytes, `length` a sequence; x: `whole` a sequence; ends: may be NULL. */
TUTTI_KERNEL(seq_length_warmup_cut_cuda)
(const uint8_t *x, uint8_t *y, const int64_t *ends, int64_t whole, int64_t length, int64_t size,
 int64_t n)
{
    TUTTI_EACH(k, n)
    {
        const int64_t row = k / length;
        const int64_t from = ends_source(k % length, length, ends ? ends[row] : -1);
        pixel_copy(y + k * size, x + (row * whole + from) * size, size);
    }
}
TUTTI_KERNEL_ENTRY(seq_length_warmup_cut_cuda);
