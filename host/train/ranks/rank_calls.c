/* rank_calls.c - what each rank calls is exchanged, and compared with what rank 0 does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/rank_calls.h"

#include "engine/engine.h"
#include "train/ranks/reduce.h"
#include "tutti/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tutti_status call_no_memory(uint64_t bytes, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of all ranks",
                      (unsigned long long)bytes);
}

static void describe(const call_header *h, char *text, size_t size)
{
    const unsigned long long n = h->count;
    switch ((call_kind)h->kind) {
    case ALL_REDUCE:
        (void)snprintf(text, size, "all_reduce, the %s of %llu numbers of type %s",
                       reduce_name(h->op), n, tutti_dtype_name(h->dtype));
        break;
    case ALL_GATHER:
        (void)snprintf(text, size, "all_gather of %llu bytes", n);
        break;
    case BROADCAST:
        (void)snprintf(text, size, "broadcast of %llu bytes from rank %d", n, h->op);
        break;
    case ALL_GATHER_ANY:
        (void)snprintf(text, size, "all_gather_any");
        break;
    case BARRIER:
        (void)snprintf(text, size, "barrier");
        break;
    case FIRST:
        (void)snprintf(text, size, "begin_first or end_first, local %d", h->op);
        break;
    case LOOP_EVENT:
        (void)snprintf(text, size, "nothing behind %s", event_name(h->op));
        break;
    default: /* other bytes of the host's, where a comm does not compare lengths */
        (void)snprintf(text, size, "none of its operations");
    }
}

/* All ranks find the same. */
static tutti_status check_headers(const call_frame *all, int32_t size, tutti_error *err)
{
    char other[96], first[96];
    for (int32_t r = 1; r < size; r++) {
        if (memcmp(&all[r].header, &all[0].header, sizeof all[0].header) == 0)
            continue;
        describe(&all[r].header, other, sizeof other);
        describe(&all[0].header, first, sizeof first);
        return tutti_fail(err, TUTTI_E_ARG, TUTTI_RANKS_V1 ": rank %d calls %s; rank 0 %s", r,
                          other, first);
    }
    return TUTTI_OK;
}

tutti_status call_meet(world *w, const call_header *header, const void *mine, uint64_t bytes,
                       call_frame **ret_all, tutti_error *err)
{
    const int32_t size = world_size(w);
    call_frame frame = {.header = *header, .bytes = bytes};
    call_frame *all = malloc((size_t)size * sizeof *all);
    if (!all)
        return call_no_memory((uint64_t)size * sizeof *all, err);
    if (bytes && bytes <= FRAME_BYTES)
        memcpy(frame.data, mine, bytes);
    tutti_status s = world_exchange(w, &frame, all, sizeof frame, err);
    if (!s)
        s = check_headers(all, size, err);
    if (s)
        free(all);
    else
        *ret_all = all;
    return s;
}
