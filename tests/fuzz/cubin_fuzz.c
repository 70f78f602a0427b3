/* cubin_fuzz.c - device code of any bytes: one sentence or none, and no read outside. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/elf/cubin.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t sizes[] = {8, 4, 8};
    cubin_function f = {"scale_cuda", "kernel scale", sizes, 3, 0};
    tutti_error err = TUTTI_ERROR_INIT;
    if (cubin_check_bytes("fuzz", data, size, &f, 1, &err) && !err.text[0])
        abort();
    return 0;
}
