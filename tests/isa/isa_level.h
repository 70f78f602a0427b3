/* isa_level.h - a function that tells which variant of it runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ISA_LEVEL_H
#define TESTS_ISA_LEVEL_H

#include "tutti/isa.h"

/* The level that the variant was compiled for.  `x` (16) is doubled, by what the level has. */
int32_t isa_level(float *x);
TUTTI_ISA_VARIANTS(isa_level);

#endif
