/* isa_level.c - a function that tells which variant of it runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "isa_level.h"

#if !defined(TUTTI_ISA_LEVEL)
#define TUTTI_ISA_LEVEL TUTTI_ISA_base
#endif

int32_t isa_level(float *x)
{
    for (int k = 0; k < 16; k++)
        x[k] *= 2.0f;
    return TUTTI_ISA_LEVEL;
}
