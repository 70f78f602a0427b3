/* loss_blend.c - blending two losses or gradients on a device, as a graph of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/net_internal.h"
#include "tutti/ops.h"

#include <stdlib.h>

/* External places: a, b, the two shares, and a again for the result. */
enum { PLACE_A, PLACE_B, PLACE_KEEP, PLACE_TAKE, PLACE_RESULT, PLACES };

struct loss_blend {
    loss_blend *next;
    const tutti_device *device; /* the net's */
    tutti_desc desc;
    graph *g;
    program *program;
    void *arena;
    float *fractions[2];
};

static tutti_status trace(loss_blend *m, tutti_value *ret_result, tutti_error *err)
{
    tutti_graph *b = graph_builder(m->g);
    const tutti_desc number = {.dtype = TUTTI_F32};
    const tutti_value x = graph_input(m->g, &m->desc), y = graph_input(m->g, &m->desc);
    const tutti_value keep = graph_input(m->g, &number), take = graph_input(m->g, &number);
    *ret_result = tutti_add(b, tutti_mul(b, keep, x), tutti_mul(b, take, y));
    return graph_error(m->g, err);
}

static tutti_status compile(const net *n, loss_blend *m, tutti_value result, tutti_error *err)
{
    const program_store store = {.value = result,
                                 .kind = STORE_EXTERNAL,
                                 .index = PLACE_RESULT,
                                 .bytes = tutti_nbytes(&m->desc)};
    const program_spec spec = {.g = m->g,
                               .stores = &store,
                               .nstores = 1,
                               .weights = n->addresses,
                               .nexternal = PLACES,
                               .threads = n->options.threads,
                               .autotuner = n->autotuner,
                               .device = m->device};
    return program_create(&spec, &m->program, err);
}

static tutti_status create(net *n, const tutti_desc *d, loss_blend **ret_mixer,
                           tutti_error *err)
{
    tutti_value result = 0;
    loss_blend *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a second loss");
    m->device = n->options.device;
    m->desc = *d;
    m->g = net_graph(n, TUTTI_MODE_TRAIN);
    tutti_status s = m->g ? trace(m, &result, err) : TUTTI_E_NOMEM;
    if (!s)
        s = compile(n, m, result, err);
    if (!s) {
        m->arena = device_alloc(m->device, program_bytes(m->program));
        m->fractions[0] = device_alloc(m->device, sizeof(float));
        m->fractions[1] = device_alloc(m->device, sizeof(float));
        if (!m->arena || !m->fractions[0] || !m->fractions[1])
            s = TUTTI_E_NOMEM;
    }
    if (s) {
        loss_blends_destroy(m);
        return tutti_fail(err, s, "no memory for a second loss");
    }
    *ret_mixer = m;
    return TUTTI_OK;
}

void loss_blends_destroy(loss_blend *list)
{
    while (list) {
        loss_blend *next = list->next;
        program_destroy(list->program);
        graph_destroy(list->g);
        device_free(list->device, list->arena);
        device_free(list->device, list->fractions[0]);
        device_free(list->device, list->fractions[1]);
        free(list);
        list = next;
    }
}

tutti_status loss_blend_run(net *n, loss_blend **list, const float *fractions, float *a,
                            const float *b, const tutti_desc *d, const tutti_step *step,
                            tutti_error *err)
{
    loss_blend *m = *list;
    tutti_status s = TUTTI_OK;
    while (m && !tutti_same_shape(&m->desc, d))
        m = m->next;
    if (!m) {
        if ((s = create(n, d, &m, err)))
            return s;
        m->next = *list;
        *list = m;
    }
    for (uint32_t k = 0; k < 2 && !s; k++)
        s = device_copy(m->device, m->fractions[k], &fractions[k], sizeof fractions[k],
                        TUTTI_COPY_TO_DEVICE, err);
    if (s)
        return s;
    program_set_arena(m->program, m->arena);
    program_set_external(m->program, PLACE_A, a);
    program_set_external(m->program, PLACE_B, b);
    program_set_external(m->program, PLACE_KEEP, m->fractions[0]);
    program_set_external(m->program, PLACE_TAKE, m->fractions[1]);
    program_set_external(m->program, PLACE_RESULT, a);
    return program_run(m->program, 0, step, err);
}
