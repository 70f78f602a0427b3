/* half_weights.c - trained and frozen weights in 16 bits, beside those in f32. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/net_internal.h"
#include "tutti/ops.h"

#include <stdlib.h>

/* Copies of weights that lie together. */
typedef struct low_area {
    uint16_t *copies; /* on the net's device */
    int64_t count;
    bool old;
    graph *g; /* made by the first refresh, as are: */
    program *cast;
    void *room; /* of the program */
} low_area;

enum { TRAINED, FROZEN, AREAS };

/* Who updates the weights writes their copies in the same sweep.  What else writes weights makes them
 * old: the next forward pass casts the whole area, by the operation that the plans would cast by. */
struct low_weights {
    low_area areas[AREAS];
    int32_t dtype;
    bool exposed; /* may become old at any time */
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

static bool area_init(const net *n, low_area *a, int64_t count)
{
    *a = (low_area){.count = count, .old = true};
    if (count)
        a->copies = place_take(n->options.device, (uint64_t)count * sizeof *a->copies);
    return !count || a->copies;
}

tutti_status low_create(const net *n, int64_t ntrained, int64_t nfrozen, low_weights **ret_low,
                        tutti_error *err)
{
    if (!low_has_copies(n))
        return TUTTI_OK;
    low_weights *l = calloc(1, sizeof *l);
    if (!l || !area_init(n, &l->areas[TRAINED], ntrained) ||
        !area_init(n, &l->areas[FROZEN], nfrozen)) {
        low_destroy(n, l);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the model's weights in 16 bits");
    }
    l->dtype = low_dtype(n);
    *ret_low = l;
    return TUTTI_OK;
}

static void drop_program(const net *n, low_area *a)
{
    program_destroy(a->cast);
    graph_destroy(a->g);
    place_give(n->options.device, a->room);
    a->cast = NULL;
    a->g = NULL;
    a->room = NULL;
}

void low_destroy(const net *n, low_weights *l)
{
    for (int k = 0; k < AREAS && l; k++) {
        drop_program(n, &l->areas[k]);
        place_give(n->options.device, l->areas[k].copies);
    }
    free(l);
}

/* The weights that the area has copies of. */
static float *weights_of(const net *n, int area)
{
    return area == TRAINED ? n->trainable : n->buffers;
}

/* The area that `at` is in, and where; AREAS: in none. */
static int area_of(const net *n, const float *at, int64_t *ret_offset)
{
    int k = n->low ? 0 : AREAS;
    for (; k < AREAS; k++) {
        const float *first = weights_of(n, k);
        if (at >= first && at < first + n->low->areas[k].count) {
            *ret_offset = at - first;
            break;
        }
    }
    return k;
}

void *low_address(const net *n, uint32_t id)
{
    int64_t offset = 0;
    const int k = area_of(n, n->weights[id]->data, &offset);
    return k < AREAS ? n->low->areas[k].copies + offset : NULL;
}

static tutti_status make_program(net *n, low_area *a, tutti_error *err)
{
    const tutti_desc all = {{a->count}, 1, TUTTI_F32};
    const tutti_attr to = tutti_attr_i("dtype", n->low->dtype);
    a->g = net_graph(n, TUTTI_MODE_TRAIN);
    if (!a->g)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    tutti_graph *b = graph_builder(a->g);
    const tutti_value weights = graph_input(a->g, &all);
    const program_store store = {.value = b->emit(b, "cast", &weights, 1, &to, 1, NULL, 0),
                                 .kind = STORE_EXTERNAL,
                                 .index = PLACE_COPIES,
                                 .bytes = (uint64_t)a->count * sizeof *a->copies};
    const program_spec spec = {.g = a->g,
                               .stores = &store,
                               .nstores = 1,
                               .weights = n->addresses,
                               .nexternal = PLACES,
                               .threads = n->options.threads,
                               .device = n->options.device};
    tutti_status s = graph_error(a->g, err);
    if (!s)
        s = program_create(&spec, &a->cast, err);
    if (s)
        return s;
    a->room = place_take(n->options.device, program_bytes(a->cast));
    return a->room ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
}

static tutti_status refresh(net *n, int area, const tutti_step *step, tutti_error *err)
{
    low_area *a = &n->low->areas[area];
    tutti_status s = TUTTI_OK;
    if (!(a->old || n->low->exposed) || a->count == 0)
        return TUTTI_OK;
    if (!a->cast && (s = make_program(n, a, err))) {
        drop_program(n, a);
        return s;
    }
    program_set_arena(a->cast, a->room);
    program_set_external(a->cast, PLACE_WEIGHTS, weights_of(n, area));
    program_set_external(a->cast, PLACE_COPIES, a->copies);
    s = program_run(a->cast, 0, step, err);
    a->old = s != TUTTI_OK;
    return s;
}

tutti_status low_refresh(net *n, const tutti_step *step, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (int k = 0; k < AREAS && n->low && !s; k++)
        s = refresh(n, k, step, err);
    return s;
}

uint16_t *net_low(const net *n, int32_t *ret_dtype)
{
    *ret_dtype = n->low ? n->low->dtype : TUTTI_DTYPE_NONE;
    return n->low ? n->low->areas[TRAINED].copies : NULL;
}

net_low_counts net_count_low(const net *n)
{
    net_low_counts c = {.dtype = n->low ? n->low->dtype : TUTTI_DTYPE_NONE};
    for (uint32_t k = 0; k < n->norder; k++) {
        int64_t unused;
        const int area = area_of(n, n->order[k]->data, &unused);
        c.trained += area == TRAINED;
        c.frozen += area == FROZEN;
    }
    for (int k = 0; k < AREAS && n->low; k++)
        c.bytes += (uint64_t)n->low->areas[k].count * sizeof *n->low->areas[k].copies;
    return c;
}

bool net_has_low(const net *n, const float *at)
{
    int64_t unused;
    return area_of(n, at, &unused) < AREAS;
}

void net_touch_trained(net *n)
{
    if (n->low)
        n->low->areas[TRAINED].old = true;
}

void net_touch_weights(net *n)
{
    net_touch_trained(n);
    if (n->low)
        n->low->areas[FROZEN].old = true;
}

void net_expose_weights(net *n)
{
    if (n->low)
        n->low->exposed = true;
}
