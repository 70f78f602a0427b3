/* plugin.c - mixup: every sample mixed with another of its microbatch, and so its target or loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/beta.h"
#include "../batch_mix.h"

typedef struct mixup {
    batch_mix p; /* weight: 0 to 0.5 */
    double alpha;
} mixup;

static tutti_status mixup_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    static const char *const names[] = {BATCH_MIX_NAMES};
    batch_mix p;
    const tutti_status status =
        batch_mix_open(&p, "mixup", host, params, names, BATCH_MIX_KERNELS, err);
    if (status)
        return status;
    mixup *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "mixup: no memory");
    m->p = p;
    m->alpha = tutti_param_f64(params, "alpha");
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status mixup_close(void *self, tutti_error *err)
{
    mixup *m = self;
    (void)err;
    batch_mix_fini(&m->p);
    free(m);
    return TUTTI_OK;
}

static int32_t mixup_match(void *self, const tutti_event *event)
{
    return batch_mix_match(&((mixup *)self)->p, event);
}

static tutti_status mix_inputs(mixup *m, uint64_t step, tutti_error *err)
{
    batch_mix *p = &m->p;
    tutti_desc x;
    char text[96];
    tutti_status status = batch_describe(&p->device, p->device.input, &x, err);
    if (status)
        return status;
    if (x.dtype != TUTTI_F32 || x.rank < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          "mixup: the input is %s, want F32; add the transform normalize",
                          tutti_desc_text(&x, text, sizeof text));
    tutti_stream r = algorithm_stream(p->state, "mixup", step);
    const double lambda = beta_symmetric(&r, m->alpha);
    p->weight = lambda < 1.0 - lambda ? lambda : 1.0 - lambda;
    if ((status = batch_mix_draw(p, &r, x.dim[0], err)) || p->weight == 0.0)
        return status;
    return batch_mix_blend_inputs(p, &x, err);
}

static tutti_status mixup_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                tutti_error *err)
{
    mixup *m = self;
    (void)ret_exit_code;
    if (event->id == TUTTI_EVENT_BEFORE_FORWARD)
        return mix_inputs(m, event->step, err);
    if (m->p.weight == 0.0)
        return TUTTI_OK;
    return m->p.interpolate_loss ? batch_mix_blend_loss(&m->p, err)
                                 : batch_mix_blend_targets(&m->p, err);
}

ALGORITHM_PLUGIN("mixup", .open = mixup_open, .match = mixup_match, .apply = mixup_apply,
                 .close = mixup_close);
