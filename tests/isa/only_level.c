/* only_level.c - prints the level of the variant that runs, for only_test.sh. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "isa_level.h"

#include <stdio.h>

int main(void)
{
    float x[16] = {0};
    return puts(tutti_isa_name(TUTTI_ISA_PICK(isa_level)(x))) < 0;
}
