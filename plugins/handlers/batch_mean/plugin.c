/* plugin.c - batch_mean: a process function for `tutti run`, the mean of a batch's column. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/engine.h"
#include "tutti/loop.h"
#include "tutti/state.h"

TUTTI_EXPORT tutti_status batch_mean(const tutti_engine_v1 *engine, const char *column,
                                     tutti_error *err);
TUTTI_EXPORT tutti_status batch_mean_stop_below(const tutti_engine_v1 *engine, double limit,
                                                tutti_error *err);

static const void *batch_mean_service(const tutti_engine_v1 *engine, const char *id,
                                      tutti_error *err)
{
    const void *table = engine->query(engine->ctx, id);
    if (!table)
        (void)tutti_fail(err, TUTTI_E_UNSUPPORTED, "batch_mean: this host has no %s", id);
    return table;
}

tutti_status batch_mean(const tutti_engine_v1 *engine, const char *column, tutti_error *err)
{
    const tutti_state_v1 *state = batch_mean_service(engine, TUTTI_STATE_V1, err);
    const tutti_loop_v1 *loop = batch_mean_service(engine, TUTTI_LOOP_V1, err);
    tutti_tensor t;
    double sum = 0.0;
    if (!state || !loop)
        return TUTTI_E_UNSUPPORTED;
    const tutti_status s = state->get(state->ctx, column, &t, err);
    if (s)
        return s;
    const int64_t n = tutti_numel(&t.desc);
    for (int64_t k = 0; k < n; k++)
        switch (t.desc.dtype) {
        case TUTTI_F32:
            sum += (double)((const float *)t.data)[k];
            break;
        case TUTTI_U8:
            sum += ((const uint8_t *)t.data)[k];
            break;
        case TUTTI_I32:
            sum += ((const int32_t *)t.data)[k];
            break;
        default:
            return tutti_fail(err, TUTTI_E_ARG, "batch_mean: %s is not f32, u8 or i32", column);
        }
    loop->set_output(loop->ctx, n ? sum / (double)n : 0.0);
    return TUTTI_OK;
}

tutti_status batch_mean_stop_below(const tutti_engine_v1 *engine, double limit,
                                   tutti_error *err)
{
    const tutti_loop_v1 *loop = batch_mean_service(engine, TUTTI_LOOP_V1, err);
    if (!loop)
        return TUTTI_E_UNSUPPORTED;
    if (loop->output(loop->ctx) < limit)
        loop->terminate(loop->ctx, 0);
    return TUTTI_OK;
}

static const tutti_object *const objects[] = {NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.batch_mean", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
