/* ids.c - rows of ids. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

tutti_status tokenizer_no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "tokenizer: no memory");
}

bool ids_add(tokenizer_ids *ids, int32_t id)
{
    if (ids->count == ids->capacity) {
        const uint64_t capacity = ids->capacity ? 2 * ids->capacity : 256;
        int32_t *data = realloc(ids->data, capacity * sizeof *data);
        if (!data)
            return false;
        ids->data = data;
        ids->capacity = capacity;
    }
    ids->data[ids->count++] = id;
    return true;
}
