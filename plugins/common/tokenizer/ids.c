/* ids.c - rows of ids. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

tutti_status tokenizer_no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "tokenizer: no memory");
}

bool ids_add(tokenizer_ids *ids, int32_t id)
{
    if (ids->count == ids->room) {
        const uint64_t room = ids->room ? 2 * ids->room : 256;
        int32_t *data = realloc(ids->data, room * sizeof *data);
        if (!data)
            return false;
        ids->data = data;
        ids->room = room;
    }
    ids->data[ids->count++] = id;
    return true;
}
