/* low.c - trainable weights in 16 bits, beside those in f32. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net_internal.h"
#include "tutti/ops.h"

#include <stdlib.h>

/* Who updates the weights writes the copies in the same sweep.  What else writes weights makes them old:
 * the next forward pass casts the whole arena, by the operation that the plans would cast by. */
struct low_weights {
    uint16_t *copies; /* on the net's device, as long as the arena */
    int64_t count;
    int32_t dtype;
    bool old;
    bool exposed; /* may become old at any time */
    graph *g;     /* made by the first refresh, as are: */
    program *cast;
    void *room; /* of the program */
};

enum { PLACE_WEIGHTS, PLACE_COPIES, PLACES };

int32_t low_dtype(const net *n)
{
    const bool wanted =
        n->options.low != NET_LOW_BEST || program_cuda(n->options.device) != NULL;
    return !wanted                                ? TUTTI_DTYPE_NONE
           : n->options.precision == NET_AMP_BF16 ? TUTTI_BF16
           : n->options.precision == NET_AMP_FP16 ? TUTTI_F16
                                                  : TUTTI_DTYPE_NONE;
}

bool low_has_copies(const net *n)
{
    return low_dtype(n) && n->options.low != NET_LOW_NODES;
}

tutti_status low_create(const net *n, int64_t count, low_weights **ret_low, tutti_error *err)
{
    if (!low_has_copies(n))
        return TUTTI_OK;
    low_weights *l = calloc(1, sizeof *l);
    if (l)
        *l = (low_weights){
            .copies = place_take(n->options.device, (uint64_t)count * sizeof *l->copies),
            .count = count,
            .dtype = low_dtype(n),
            .old = true};
    if (!l || !l->copies) {
        low_destroy(n, l);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the model's weights in 16 bits");
    }
    *ret_low = l;
    return TUTTI_OK;
}

static void drop_program(const net *n, low_weights *l)
{
    program_destroy(l->cast);
    graph_destroy(l->g);
    place_give(n->options.device, l->room);
    l->cast = NULL;
    l->g = NULL;
    l->room = NULL;
}

void low_destroy(const net *n, low_weights *l)
{
    if (!l)
        return;
    drop_program(n, l);
    place_give(n->options.device, l->copies);
    free(l);
}

void *low_address(const net *n, uint32_t id)
{
    const weight *w = n->weights[id];
    return n->low && w->offset >= 0 ? n->low->copies + w->offset : NULL;
}

static tutti_status make_program(net *n, low_weights *l, tutti_error *err)
{
    const tutti_desc all = {{l->count}, 1, TUTTI_F32};
    const tutti_attr to = tutti_attr_i("dtype", l->dtype);
    l->g = net_graph(n, TUTTI_MODE_TRAIN);
    if (!l->g)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    tutti_graph *b = graph_builder(l->g);
    const tutti_value weights = graph_input(l->g, &all);
    const program_store store = {.value = b->emit(b, "cast", &weights, 1, &to, 1, NULL, 0),
                                 .kind = STORE_EXTERNAL,
                                 .index = PLACE_COPIES,
                                 .bytes = (uint64_t)l->count * sizeof *l->copies};
    const program_spec spec = {.g = l->g,
                               .stores = &store,
                               .nstores = 1,
                               .weights = n->addresses,
                               .nexternal = PLACES,
                               .threads = n->options.threads,
                               .device = n->options.device};
    tutti_status s = graph_error(l->g, err);
    if (!s)
        s = program_create(&spec, &l->cast, err);
    if (s)
        return s;
    l->room = place_take(n->options.device, program_bytes(l->cast));
    return l->room ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
}

tutti_status low_refresh(net *n, const tutti_step *step, tutti_error *err)
{
    low_weights *l = n->low;
    tutti_status s = TUTTI_OK;
    if (!l || !(l->old || l->exposed) || l->count == 0)
        return TUTTI_OK;
    if (!l->cast && (s = make_program(n, l, err))) {
        drop_program(n, l);
        return s;
    }
    program_set_arena(l->cast, l->room);
    program_set_external(l->cast, PLACE_WEIGHTS, n->trainable);
    program_set_external(l->cast, PLACE_COPIES, l->copies);
    s = program_run(l->cast, 0, step, err);
    l->old = s != TUTTI_OK;
    return s;
}

uint16_t *net_low(const net *n, int32_t *ret_dtype)
{
    *ret_dtype = n->low ? n->low->dtype : TUTTI_DTYPE_NONE;
    return n->low ? n->low->copies : NULL;
}

void net_touch_weights(net *n)
{
    if (n->low)
        n->low->old = true;
}

void net_expose_weights(net *n)
{
    if (n->low)
        n->low->exposed = true;
}
