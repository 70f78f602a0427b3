/* elf_fuzz.c - any bytes as a shared object: a verdict, never a read outside of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/elf/elf.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const symbols[] = {"kernel", NULL};
    tutti_error err = TUTTI_ERROR_INIT;
    for (int foreign = 0; foreign < 2; foreign++)
        if (elf_check_bytes("plugin.so", data, size, foreign ? NULL : "tutti_plugin_v1",
                            symbols, &err) != TUTTI_OK &&
            !err.text[0])
            __builtin_trap();
    elf_dynamic d;
    if (elf_check_needed("plugin.so", data, size, &err) == TUTTI_OK &&
        elf_dynamic_read("plugin.so", data, size, &d, &err) == TUTTI_OK)
        for (size_t k = 0; k < d.nneeded; k++)
            if (strlen(d.needed[k]) >= size)
                __builtin_trap();
    return 0;
}
