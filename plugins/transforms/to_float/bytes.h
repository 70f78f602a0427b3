/* bytes.h - what a byte becomes, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TO_FLOAT_BYTES_H
#define TO_FLOAT_BYTES_H

#include "tutti/cuda_code.h"

TUTTI_SHARED float byte_value(int byte, double max)
{
    return (float)(byte * max / 255.0);
}

#endif
