/* loss.h - the loss: the model's or one in its place, losses of algorithms around it, penalties beside it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PLAN_LOSS_H
#define HOST_GRAPH_PLAN_LOSS_H

#include "graph/ir/graph.h"
#include "graph/plan/plan.h"
#include "tutti/loss.h"
#include "tutti/penalty.h"

enum { LOSS_MOST = 8, PENALTY_MOST = 8 };

/* The loss of one object. */
typedef struct loss_around {
    const tutti_loss_v1 *table;
    void *self;
    const char *who;
    instance *owner; /* NULL: of no plugin */
} loss_around;

/* What other objects make of a model's loss. */
typedef struct net_losses {
    loss_around around[LOSS_MOST]; /* the last is outermost */
    struct {
        const tutti_penalty_v1 *table;
        void *self;
        instance *owner;
    } penalties[PENALTY_MOST];
    uint32_t naround;
    uint32_t
        nown; /* 1: the first is in the place of the model's, and evaluations have it too */
    uint32_t npenalties;
    uint32_t reserved;
} net_losses;

/* From now on this table emits the loss in the place of the model's, in evaluations too; before any other.  Arguments
 * and errors as net_add_loss; E_STATE there is a loss already.  [control] */
TUTTI_NODISCARD tutti_status net_set_loss(net *n, const tutti_loss_v1 *table, void *self,
                                          const char *who, instance *owner, tutti_error *err);
/* From now on the loss of training plans is what this table emits, around the loss so far; `self` is the
 * table's, `who` names it in sentences and lives as long as the net, `owner` is whose it is, or NULL.  Plans so far
 * are dropped.  Errors: E_RANGE there are LOSS_MOST.  [control] */
TUTTI_NODISCARD tutti_status net_add_loss(net *n, const tutti_loss_v1 *table, void *self,
                                          const char *who, instance *owner, tutti_error *err);
/* From now on training plans add this term, made of the loss's gradients, to the loss; `self` is
 * the table's, `owner` whose it is, or NULL.  Plans so far are dropped.  Errors: E_RANGE there are PENALTY_MOST.  [control] */
TUTTI_NODISCARD tutti_status net_add_penalty(net *n, const tutti_penalty_v1 *table, void *self,
                                             instance *owner, tutti_error *err);

/* Traces the loss of plans of that kind for `outputs` and `targets`, the model's in scope "loss", others in that of
 * their names: that of net_set_loss or the model's, for training within those of net_add_loss.  0 after an error, which `g` keeps. */
tutti_value loss_trace(net *n, graph *g, int kind, const tutti_value *outputs,
                       const tutti_value *targets, uint32_t ntargets);

/* The penalties of one shape of batch, compiled.  Segment 0 adds the terms to the loss, segment 1 their gradients to
 * the weights'. */
typedef struct penalty penalty;
tutti_status penalty_create(net *n, const plan_request *request, penalty **ret_penalty,
                            tutti_error *err);
void penalty_destroy(penalty *p); /* NULL is allowed */
uint64_t penalty_bytes(const penalty *p);
/* `places`: inputs, targets, the loss scale, the loss, and where the sum of both goes. */
tutti_status penalty_run(const net *n, penalty *p, const void *const *places, int32_t segment,
                         const tutti_step *step, tutti_error *err);

#endif
