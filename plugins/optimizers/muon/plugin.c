/* plugin.c - muon: momentum made orthogonal for matrices, AdamW for all other weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* slot_shape */
#define TUTTI_MIN_MINOR 0
#include "muon_range.h"

#include "../../common/squares_sum.h"
#include "../adam_range.h"
#include "../optimizer.h"

enum { KERNEL_LOOK, KERNEL_SCALE, KERNEL_PRODUCT, KERNEL_CHANGE, KERNEL_ADAMW, KERNELS };
enum { ADJUST_ORIGINAL, ADJUST_MATCH_RMS_ADAMW, ADJUST_SPECTRAL_UNCLAMPED };

typedef struct muon {
    tutti_optimizer_v1 table;
    muon_rule rule;                 /* without scale */
    adam_rule adamw;                /* of weights that are no matrices */
    double adamw_scale;             /* of the learning rate, for these */
    double a, b, c;                 /* ns_coefficients */
    const tutti_kernel_v1 *kernels; /* of this plugin; NULL: the host has none */
    uint32_t kernel[KERNELS];
    int32_t ns_steps;
    int32_t adjust; /* ADJUST_* */
    int32_t reserved;
} muon;

/* By which the learning rate of a matrix is multiplied. */
static double rate_scale(const muon *o, double rows, double cols)
{
    const double ratio = rows / cols, most = rows > cols ? rows : cols;
    switch (o->adjust) {
    case ADJUST_MATCH_RMS_ADAMW:
        return 0.2 * sqrt(most);
    case ADJUST_SPECTRAL_UNCLAMPED:
        return sqrt(ratio);
    default:
        return ratio > 1.0 ? sqrt(ratio) : 1.0;
    }
}

static int64_t pieces_of(int64_t n)
{
    return (n + SQUARES_PIECE - 1) / SQUARES_PIECE;
}

static int64_t low_of(const tutti_desc *d)
{
    return d->dim[0] < d->dim[1] ? d->dim[0] : d->dim[1];
}

static uint64_t muon_scratch(void *self, const tutti_desc *d)
{
    if (d->rank != 2)
        return 0;
    const int64_t n = tutti_numel(d), small = low_of(d);
    return (uint64_t)(2 * muon_lines(n) + 2 * muon_lines(small * small)) * sizeof(float) +
           (uint64_t)pieces_of(n) * sizeof(double);
}

/* A matrix has momentum alone. */
static tutti_status muon_slot_shape(void *self, const tutti_desc *desc, uint32_t slot,
                                    tutti_desc *shape, tutti_error *err)
{
    (void)self, (void)err;
    if (desc->rank == 2 && slot > 0)
        *shape = (tutti_desc){{0}, 1, TUTTI_F32};
    return TUTTI_OK;
}

/* ---- the passes, by one thread or several ---- */

static void look_part(void *arg, int64_t p)
{
    TUTTI_ISA_PICK(muon_look)((const muon_job *)arg, p);
}

static void scale_part(void *arg, int64_t p)
{
    TUTTI_ISA_PICK(muon_scale)((const muon_job *)arg, p);
}

static void tile_part(void *arg, int64_t t)
{
    TUTTI_ISA_PICK(muon_tile)((const muon_job *)arg, t);
}

static void change_part(void *arg, int64_t p)
{
    TUTTI_ISA_PICK(muon_change)((const muon_job *)arg, p);
}

static float norm_of(const muon_job *j)
{
    return muon_norm(squares_total(j->memory.sums, pieces_of(j->rows * j->cols)), j->step);
}

/* The three products of one Newton-Schulz step; afterwards the direction is in `next`. */
static void muon_products(const muon *o, const muon_memory *m, int64_t small, int64_t large,
                          muon_product ret[3])
{
    ret[0] = (muon_product){m->gram, m->x, m->x, NULL, small, small, large, 1.0f, 0.0f, 1, 0};
    ret[1] = (muon_product){m->both, m->gram,     m->gram,     m->gram, small, small,
                            small,   (float)o->c, (float)o->b, 0,       0};
    ret[2] = (muon_product){m->next, m->both, m->x,        m->x, small, large,
                            small,   1.0f,    (float)o->a, 0,    0};
}

static void muon_turn(muon_memory *m)
{
    float *x = m->x;
    m->x = m->next;
    m->next = x;
}

static void update_matrix(const muon *o, const tutti_update *u)
{
    const int64_t rows = u->desc->dim[0], cols = u->desc->dim[1], pieces = pieces_of(u->n);
    const int64_t small = low_of(u->desc), large = u->n / small;
    muon_rule r = o->rule;
    r.scale = rate_scale(o, (double)rows, (double)cols);
    muon_job j = {.step = muon_at(r, u->lr, 1.0),
                  .memory = muon_lay_out(u->scratch, small, large),
                  .rows = rows,
                  .cols = cols,
                  .w = u->w,
                  .g = u->g,
                  .buffer = u->slot[0],
                  .low = u->low,
                  .low_dtype = u->low_dtype};
    u->each(u->each_ctx, pieces, look_part, &j);
    j.norm = norm_of(&j);
    u->each(u->each_ctx, pieces, scale_part, &j);
    for (int32_t s = 0; s < o->ns_steps; s++) {
        muon_product all[3];
        muon_products(o, &j.memory, small, large, all);
        for (int k = 0; k < 3; k++) {
            j.product = all[k];
            u->each(u->each_ctx, muon_tiles(&j.product), tile_part, &j);
        }
        muon_turn(&j.memory);
    }
    u->each(u->each_ctx, pieces, change_part, &j);
}

/* ---- AdamW ---- */

typedef struct adamw_job {
    const tutti_update *update;
    adam_step step;
} adamw_job;

static void adamw_part(void *arg, int64_t p)
{
    const adamw_job *j = (const adamw_job *)arg;
    const tutti_update *u = j->update;
    const int64_t at = p * SQUARES_PIECE;
    const int64_t n = u->n - at < SQUARES_PIECE ? u->n - at : SQUARES_PIECE;
    TUTTI_ISA_PICK(adam_range)
    (n, u->w + at, u->g + at, u->slot[0] + at, u->slot[1] + at, NULL,
     u->low ? u->low + at : NULL, u->low_dtype, &j->step);
}

static void muon_update(void *self, const tutti_update *given)
{
    const muon *o = (const muon *)self;
    const tutti_update u = optimizer_known(given);
    if (u.desc->rank == 2) {
        update_matrix(o, &u);
        return;
    }
    adamw_job j = {&u, adam_at(o->adamw, u.lr * o->adamw_scale, (double)u.step, 1.0)};
    u.each(u.each_ctx, pieces_of(u.n), adamw_part, &j);
}

/* ---- the manifest's kernels ---- */

#define MUON_RULE_ARGS                                                                         \
    const double *now, double weight_decay, double momentum, double eps, double scale,         \
        int32_t nesterov
#define MUON_RULE                                                                              \
    {                                                                                          \
        weight_decay, momentum, eps, scale, nesterov, 0                                        \
    }

TUTTI_EXPORT void muon_look_cpu(const float *g, float *buffer, float *x, double *sums,
                                MUON_RULE_ARGS, int64_t rows, int64_t cols, int64_t threads);
TUTTI_EXPORT void muon_scale_cpu(float *x, const double *sums, MUON_RULE_ARGS, int64_t n,
                                 int64_t pieces);
TUTTI_EXPORT void muon_product_cpu(float *to, const float *a, const float *b, const float *add,
                                   const double *now, int64_t rows, int64_t cols, int64_t inner,
                                   float alpha, float beta, int32_t transposed,
                                   int64_t threads);
TUTTI_EXPORT void muon_change_cpu(float *w, const float *x, uint16_t *low, MUON_RULE_ARGS,
                                  int32_t low_dtype, int64_t rows, int64_t cols, int64_t n);
TUTTI_EXPORT void muon_adamw_cpu(float *w, const float *g, float *m, float *v, uint16_t *low,
                                 const double *now, double beta1, double beta2, double eps,
                                 double weight_decay, double scale, int32_t low_dtype,
                                 int64_t n);

void muon_look_cpu(const float *g, float *buffer, float *x, double *sums, MUON_RULE_ARGS,
                   int64_t rows, int64_t cols, int64_t threads)
{
    const muon_rule r = MUON_RULE;
    muon_job j = {.step = muon_at(r, now[TUTTI_UPDATE_LR], now[TUTTI_UPDATE_FACTOR]),
                  .rows = rows,
                  .cols = cols,
                  .g = g,
                  .buffer = buffer};
    j.memory.x = x;
    j.memory.sums = sums;
    for (int64_t p = 0; p < pieces_of(rows * cols) && now[TUTTI_UPDATE_SKIP] == 0.0; p++)
        look_part(&j, p);
}

void muon_scale_cpu(float *x, const double *sums, MUON_RULE_ARGS, int64_t n, int64_t pieces)
{
    const muon_rule r = MUON_RULE;
    muon_job j = {.step = muon_at(r, now[TUTTI_UPDATE_LR], now[TUTTI_UPDATE_FACTOR]),
                  .rows = 1,
                  .cols = n};
    j.memory.x = x;
    j.norm = muon_norm(squares_total(sums, pieces), j.step);
    for (int64_t p = 0; p < pieces && now[TUTTI_UPDATE_SKIP] == 0.0; p++)
        scale_part(&j, p);
}

void muon_product_cpu(float *to, const float *a, const float *b, const float *add,
                      const double *now, int64_t rows, int64_t cols, int64_t inner, float alpha,
                      float beta, int32_t transposed, int64_t threads)
{
    muon_job j = {.product = {to, a, b, add, rows, cols, inner, alpha, beta, transposed, 0}};
    for (int64_t t = 0; t < muon_tiles(&j.product) && now[TUTTI_UPDATE_SKIP] == 0.0; t++)
        tile_part(&j, t);
}

void muon_change_cpu(float *w, const float *x, uint16_t *low, MUON_RULE_ARGS, int32_t low_dtype,
                     int64_t rows, int64_t cols, int64_t n)
{
    const muon_rule r = MUON_RULE;
    muon_job j = {.step = muon_at(r, now[TUTTI_UPDATE_LR], now[TUTTI_UPDATE_FACTOR]),
                  .rows = rows,
                  .cols = cols,
                  .w = w,
                  .low = low,
                  .low_dtype = low_dtype};
    j.memory.x = (float *)(uintptr_t)x; /* this pass reads it alone */
    for (int64_t p = 0; p < pieces_of(n) && now[TUTTI_UPDATE_SKIP] == 0.0; p++)
        change_part(&j, p);
}

void muon_adamw_cpu(float *w, const float *g, float *m, float *v, uint16_t *low,
                    const double *now, double beta1, double beta2, double eps,
                    double weight_decay, double scale, int32_t low_dtype, int64_t n)
{
    const adam_rule r = {beta1, beta2, eps, weight_decay, 0.0, ADAM_DECAY_BY_RATE, 0};
    const adam_step k = adam_at(r, now[TUTTI_UPDATE_LR] * scale, now[TUTTI_UPDATE_STEP],
                                now[TUTTI_UPDATE_FACTOR]);
    if (now[TUTTI_UPDATE_SKIP] == 0.0)
        TUTTI_ISA_PICK(adam_range)(n, w, g, m, v, NULL, low, low_dtype, &k);
}

/* ---- the update on a device ---- */

static tutti_status muon_launch(const muon *o, int which, void *const *args, uint32_t n,
                                tutti_error *err)
{
    return o->kernels->launch(o->kernels->ctx, o->kernel[which], args, n, err);
}

static tutti_status adamw_there(const muon *o, tutti_update *u, tutti_error *err)
{
    adam_rule r = o->adamw;
    double scale = o->adamw_scale;
    void *args[] = {&u->w,       &u->g,         &u->slot[0], &u->slot[1], &u->low,
                    &u->numbers, &r.beta1,      &r.beta2,    &r.eps,      &r.weight_decay,
                    &scale,      &u->low_dtype, &u->n};
    return muon_launch(o, KERNEL_ADAMW, args, sizeof args / sizeof *args, err);
}

static tutti_status products_there(const muon *o, const tutti_update *u, muon_memory *m,
                                   int64_t small, int64_t large, tutti_error *err)
{
    const double *now = u->numbers;
    tutti_status s = TUTTI_OK;
    for (int32_t step = 0; step < o->ns_steps && !s; step++) {
        muon_product all[3];
        muon_products(o, m, small, large, all);
        for (int k = 0; k < 3 && !s; k++) {
            muon_product *p = &all[k];
            int64_t threads = muon_tiles(p) * 256;
            void *args[] = {&p->to,   &p->a,     &p->b,     &p->add,  &now,           &p->rows,
                            &p->cols, &p->inner, &p->alpha, &p->beta, &p->transposed, &threads};
            s = muon_launch(o, KERNEL_PRODUCT, args, sizeof args / sizeof *args, err);
        }
        muon_turn(m);
    }
    return s;
}

static tutti_status muon_update_on_device(void *self, const tutti_update *given,
                                          tutti_error *err)
{
    const muon *o = (const muon *)self;
    tutti_update u = optimizer_known(given);
    if (u.desc->rank != 2)
        return adamw_there(o, &u, err);
    int64_t rows = u.desc->dim[0], cols = u.desc->dim[1];
    const int64_t small = low_of(u.desc), large = u.n / small;
    int64_t pieces = pieces_of(u.n), threads = pieces * SQUARES_LANES;
    muon_memory m = muon_lay_out(u.scratch, small, large);
    muon_rule r = o->rule;
    r.scale = rate_scale(o, (double)rows, (double)cols);
    void *look[] = {&u.g,        &u.slot[0], &m.x,     &m.sums,     &u.numbers, &r.weight_decay,
                    &r.momentum, &r.eps,     &r.scale, &r.nesterov, &rows,      &cols,
                    &threads};
    void *scale[] = {&m.x,     &m.sums,     &u.numbers, &r.weight_decay, &r.momentum, &r.eps,
                     &r.scale, &r.nesterov, &u.n,       &pieces};
    tutti_status s = muon_launch(o, KERNEL_LOOK, look, sizeof look / sizeof *look, err);
    if (s || (s = muon_launch(o, KERNEL_SCALE, scale, sizeof scale / sizeof *scale, err)) ||
        (s = products_there(o, &u, &m, small, large, err)))
        return s;
    void *change[] = {&u.w,        &m.x,   &u.low,   &u.numbers,  &r.weight_decay,
                      &r.momentum, &r.eps, &r.scale, &r.nesterov, &u.low_dtype,
                      &rows,       &cols,  &u.n};
    return muon_launch(o, KERNEL_CHANGE, change, sizeof change / sizeof *change, err);
}

/* ---- the object ---- */

static void find_kernels(muon *o, const tutti_host *host)
{
    static const char *const names[KERNELS] = {"muon_look", "muon_scale", "muon_product",
                                               "muon_change", "muon_adamw"};
    for (int k = 0; k < KERNELS; k++) {
        o->kernels = optimizer_kernel(host, names[k], &o->kernel[k]);
        if (!o->kernels)
            return;
    }
}

static double number_at(const tutti_params *params, const char *name, uint32_t at,
                        double otherwise)
{
    const tutti_param *list = tutti_param_find(params, name);
    return list && at < list->count ? list->items[at]->f : otherwise;
}

static void read_settings(muon *o, const tutti_params *params)
{
    const double lr = tutti_param_f64(params, "lr");
    o->rule = (muon_rule){.weight_decay = tutti_param_f64(params, "weight_decay"),
                          .momentum = tutti_param_f64(params, "momentum"),
                          .eps = tutti_param_f64(params, "eps"),
                          .nesterov = tutti_param_i64(params, "nesterov") != 0};
    o->adamw = (adam_rule){.beta1 = number_at(params, "adamw_betas", 0, 0.9),
                           .beta2 = number_at(params, "adamw_betas", 1, 0.999),
                           .eps = tutti_param_f64(params, "adamw_eps"),
                           .weight_decay = tutti_param_f64(params, "adamw_weight_decay"),
                           .decay = ADAM_DECAY_BY_RATE};
    o->adamw_scale = lr > 0.0 ? tutti_param_f64(params, "adamw_lr") / lr : 0.0;
    o->a = number_at(params, "ns_coefficients", 0, 3.4445);
    o->b = number_at(params, "ns_coefficients", 1, -4.775);
    o->c = number_at(params, "ns_coefficients", 2, 2.0315);
    o->ns_steps = (int32_t)tutti_param_i64(params, "ns_steps");
    o->adjust = (int32_t)tutti_param_i64(params, "adjust_lr_fn");
}

static tutti_status muon_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    static const char *const slots[] = {"momentum_buffer", "exp_avg_sq"};
    muon *o = (muon *)calloc(1, sizeof *o);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOMEM, "muon: no memory");
    find_kernels(o, host);
    o->table =
        (tutti_optimizer_v1){.struct_size = (uint32_t)sizeof o->table,
                             .nslots = 2,
                             .slot_names = slots,
                             .lr = tutti_param_f64(params, "lr"),
                             .update = muon_update,
                             .update_on_device = o->kernels ? muon_update_on_device : NULL,
                             .reads_numbers = 1,
                             .writes_low = 1,
                             .by_weight = 1,
                             .scratch = muon_scratch,
                             .slot_shape = muon_slot_shape};
    read_settings(o, params);
    *ret_self = o;
    return TUTTI_OK;
}

static tutti_status muon_close(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const void *muon_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &((const muon *)self)->table : NULL;
}

static const tutti_calls muon_calls = {.struct_size = (uint32_t)sizeof muon_calls,
                                       .open = muon_open,
                                       .close = muon_close,
                                       .query = muon_query};
static const tutti_object muon_object =
    TUTTI_OBJECT_INIT("muon", TUTTI_KIND_OPTIMIZER, &muon_calls);
static const tutti_object *const objects[] = {&muon_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.muon", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
