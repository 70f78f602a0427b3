/* symbols.c - functions of NVIDIA's libraries, found by name. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/symbols.h"

#include <string.h>

tutti_status cuda_symbols(void *ctx, cuda_finder *find, const char *library,
                          const cuda_symbol *list, size_t count, void *ret_functions,
                          tutti_error *err)
{
    for (size_t k = 0; k < count; k++) {
        void *symbol = NULL;
        const tutti_status s = find(ctx, library, list[k].name, &symbol, err);
        if (s)
            return s;
        memcpy((char *)ret_functions + list[k].at, &symbol, sizeof symbol);
    }
    return TUTTI_OK;
}
