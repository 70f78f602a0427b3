/* trust.h - the table of an optimizer with a trust ratio: settings, kernels, an update of one whole weight.
 *
 * A plugin includes it behind its NAME_range.h, says TRUST_UPDATE(NAME), and opens with trust_open. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRUST_H
#define TRUST_H

#include "trust_update.h"

typedef struct trust {
    tutti_optimizer_v1 table;
    double settings[TRUST_SETTINGS];
    const tutti_kernel_v1 *kernels; /* of this plugin; NULL: the host has none */
    uint32_t look;                  /* kernels of the manifest */
    uint32_t move;
    int32_t flags; /* TRUST_* and the optimizer's own */
    int32_t kind;  /* 1: without the last of its state */
} trust;

/* What a plugin tells of itself when it opens. */
typedef struct trust_open_options {
    const char *name; /* in errors */
    const char *look; /* kernels of the manifest */
    const char *move;
    const char *const *slots; /* names of the state, `nslots` of them */
    uint32_t nslots;
    int32_t own_flags; /* and TRUST_NORM */
    int32_t kind;
    int32_t reserved;
    void (*update)(void *self, const tutti_update *u);
    double settings[TRUST_SETTINGS]; /* as NAME_at reads them */
} trust_open_options;

static tutti_status trust_update_on_device(void *self, const tutti_update *u, tutti_error *err)
{
    trust *o = (trust *)self;
    tutti_update a = optimizer_known(u);
    double *s = o->settings;
    int64_t pieces = trust_pieces(a.n), threads = pieces * SQUARES_LANES;
    void *look[] = {&a.w,     &a.g,  &a.slot[0], &a.slot[1], &a.scratch, &a.numbers,
                    &s[0],    &s[1], &s[2],      &s[3],      &s[4],      &o->flags,
                    &o->kind, &a.n,  &pieces,    &threads};
    void *move[] = {&a.w,       &a.g,     &a.slot[0],   &a.slot[1], &a.scratch, &a.low,
                    &a.numbers, &s[0],    &s[1],        &s[2],      &s[3],      &s[4],
                    &o->flags,  &o->kind, &a.low_dtype, &a.n,       &pieces};
    const tutti_status status =
        o->kernels->launch(o->kernels->ctx, o->look, look, sizeof look / sizeof *look, err);
    return status ? status
                  : o->kernels->launch(o->kernels->ctx, o->move, move,
                                       sizeof move / sizeof *move, err);
}

static uint64_t trust_scratch(void *self, const tutti_desc *desc)
{
    return (uint64_t)trust_pieces(tutti_numel(desc)) * 2 * sizeof(double);
}

static tutti_status trust_open(const tutti_host *host, const tutti_params *params,
                               const trust_open_options *options, void **ret_self,
                               tutti_error *err)
{
    trust *o = (trust *)calloc(1, sizeof *o);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", options->name);
    o->table.struct_size = (uint32_t)sizeof o->table;
    o->table.nslots = options->nslots;
    o->table.slot_names = options->slots;
    o->table.lr = tutti_param_f64(params, "lr");
    o->table.update = options->update;
    o->kernels = optimizer_kernel(host, options->look, &o->look);
    if (o->kernels)
        o->kernels = optimizer_kernel(host, options->move, &o->move);
    o->table.update_on_device = o->kernels ? trust_update_on_device : NULL;
    o->table.reads_numbers = 1;
    o->table.writes_low = 1;
    o->table.by_weight = 1;
    o->table.scratch = trust_scratch;
    o->kind = options->kind;
    o->flags = options->own_flags;
    o->table.reads_norm = (options->own_flags & TRUST_NORM) != 0;
    if (tutti_param_i64(params, "trust_clip"))
        o->flags |= TRUST_CLIP;
    if (tutti_param_i64(params, "always_adapt"))
        o->flags |= TRUST_ALWAYS;
    memcpy(o->settings, options->settings, sizeof o->settings);
    *ret_self = o;
    return TUTTI_OK;
}

static tutti_status trust_close(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const void *trust_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &((const trust *)self)->table : NULL;
}

#endif
