/* half_weights.c - trained and frozen weights in 16 bits, beside those in f32. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/net_internal.h"
#include "tutti/ops.h"

#include <stdlib.h>

/* Copies of weights that lie together. */
typedef struct half_area {
    uint16_t *copies; /* on the net's device */
    int64_t count;
    bool old;
    graph *g; /* made by the first refresh, as are: */
    program *cast;
    void *scratch; /* of the program */
} half_area;

enum { TRAINED, FROZEN, AREAS };

/* Who updates the weights writes their copies in the same sweep.  What else writes weights makes them
 * old: the next forward pass casts the whole area, by the operation that the plans would cast by. */
struct half_weights {
    half_area areas[AREAS];
    int32_t dtype;
    bool exposed; /* may become old at any time */
};

enum { PLACE_WEIGHTS, PLACE_COPIES, PLACES };

int32_t half_weights_dtype(const net *n)
{
    const bool wanted =
        n->options.half != NET_HALF_BEST || program_cuda(n->options.device) != NULL;
    return !wanted                                ? TUTTI_DTYPE_NONE
           : n->options.precision == NET_AMP_BF16 ? TUTTI_BF16
           : n->options.precision == NET_AMP_FP16 ? TUTTI_F16
                                                  : TUTTI_DTYPE_NONE;
}

bool half_weights_exist(const net *n)
{
    return half_weights_dtype(n) && n->options.half != NET_HALF_NODES;
}

static bool area_init(const net *n, half_area *a, int64_t count)
{
    *a = (half_area){.count = count, .old = true};
    if (count)
        a->copies = device_alloc(n->options.device, (uint64_t)count * sizeof *a->copies);
    return !count || a->copies;
}

tutti_status half_weights_create(const net *n, int64_t ntrained, int64_t nfrozen,
                                 half_weights **ret_half, tutti_error *err)
{
    if (!half_weights_exist(n))
        return TUTTI_OK;
    half_weights *l = calloc(1, sizeof *l);
    if (!l || !area_init(n, &l->areas[TRAINED], ntrained) ||
        !area_init(n, &l->areas[FROZEN], nfrozen)) {
        half_weights_destroy(n, l);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the model's weights in 16 bits");
    }
    l->dtype = half_weights_dtype(n);
    *ret_half = l;
    return TUTTI_OK;
}

static void drop_program(const net *n, half_area *a)
{
    program_destroy(a->cast);
    graph_destroy(a->g);
    device_free(n->options.device, a->scratch);
    a->cast = NULL;
    a->g = NULL;
    a->scratch = NULL;
}

void half_weights_destroy(const net *n, half_weights *l)
{
    for (int k = 0; k < AREAS && l; k++) {
        drop_program(n, &l->areas[k]);
        device_free(n->options.device, l->areas[k].copies);
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
    int k = n->half ? 0 : AREAS;
    for (; k < AREAS; k++) {
        const float *first = weights_of(n, k);
        if (at >= first && at < first + n->half->areas[k].count) {
            *ret_offset = at - first;
            break;
        }
    }
    return k;
}

void *half_weights_address(const net *n, uint32_t id)
{
    int64_t offset = 0;
    const int k = area_of(n, n->weights[id]->data, &offset);
    return k < AREAS ? n->half->areas[k].copies + offset : NULL;
}

static tutti_status make_program(net *n, half_area *a, tutti_error *err)
{
    const tutti_desc all = {{a->count}, 1, TUTTI_F32};
    const tutti_attr to = tutti_attr_i("dtype", n->half->dtype);
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
    a->scratch = device_alloc(n->options.device, program_bytes(a->cast));
    return a->scratch ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
}

static tutti_status refresh(net *n, int area, const tutti_step *step, tutti_error *err)
{
    half_area *a = &n->half->areas[area];
    tutti_status s = TUTTI_OK;
    if (!(a->old || n->half->exposed) || a->count == 0)
        return TUTTI_OK;
    if (!a->cast && (s = make_program(n, a, err))) {
        drop_program(n, a);
        return s;
    }
    program_set_arena(a->cast, a->scratch);
    program_set_external(a->cast, PLACE_WEIGHTS, weights_of(n, area));
    program_set_external(a->cast, PLACE_COPIES, a->copies);
    s = program_run(a->cast, 0, step, err);
    a->old = s != TUTTI_OK;
    return s;
}

tutti_status half_weights_refresh(net *n, const tutti_step *step, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (int k = 0; k < AREAS && n->half && !s; k++)
        s = refresh(n, k, step, err);
    return s;
}

uint16_t *net_half_weights(const net *n, int32_t *ret_dtype)
{
    *ret_dtype = n->half ? n->half->dtype : TUTTI_DTYPE_NONE;
    return n->half ? n->half->areas[TRAINED].copies : NULL;
}

net_half_counts net_count_half(const net *n)
{
    net_half_counts c = {.dtype = n->half ? n->half->dtype : TUTTI_DTYPE_NONE};
    for (uint32_t k = 0; k < n->norder; k++) {
        int64_t unused;
        const int area = area_of(n, n->order[k]->data, &unused);
        c.trained += area == TRAINED;
        c.frozen += area == FROZEN;
    }
    for (int k = 0; k < AREAS && n->half; k++)
        c.bytes += (uint64_t)n->half->areas[k].count * sizeof *n->half->areas[k].copies;
    return c;
}

bool net_has_half(const net *n, const float *at)
{
    int64_t unused;
    return area_of(n, at, &unused) < AREAS;
}

void net_touch_trained(net *n)
{
    if (n->half)
        n->half->areas[TRAINED].old = true;
}

void net_touch_weights(net *n)
{
    net_touch_trained(n);
    if (n->half)
        n->half->areas[FROZEN].old = true;
}

void net_expose_weights(net *n)
{
    if (n->half)
        n->half->exposed = true;
}
