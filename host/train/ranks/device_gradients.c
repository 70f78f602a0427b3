/* device_gradients.c - gradients of a rank's slots on a device, and their sum over all slots there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/device_gradients.h"

#include "graph/runtime/device_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *arena(const device_gradients *g, int64_t *ret_numbers)
{
    float *weights, *gradients;
    net_arena(g->run->net, &weights, &gradients, ret_numbers);
    return gradients;
}

static void free_pool(device_gradients *g)
{
    for (uint32_t k = 0; k < g->npool; k++)
        device_free(context_device(g->run), g->pool[k]);
    g->npool = 0;
}

void device_gradients_close(device_gradients *g, bool failed)
{
    world_device_leave(g->device, failed);
    g->device = NULL;
    if (g->run)
        free_pool(g);
    free((void *)g->pool);
    g->pool = NULL;
}

tutti_status device_gradients_begin(device_gradients *g, int64_t slots, slot_list mine,
                                    tutti_error *err)
{
    int64_t numbers;
    (void)arena(g, &numbers);
    if (numbers != g->numbers)
        free_pool(g);
    if (!g->pool && !(g->pool = calloc(SLOT_BLOCKS, sizeof *g->pool)))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for gradients of slots");
    g->numbers = numbers;
    g->slots = slots;
    g->mine = mine;
    g->nblocks = 0;
    g->stack = (slot_stack){.count = 0};
    const int64_t most = world_bucket(g->world);
    return world_device_reserve(g->device, slots, numbers < most ? numbers : most, err);
}

/* An array that nothing is in. */
static tutti_status take_array(device_gradients *g, float **ret_array, tutti_error *err)
{
    const uint64_t bytes = (uint64_t)g->numbers * sizeof(float);
    uint32_t k = 0;
    while (k < g->npool && slot_stack_holds(&g->stack, g->blocks, g->nblocks, g->pool[k]))
        k++;
    if (k == g->npool) {
        float *array =
            k < SLOT_BLOCKS ? device_try_alloc(context_device(g->run), bytes, err) : NULL;
        if (!array)
            return tutti_fail(err, TUTTI_E_NOMEM,
                              "no memory for %llu bytes of gradients of a slot",
                              (unsigned long long)bytes);
        g->pool[g->npool++] = array;
    }
    *ret_array = g->pool[k];
    return TUTTI_OK;
}

/* Where the slot's gradients stay: in the arena, where nothing overwrites them before they are added to others, or sent. */
static tutti_status keep(device_gradients *g, int64_t slot, float **ret_array, tutti_error *err)
{
    const bool last = slot == g->mine.first + g->mine.count - 1;
    int64_t numbers;
    float *gradients = arena(g, &numbers);
    *ret_array = gradients;
    if (last || slot_stack_takes(&g->stack, slot))
        return TUTTI_OK;
    const tutti_status s = take_array(g, ret_array, err);
    return s ? s
             : device_copy(context_device(g->run), *ret_array, gradients,
                           (uint64_t)numbers * sizeof(float), TUTTI_COPY_ON_DEVICE, err);
}

/* Blocks of the tree are summed one after the other. */
static void end_block(device_gradients *g, int64_t slot)
{
    slot_span blocks[SLOT_BLOCKS];
    (void)slots_blocks((slot_span){g->mine.first, g->mine.count}, blocks);
    const slot_span *block = &blocks[g->nblocks];
    if (slot + 1 < block->first + block->count)
        return;
    g->blocks[g->nblocks++] = g->stack.sums[0];
    g->stack.count = 0;
}

tutti_status device_gradients_end_slot(device_gradients *g, int64_t slot, tutti_error *err)
{
    float *array = NULL;
    tutti_status s = keep(g, slot, &array, err);
    if (!s)
        s = world_device_push(g->device, &g->stack, (slot_sum){array, {slot, 1}}, g->numbers,
                              err);
    if (!s)
        end_block(g, slot);
    return s;
}

/* Bucket by bucket, of which the device has all to do before anybody waits. */
static tutti_status start_sums(device_gradients *g, tutti_error *err)
{
    const int64_t most = world_bucket(g->world);
    int64_t numbers;
    float *gradients = arena(g, &numbers);
    tutti_status s = TUTTI_OK;
    for (int64_t at = 0; at < numbers && !s; at += most) {
        const world_piece piece = {.slots = g->slots,
                                   .mine = g->blocks,
                                   .count = g->nblocks,
                                   .at = at,
                                   .n = numbers - at < most ? numbers - at : most,
                                   .result = gradients};
        s = world_device_sum(g->device, &piece, err);
    }
    return s;
}

/* Behind `mine`, what this rank has failed with: `why`, who does not come. */
static void add_reason(tutti_error *err, const tutti_error *why)
{
    if (!err)
        return;
    const size_t used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof err->text - used, "; %s", why->text);
}

static tutti_status read_failures(const char *failed, int32_t size, tutti_error *err)
{
    for (int32_t r = 0; r < size; r++)
        if (failed[r])
            return tutti_fail(err, TUTTI_E_STATE,
                              "rank %d could not sum gradients on its device", r);
    return TUTTI_OK;
}

/* The processes, which know who has ended or hangs, meet; a device would wait for its rank.  `mine`: this rank's status,
 * whose sentence is in `err`. */
static tutti_status meet(device_gradients *g, tutti_status mine, tutti_error *err)
{
    const int32_t size = world_size(g->world);
    const char failed = mine != TUTTI_OK;
    tutti_error why = TUTTI_ERROR_INIT;
    char *all = size > 1 ? malloc((size_t)size) : NULL;
    if (!all)
        return size == 1 ? mine : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the ranks");
    if (mine)
        world_hurry(g->world);
    const tutti_status s =
        world_exchange(g->world, &failed, all, sizeof failed, mine ? &why : err);
    if (s && mine)
        add_reason(err, &why);
    const tutti_status others = s || mine ? TUTTI_OK : read_failures(all, size, err);
    free(all);
    return mine ? mine : s ? s : others;
}

tutti_status device_gradients_sum(device_gradients *g, tutti_error *err)
{
    tutti_status s = start_sums(g, err);
    if (!s)
        s = meet(g, TUTTI_OK, err);
    if (!s)
        s = meet(g, world_device_finish(g->device, err), err);
    if (s) {
        world_device_leave(g->device, true);
        g->device = NULL;
    }
    return s;
}
