/* epoch_order.c - orders that are lists are kept for the epochs that workers make batches of. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/epoch_order.h"

#include <stdlib.h>
#include <string.h>

/* Lists that nobody uses; one more is of the epoch in work, another of the next. */
enum { LISTS_KEPT = 2 };

struct epoch_list {
    epoch_list *next;
    int64_t epoch;
    uint32_t users;
    int64_t index[]; /* places */
};

tutti_status epoch_orders_init(epoch_orders *o, tutti_error *err)
{
    (void)pthread_mutex_init(&o->lock, NULL);
    o->table = instance_query(o->dataset, TUTTI_SAMPLE_ORDER_V1);
    o->places = o->sampler ? epoch_sampler_places(o->sampler) : o->samples;
    if (!o->table || o->sampler)
        return TUTTI_OK;
    instance_call c = instance_enter(o->dataset, "places");
    o->places = o->table->places(instance_self(o->dataset));
    instance_leave(&c);
    if (o->places > 0 && (uint64_t)o->places < (SIZE_MAX - sizeof(epoch_list)) / 8)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_RANGE,
                      "dataset %s: an epoch of %lld samples, want at least 1",
                      instance_name(o->dataset), (long long)o->places);
}

void epoch_orders_fini(epoch_orders *o)
{
    for (epoch_list *l = o->lists, *next; l; l = next) {
        next = l->next;
        free(l);
    }
    if (o->dataset)
        (void)pthread_mutex_destroy(&o->lock);
}

static tutti_status ask(const epoch_orders *o, epoch_list *l, tutti_error *err)
{
    const tutti_epoch epoch = {.struct_size = sizeof epoch,
                               .shuffle = o->shuffle,
                               .seed = o->seed,
                               .epoch = l->epoch,
                               .batch_size = o->batch_size};
    if (o->sampler)
        return epoch_sampler_order(o->sampler, &epoch, l->index, err);
    if (o->lanes.table)
        return epoch_lanes_order(&o->lanes, &epoch, l->index, err);
    instance_call c = instance_enter(o->dataset, "order");
    const tutti_status s =
        o->table->order(instance_self(o->dataset), &epoch, l->index, (uint64_t)o->places, err);
    instance_leave(&c);
    if (s && !err->status)
        return tutti_fail(err, s,
                          "dataset %s: its order of epoch %lld fails and gives no reason",
                          instance_name(o->dataset), (long long)l->epoch);
    for (int64_t k = 0; !s && k < o->places; k++)
        if (l->index[k] < 0 || l->index[k] >= o->samples)
            return tutti_fail(
                err, TUTTI_E_RANGE,
                "dataset %s: its order of epoch %lld has sample %lld at place %lld, "
                "there are %lld samples",
                instance_name(o->dataset), (long long)l->epoch, (long long)l->index[k],
                (long long)k, (long long)o->samples);
    return s;
}

/* Frees those that nobody uses, but for the newest. */
static void drop_old(epoch_orders *o)
{
    int seen = 0;
    for (epoch_list **at = &o->lists; *at;) {
        epoch_list *l = *at;
        if (l->users || ++seen <= LISTS_KEPT) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        free(l);
    }
}

static tutti_status add_list(epoch_orders *o, int64_t epoch, tutti_error *err)
{
    epoch_list *l = malloc(sizeof *l + (uint64_t)o->places * sizeof *l->index);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the order of %lld samples",
                          (long long)o->places);
    *l = (epoch_list){.next = o->lists, .epoch = epoch};
    const tutti_status s = ask(o, l, err);
    if (s)
        free(l);
    else
        o->lists = l;
    return s;
}

/* The list of the epoch, with one user more.  Whoever else wants it waits at the lock. */
static tutti_status use_list(epoch_orders *o, int64_t epoch, epoch_order *ret, tutti_error *err)
{
    epoch_list *l = o->lists;
    tutti_status s = TUTTI_OK;
    while (l && l->epoch != epoch)
        l = l->next;
    if (!l && (s = add_list(o, epoch, err)))
        return s;
    ret->fresh = !l;
    ret->list = l ? l : o->lists;
    ret->list->users++;
    drop_old(o);
    return TUTTI_OK;
}

tutti_status epoch_order_acquire(epoch_orders *o, int64_t epoch, epoch_order *ret_order,
                                 tutti_error *err)
{
    epoch_order order = {.shuffle = o->shuffle};
    if (!o->table && !o->sampler && !o->lanes.table)
        order.formula = permutation_make((uint64_t)o->places, o->seed, (uint64_t)epoch);
    else {
        (void)pthread_mutex_lock(&o->lock);
        const tutti_status s = use_list(o, epoch, &order, err);
        (void)pthread_mutex_unlock(&o->lock);
        if (s)
            return s;
    }
    *ret_order = order;
    return TUTTI_OK;
}

void epoch_order_release(epoch_orders *o, epoch_order *order)
{
    if (!order->list)
        return;
    (void)pthread_mutex_lock(&o->lock);
    order->list->users--;
    drop_old(o);
    (void)pthread_mutex_unlock(&o->lock);
}

int64_t epoch_order_at(const epoch_order *order, int64_t place)
{
    if (order->list)
        return order->list->index[place];
    return order->shuffle ? (int64_t)permutation_at(&order->formula, (uint64_t)place) : place;
}
