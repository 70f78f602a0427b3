/* isa_level.h - functions of which each level has a variant. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ISA_LEVEL_H
#define TESTS_ISA_LEVEL_H

#include "tutti/isa.h"

/* The level that the variant was compiled for.  `x` (16) is doubled, by what the level has. */
int32_t isa_level(float *x);
TUTTI_ISA_VARIANTS(isa_level);

/* Sixteen numbers as bf16, by simd_store_bf16 and by half_downcast. */
void isa_store(const float *x, uint16_t *ret_simd, uint16_t *ret_rows);
TUTTI_ISA_VARIANTS(isa_store);

#endif
