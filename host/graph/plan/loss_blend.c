/* loss_blend.c - blending two losses or gradients on a device, as a graph of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_internal.h"
#include "tutti/ops.h"

#include <stdlib.h>

/* External places: a, b, their two fractions, and a once more for the result. */
enum { PLACE_A, PLACE_B, PLACE_KEEP, PLACE_TAKE, PLACE_RESULT, PLACES };

struct loss_blend {
    loss_blend *next;
    compiled_graph compiled;
    tutti_desc desc;
    float *fractions[2];
};

static tutti_status trace(loss_blend *m, tutti_value *ret_result, tutti_error *err)
{
    graph *g = m->compiled.g;
    tutti_graph *b = graph_builder(g);
    const tutti_desc number = {.dtype = TUTTI_F32};
    const tutti_value x = graph_input(g, &m->desc), y = graph_input(g, &m->desc);
    const tutti_value keep = graph_input(g, &number), take = graph_input(g, &number);
    *ret_result = tutti_add(b, tutti_mul(b, keep, x), tutti_mul(b, take, y));
    return graph_error(g, err);
}

static tutti_status compile(const net *n, loss_blend *m, tutti_value result, tutti_error *err)
{
    const program_store store = {.value = result,
                                 .kind = STORE_EXTERNAL,
                                 .index = PLACE_RESULT,
                                 .bytes = tutti_nbytes(&m->desc)};
    program_spec spec = {.stores = &store, .nstores = 1, .nexternal = PLACES};
    return compiled_graph_compile(n, &m->compiled, &spec, err);
}

static tutti_status create(net *n, const tutti_desc *d, loss_blend **ret_blend,
                           tutti_error *err)
{
    tutti_value result = 0;
    loss_blend *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a second loss");
    m->desc = *d;
    tutti_status s =
        compiled_graph_begin(n, TUTTI_MODE_TRAIN, "a second loss", &m->compiled, err);
    if (!s)
        s = trace(m, &result, err);
    if (!s)
        s = compile(n, m, result, err);
    if (!s)
        s = compiled_graph_take_arena(&m->compiled, "a second loss", err);
    for (int k = 0; k < 2 && !s; k++) {
        m->fractions[k] = device_alloc(m->compiled.device, sizeof(float));
        if (!m->fractions[k])
            s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a second loss");
    }
    if (s)
        loss_blends_destroy(m);
    else
        *ret_blend = m;
    return s;
}

void loss_blends_destroy(loss_blend *list)
{
    while (list) {
        loss_blend *next = list->next;
        device_free(list->compiled.device, list->fractions[0]);
        device_free(list->compiled.device, list->fractions[1]);
        compiled_graph_fini(&list->compiled);
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
        s = device_copy(m->compiled.device, m->fractions[k], &fractions[k], sizeof fractions[k],
                        TUTTI_COPY_TO_DEVICE, err);
    if (s)
        return s;
    const void *const places[PLACES] = {[PLACE_A] = a,
                                        [PLACE_B] = b,
                                        [PLACE_KEEP] = m->fractions[0],
                                        [PLACE_TAKE] = m->fractions[1],
                                        [PLACE_RESULT] = a};
    compiled_graph_bind(&m->compiled, places, PLACES);
    return compiled_graph_run(n, &m->compiled, 0, step, err);
}
