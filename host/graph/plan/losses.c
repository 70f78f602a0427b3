/* losses.c - losses and penalties of other objects join those of the model. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_internal.h"

/* Whom a change of the loss concerns: NULL with `err` without memory. */
static net_losses *losses_to_change(net *n, tutti_error *err)
{
    if (!plan_set_get(n)) {
        (void)tutti_fail(err, TUTTI_E_NOMEM, "no memory for a loss");
        return NULL;
    }
    plan_set_drop(n);
    return &n->compiled.plans->losses;
}

tutti_status net_add_loss(net *n, const tutti_loss_v1 *table, void *self, const char *who,
                          instance *owner, tutti_error *err)
{
    net_losses *all = losses_to_change(n, err);
    if (!all)
        return TUTTI_E_NOMEM;
    if (all->naround == LOSS_MOST)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: %d objects change the loss already", who,
                          LOSS_MOST);
    all->around[all->naround++] = (loss_around){table, self, who, owner};
    return TUTTI_OK;
}

tutti_status net_set_loss(net *n, const tutti_loss_v1 *table, void *self, const char *who,
                          instance *owner, tutti_error *err)
{
    net_losses *all = losses_to_change(n, err);
    if (!all)
        return TUTTI_E_NOMEM;
    if (all->naround)
        return tutti_fail(err, TUTTI_E_STATE, "%s: there is a loss already", who);
    const tutti_status s = net_add_loss(n, table, self, who, owner, err);
    all->nown = all->naround;
    return s;
}

tutti_status net_add_penalty(net *n, const tutti_penalty_v1 *table, void *self, instance *owner,
                             tutti_error *err)
{
    net_losses *all = losses_to_change(n, err);
    if (!all)
        return TUTTI_E_NOMEM;
    if (all->npenalties == PENALTY_MOST)
        return tutti_fail(err, TUTTI_E_RANGE, "more than %d algorithms add a penalty",
                          PENALTY_MOST);
    all->penalties[all->npenalties].table = table;
    all->penalties[all->npenalties].owner = owner;
    all->penalties[all->npenalties++].self = self;
    return TUTTI_OK;
}
