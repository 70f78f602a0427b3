/* weights_service.c - tutti.weights/1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/weights_service.h"

#include "base/released.h"
#include "train/update/optimizer_state.h"

static const net *net_of(const weights_service *w)
{
    return w->updater->run->net;
}

static uint32_t count(void *ctx)
{
    return net_weight_count(net_of(ctx));
}

/* Whether the layout fits the net: surgery may have changed it since the last refit. */
static bool is_laid_out(const updater *u)
{
    return u->layout.group_of && u->version == net_version(u->run->net);
}

tutti_status weights_find(const updater *u, uint32_t k, tutti_weight *ret, tutti_error *err)
{
    const net *n = u->run->net;
    if (k >= net_weight_count(n))
        return tutti_fail(err, TUTTI_E_RANGE, "there are %u weights, %u is past the last",
                          net_weight_count(n), k);
    *ret = *net_weight(n, k);
    ret->group = is_laid_out(u) ? u->layout.group_of[k] : -1;
    return TUTTI_OK;
}

static uint32_t count_slots(const updater *u, uint32_t k)
{
    const int32_t group = k < net_weight_count(u->run->net) && is_laid_out(u) && u->ngroups
                              ? u->layout.group_of[k]
                              : -1;
    return group < 0 ? 0 : u->groups[group].table->nslots;
}

tutti_status weights_find_slot(const updater *u, uint32_t k, uint32_t slot, tutti_slot *ret,
                               tutti_error *err)
{
    const uint32_t n = count_slots(u, k);
    if (slot >= n)
        return tutti_fail(err, TUTTI_E_RANGE, "weight %u has %u slots, %u is past the last", k,
                          n, slot);
    if (u->world)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "optimizer state is divided among the processes; want \"sharding\": "
                          "\"none\" of \"distributed\"");
    *ret = (tutti_slot){.struct_size = sizeof *ret,
                        .name = u->groups[u->layout.group_of[k]].table->slot_names[slot],
                        .data = state_find(u, k, slot)};
    return TUTTI_OK;
}

tutti_status weights_show(const updater *u, tutti_error *err)
{
    if (u->sharding.gradients)
        return tutti_fail(err, TUTTI_E_STATE,
                          "gradients are divided among the processes since nobody asked for "
                          "them; want a plugin that asks for " TUTTI_WEIGHTS_V1
                          " when it opens, or \"sharding\": \"none\" of \"distributed\"");
    const tutti_status s = mirrors_check_weights(u->mirrors, err);
    return s ? s : net_fill_weights(u->run->net, err);
}

static tutti_status at(void *ctx, uint32_t k, tutti_weight *ret, tutti_error *err)
{
    const weights_service *w = ctx;
    tutti_weight found;
    tutti_status s = RELEASED_CAPACITY(tutti_weight, ret, err);
    if (!s)
        s = weights_show(w->updater, err);
    if (!s)
        s = weights_find(w->updater, k, &found, err);
    if (!s)
        s = mirrors_weight(w->updater->mirrors, k, &found, err);
    return s ? s : RELEASED_GIVE(tutti_weight, ret, &found, err);
}

static tutti_status describe(void *ctx, uint32_t k, tutti_weight *ret, tutti_error *err)
{
    const weights_service *w = ctx;
    tutti_weight found;
    const tutti_status s = weights_find(w->updater, k, &found, err);
    if (s)
        return s;
    found.data.data = found.grad = NULL;
    return RELEASED_GIVE(tutti_weight, ret, &found, err);
}

static uint64_t version(void *ctx)
{
    return net_version(net_of(ctx));
}

static uint32_t groups(void *ctx)
{
    return (uint32_t)((weights_service *)ctx)->updater->ngroups;
}

static const char *optimizer(void *ctx)
{
    const updater *u = ((weights_service *)ctx)->updater;
    return u->ngroups
               ? object_describe(instance_object(u->groups[u->ngroups - 1].optimizer))->name
               : "";
}

static double lr(void *ctx, uint32_t k)
{
    const updater *u = ((weights_service *)ctx)->updater;
    return k < u->ngroups ? u->groups[k].lr : 0.0;
}

static void set_lr(void *ctx, uint32_t k, double rate)
{
    updater *u = ((weights_service *)ctx)->updater;
    if (k >= u->ngroups)
        return;
    u->groups[k].lr = rate;
    u->groups[k].given = true;
}

static float *gradient_factor(void *ctx)
{
    return scalars_ask_factor(((weights_service *)ctx)->updater->scalars);
}

static uint32_t slots(void *ctx, uint32_t k)
{
    return count_slots(((const weights_service *)ctx)->updater, k);
}

static tutti_status slot(void *ctx, uint32_t k, uint32_t j, tutti_slot *ret, tutti_error *err)
{
    const updater *u = ((const weights_service *)ctx)->updater;
    tutti_slot found;
    tutti_status s = weights_find_slot(u, k, j, &found, err);
    if (!s)
        s = mirrors_slot(u->mirrors, k, j, &found.data, err);
    return s ? s : RELEASED_GIVE(tutti_slot, ret, &found, err);
}

void weights_service_init(weights_service *w, updater *u)
{
    w->updater = u;
    w->table = (tutti_weights_v1){.struct_size = sizeof w->table,
                                  .ctx = w,
                                  .count = count,
                                  .at = at,
                                  .version = version,
                                  .groups = groups,
                                  .optimizer = optimizer,
                                  .lr = lr,
                                  .set_lr = set_lr,
                                  .gradient_factor = gradient_factor,
                                  .describe = describe,
                                  .slots = slots,
                                  .slot = slot};
}
