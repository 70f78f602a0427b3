/* sound.c - whether a tensor holds a NaN or what overflowed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/sound.h"

#include "graph/ir/interpreter.h"

#include <math.h>

bool tensor_is_sound(const tutti_tensor *t)
{
    const int64_t n = tutti_numel(&t->desc);
    const float *x = t->data;
    int wrong = 0;
    switch (t->desc.dtype) {
    case TUTTI_F32:
        for (int64_t k = 0; k < n; k++)
            wrong |= !(x[k] < INFINITY);
        return !wrong;
    case TUTTI_F64:
    case TUTTI_F16:
    case TUTTI_BF16:
    case TUTTI_F8_E4M3:
    case TUTTI_F8_E5M2:
        for (int64_t k = 0; k < n && !wrong; k++)
            wrong = !(tensor_get(t, k) < (double)INFINITY);
        return !wrong;
    default:
        return true;
    }
}
