/* plugin.c - adafactor: Adam's denominator out of averages of rows and columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* slot_shape */
#define TUTTI_MIN_MINOR 0
#include "adafactor_range.h"

#include "../optimizer.h"

enum { KERNEL_ROWS, KERNEL_COLS, KERNEL_MEANS, KERNEL_LOOK, KERNEL_MOVE, KERNELS };

typedef struct adafactor {
    tutti_optimizer_v1 table;
    adafactor_rule rule;
    const tutti_kernel_v1 *kernels; /* of this plugin; NULL: the host has none */
    uint32_t kernel[KERNELS];
    uint32_t reserved;
} adafactor;

static adafactor_shape shape_of(const tutti_desc *d)
{
    adafactor_shape s = {.batches = 1, .rows = 1, .cols = tutti_numel(d)};
    s.factored = d->rank > 1;
    if (s.factored) {
        s.cols = d->dim[d->rank - 1];
        s.rows = d->dim[d->rank - 2];
        for (int32_t k = 0; k + 2 < d->rank; k++)
            s.batches *= d->dim[k];
    }
    s.span = s.cols < ADAFACTOR_PART ? ADAFACTOR_PART / s.cols : 1;
    s.parts = (s.batches * s.rows + s.span - 1) / s.span;
    return s;
}

static int64_t column_parts(const adafactor_shape *s)
{
    return s->factored ? s->batches * ((s->cols + ADAFACTOR_COLUMNS - 1) / ADAFACTOR_COLUMNS)
                       : 0;
}

/* ---- the passes, by one thread or several ---- */

static void adafactor_rows_part(void *arg, int64_t p)
{
    TUTTI_ISA_PICK(adafactor_rows)((const adafactor_job *)arg, p);
}

static void adafactor_cols_part(void *arg, int64_t p)
{
    TUTTI_ISA_PICK(adafactor_cols)((const adafactor_job *)arg, p);
}

static void adafactor_means_part(void *arg, int64_t b)
{
    const adafactor_job *j = (const adafactor_job *)arg;
    const float *of = j->row_var + b * j->shape.rows;
    double sum = 0.0;
    for (int64_t r = 0; r < j->shape.rows; r++)
        sum += (double)of[r];
    j->means[b] = adafactor_mean(sum, j->shape.rows, j->step);
}

static void adafactor_look_part(void *arg, int64_t p)
{
    TUTTI_ISA_PICK(adafactor_look)((const adafactor_job *)arg, p);
}

static void adafactor_move_part(void *arg, int64_t p)
{
    TUTTI_ISA_PICK(adafactor_move)((const adafactor_job *)arg, p);
}

/* Out of the sums of all parts. */
static float rate_of(const adafactor_job *j)
{
    double of_w = 0.0, of_step = 0.0;
    for (int64_t p = 0; p < j->shape.parts; p++) {
        of_w += j->sums[2 * p];
        of_step += j->sums[2 * p + 1];
    }
    return adafactor_rate(of_w, of_step, j->shape.batches * j->shape.rows * j->shape.cols,
                          j->step);
}

static void adafactor_update(void *self, const tutti_update *given)
{
    const adafactor *o = (const adafactor *)self;
    const tutti_update u = optimizer_known(given);
    adafactor_job j = {.shape = shape_of(u.desc),
                       .step = adafactor_at(o->rule, u.lr, (double)u.step, 1.0),
                       .w = u.w,
                       .g = u.g,
                       .row_var = u.slot[0],
                       .col_var = u.slot[1],
                       .sums = (double *)u.scratch,
                       .low = u.low,
                       .low_dtype = u.low_dtype};
    j.means = j.sums + 2 * j.shape.parts;
    u.each(u.each_ctx, j.shape.parts, adafactor_rows_part, &j);
    if (j.shape.factored) {
        u.each(u.each_ctx, column_parts(&j.shape), adafactor_cols_part, &j);
        u.each(u.each_ctx, j.shape.batches, adafactor_means_part, &j);
    }
    u.each(u.each_ctx, j.shape.parts, adafactor_look_part, &j);
    j.rate = rate_of(&j);
    u.each(u.each_ctx, j.shape.parts, adafactor_move_part, &j);
}

/* ---- the manifest's kernels, all with the same arguments ---- */

#define ADAFACTOR_ARGS                                                                         \
    float *w, const float *g, float *row_var, float *col_var, double *work, uint16_t *low,     \
        const double *now, double beta2_decay, double eps1, double eps2, double d,             \
        double weight_decay, int32_t low_dtype, int32_t factored, int64_t batches,             \
        int64_t rows, int64_t cols, int64_t span, int64_t parts, int64_t threads

/* Defines NAME_cpu: all `count` parts of a pass. */
#define ADAFACTOR_KERNEL(name, part, count)                                                    \
    TUTTI_EXPORT void name##_cpu(ADAFACTOR_ARGS);                                              \
    void name##_cpu(ADAFACTOR_ARGS)                                                            \
    {                                                                                          \
        const adafactor_rule rule = {beta2_decay, eps1, eps2, d, weight_decay};                \
        adafactor_job j = {.shape = {batches, rows, cols, span, parts, factored, 0},           \
                           .step =                                                             \
                               adafactor_at(rule, now[TUTTI_UPDATE_LR],                        \
                                            now[TUTTI_UPDATE_STEP], now[TUTTI_UPDATE_FACTOR]), \
                           .w = w,                                                             \
                           .g = g,                                                             \
                           .row_var = row_var,                                                 \
                           .col_var = col_var,                                                 \
                           .sums = work,                                                       \
                           .means = work + 2 * parts,                                          \
                           .low = low,                                                         \
                           .low_dtype = low_dtype};                                            \
        if (now[TUTTI_UPDATE_SKIP] != 0.0)                                                     \
            return;                                                                            \
        if (part == adafactor_move_part)                                                       \
            j.rate = rate_of(&j);                                                              \
        for (int64_t p = 0; p < (count); p++)                                                  \
            part(&j, p);                                                                       \
    }                                                                                          \
    _Static_assert(sizeof(adafactor_job) > 0, #name)

ADAFACTOR_KERNEL(adafactor_rows, adafactor_rows_part, parts);
ADAFACTOR_KERNEL(adafactor_cols, adafactor_cols_part, column_parts(&j.shape));
ADAFACTOR_KERNEL(adafactor_means, adafactor_means_part, factored ? batches : 0);
ADAFACTOR_KERNEL(adafactor_look, adafactor_look_part, parts);
ADAFACTOR_KERNEL(adafactor_move, adafactor_move_part, parts);

static tutti_status adafactor_update_on_device(void *self, const tutti_update *u,
                                               tutti_error *err)
{
    const adafactor *o = (const adafactor *)self;
    adafactor_rule r = o->rule;
    tutti_update a = optimizer_known(u);
    adafactor_shape s = shape_of(a.desc);
    const int64_t tiles = s.batches * ((s.cols + 31) / 32);
    const int64_t blocks[KERNELS] = {s.parts, tiles, s.batches, s.parts, s.parts};
    int64_t threads = 0;
    void *args[] = {&a.w,         &a.g,        &a.slot[0], &a.slot[1],
                    &a.scratch,   &a.low,      &a.numbers, &r.beta2_decay,
                    &r.eps1,      &r.eps2,     &r.d,       &r.weight_decay,
                    &a.low_dtype, &s.factored, &s.batches, &s.rows,
                    &s.cols,      &s.span,     &s.parts,   &threads};
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < KERNELS && !status; k++) {
        if (!s.factored && (k == KERNEL_COLS || k == KERNEL_MEANS))
            continue;
        threads = blocks[k] * 256;
        status = o->kernels->launch(o->kernels->ctx, o->kernel[k], args,
                                    sizeof args / sizeof *args, err);
    }
    return status;
}

/* ---- the object ---- */

static uint64_t adafactor_scratch(void *self, const tutti_desc *desc)
{
    const adafactor_shape s = shape_of(desc);
    return (uint64_t)(2 * s.parts + s.batches) * sizeof(double);
}

/* As torch keeps them; a vector's variance is all in the first. */
static tutti_status adafactor_slot_shape(void *self, const tutti_desc *desc, uint32_t slot,
                                         tutti_desc *shape, tutti_error *err)
{
    (void)self, (void)err;
    if (desc->rank > 1)
        shape->dim[desc->rank - (slot == 0 ? 1 : 2)] = 1;
    else if (slot > 0)
        *shape = (tutti_desc){{0}, 1, TUTTI_F32};
    return TUTTI_OK;
}

static void find_kernels(adafactor *o, const tutti_host *host)
{
    static const char *const names[KERNELS] = {"adafactor_rows", "adafactor_cols",
                                               "adafactor_means", "adafactor_look",
                                               "adafactor_move"};
    for (int k = 0; k < KERNELS; k++) {
        o->kernels = optimizer_kernel(host, names[k], &o->kernel[k]);
        if (!o->kernels)
            return;
    }
}

static double eps_at(const tutti_params *params, int at, double otherwise)
{
    const tutti_param *eps = tutti_param_find(params, "eps");
    return eps && eps->count == 2 ? eps->items[at]->f : otherwise;
}

static tutti_status adafactor_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    static const char *const slots[] = {"row_var", "col_var"};
    adafactor *o = (adafactor *)calloc(1, sizeof *o);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOMEM, "adafactor: no memory");
    find_kernels(o, host);
    o->table =
        (tutti_optimizer_v1){.struct_size = (uint32_t)sizeof o->table,
                             .nslots = 2,
                             .slot_names = slots,
                             .lr = tutti_param_f64(params, "lr"),
                             .update = adafactor_update,
                             .update_on_device = o->kernels ? adafactor_update_on_device : NULL,
                             .reads_numbers = 1,
                             .writes_low = 1,
                             .by_weight = 1,
                             .scratch = adafactor_scratch,
                             .slot_shape = adafactor_slot_shape};
    o->rule = (adafactor_rule){.beta2_decay = tutti_param_f64(params, "beta2_decay"),
                               .eps1 = eps_at(params, 0, 1.1920928955078125e-07),
                               .eps2 = eps_at(params, 1, 0.001),
                               .d = tutti_param_f64(params, "d"),
                               .weight_decay = tutti_param_f64(params, "weight_decay")};
    *ret_self = o;
    return TUTTI_OK;
}

static tutti_status adafactor_close(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const void *adafactor_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &((const adafactor *)self)->table
                                                         : NULL;
}

static const tutti_calls adafactor_calls = {.struct_size = (uint32_t)sizeof adafactor_calls,
                                            .open = adafactor_open,
                                            .close = adafactor_close,
                                            .query = adafactor_query};
static const tutti_object adafactor_object =
    TUTTI_OBJECT_INIT("adafactor", TUTTI_KIND_OPTIMIZER, &adafactor_calls);
static const tutti_object *const objects[] = {&adafactor_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.adafactor", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
