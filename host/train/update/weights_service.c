/* weights_service.c - tutti.weights/1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/weights_service.h"

#include "base/released.h"

static const net *net_of(const weights_service *w)
{
    return w->updater->run->net;
}

static uint32_t count(void *ctx)
{
    return net_weight_count(net_of(ctx));
}

tutti_status weights_find(const updater *u, uint32_t k, tutti_weight *ret, tutti_error *err)
{
    const net *n = u->run->net;
    if (k >= net_weight_count(n))
        return tutti_fail(err, TUTTI_E_RANGE, "there are %u weights, %u is past the last",
                          net_weight_count(n), k);
    *ret = *net_weight(n, k);
    ret->group =
        u->layout.group_of && u->version == net_version(n) ? u->layout.group_of[k] : -1;
    return TUTTI_OK;
}

static tutti_status at(void *ctx, uint32_t k, tutti_weight *ret, tutti_error *err)
{
    const weights_service *w = ctx;
    tutti_weight found;
    tutti_status s = RELEASED_ROOM(tutti_weight, ret, err);
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
    if (k < u->ngroups)
        u->groups[k].lr = rate;
}

static float *gradient_factor(void *ctx)
{
    return scalars_ask_factor(((weights_service *)ctx)->updater->scalars);
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
                                  .describe = describe};
}
