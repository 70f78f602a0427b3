/* plugin.c - input_noise: Gaussian noise on the input of every batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/rng.h"
#include "tutti/state.h"
#include "tutti/tutti.h"

#include <stdlib.h>

/* One instance.  Settings are read once, in open; the host has checked them against plugin.json. */
typedef struct noise {
    const tutti_state_v1 *state;
    double sigma;
    double stop; /* fraction of the run; above 1: never */
} noise;

static tutti_status input_noise_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = host->query(host->ctx, TUTTI_STATE_V1);
    if (!state)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "input_noise: this host has no %s",
                          TUTTI_STATE_V1);
    noise *n = calloc(1, sizeof *n);
    if (!n)
        return tutti_fail(err, TUTTI_E_NOMEM, "input_noise: no memory");
    n->state = state;
    n->sigma = tutti_param_f64(params, "sigma");
    n->stop =
        tutti_param_is_set(params, "stop") ? tutti_param_time(params, "stop").fraction : 2.0;
    *ret_self = n;
    return TUTTI_OK;
}

static tutti_status input_noise_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* Asked on the events of the manifest; changes nothing. */
static int32_t input_noise_match(void *self, const tutti_event *event)
{
    const noise *n = self;
    (void)event;
    return n->sigma > 0.0 && n->state->elapsed(n->state->ctx) < n->stop;
}

/* x (B, ...) f32 becomes x + sigma * normal.  The draws depend on seed, step and place alone, so a
 * resumed run draws what the uninterrupted one would have. */
static tutti_status input_noise_apply(void *self, const tutti_event *event,
                                      int64_t *ret_exit_code, tutti_error *err)
{
    const noise *n = self;
    const uint32_t purpose = TUTTI_RNG_PLUGIN ^ (uint32_t)tutti_hash("org.example.input_noise");
    tutti_tensor x;
    char text[96];
    (void)ret_exit_code; /* stays TUTTI_EXIT_NONE: there is nothing to tell */
    const tutti_status status = n->state->get(n->state->ctx, "input", &x, err);
    if (status)
        return status;
    if (x.desc.dtype != TUTTI_F32)
        return tutti_fail(err, TUTTI_E_ARG, "input_noise: the input is %s, want F32",
                          tutti_desc_text(&x.desc, text, sizeof text));
    float *v = x.data;
    const int64_t count = tutti_numel(&x.desc);
    for (int64_t i = 0; i < count; i += 2) {
        double a, b;
        tutti_normal_f64(tutti_rng(*n->state->seed, purpose, event->step, (uint64_t)i), &a, &b);
        v[i] += (float)(n->sigma * a);
        if (i + 1 < count)
            v[i + 1] += (float)(n->sigma * b);
    }
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = input_noise_open,
                                  .match = input_noise_match,
                                  .apply = input_noise_apply,
                                  .close = input_noise_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("input_noise", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.input_noise", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
