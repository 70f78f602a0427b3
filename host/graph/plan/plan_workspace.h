/* plan_workspace.h - slots of a batch side by side: plans that pause for sums over all slots, and memory for one slot each. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PLAN_PLAN_WORKSPACE_H
#define HOST_GRAPH_PLAN_PLAN_WORKSPACE_H

#include "graph/plan/plan.h"
#include "graph/program/parts.h"

/* From now on training plans have statistics of all slots of a batch where operations have any (op_slots.h).  Before the
 * first plan.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status net_set_across_slots(net *n, tutti_error *err);
/* How many numbers each sum over slots has that the plan's forward and backward pass make, in order: at most `most`; how many
 * sums there are. */
uint32_t plan_sums(const plan *p, int64_t *ret_counts, uint32_t most);
/* As program_sum, of this plan's runs.  NULL for `sum` ends it. */
void plan_watch_sums(plan *p, program_sum_fn sum, void *ctx);
/* Whether anybody does. */
bool plan_watches_sums(const plan *p);

/* Results and gradients of one slot, while others run: where the net is. */
typedef struct plan_workspace {
    const tutti_device *device; /* of this memory; NULL: the host */
    unsigned char *arena;       /* NULL: none yet */
    uint64_t arena_bytes;
    float *gradients; /* as the net's arena of gradients */
    uint64_t version; /* of the net that they are for */
} plan_workspace;

/* Memory for the gradients of the net as it is.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status plan_workspace_fit(plan_workspace *w, net *n, tutti_error *err);
void plan_workspace_fini(plan_workspace *w);
/* From now on to plan_workspace_leave plans of the net compute in it, and `p` writes gradients there; nothing else of the net
 * is asked for in between.  [step] */
void plan_workspace_enter(plan_workspace *w, plan *p);
void plan_workspace_leave(plan_workspace *w, plan *p);

/* As plan_run, of SEGMENT_FORWARD or SEGMENT_BACKWARD, to the next sum over slots or to the segment's end, as
 * program_run_part.  [step] */
TUTTI_NODISCARD tutti_status plan_run_part(plan *p, int segment, uint32_t *at,
                                           const tutti_step *step, program_pause *ret_pause,
                                           tutti_error *err);

#endif
