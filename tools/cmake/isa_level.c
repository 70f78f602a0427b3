/* isa_level.c - prints the level of tutti/isa.h that this machine has, for TUTTI_ISA_ONLY=native. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#include "tutti/isa.h"

#include <stdio.h>

int main(void)
{
    return printf("%s", tutti_isa_name(tutti_isa_cpu())) < 0;
}
