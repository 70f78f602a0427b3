/* plugin.c - selective_backprop: trains on the samples of each batch that have the largest losses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include "../batch.h"
#include "order.h"
#include "scale.h"
#include "tutti/train.h"

enum { SCALE, PICK, RANK, CHOOSE, KERNELS };

typedef struct selector {
    algorithm_device device;
    const tutti_state_v1 *state;
    const tutti_train_v1 *train;
    double start;
    double end;
    double keep;
    double scale;
    int64_t interrupt;
    algorithm_buffer chosen;  /* u32 (B): 1 for the i-th smallest loss that is trained on */
    algorithm_buffer fetched; /* f32 (B): losses where a host gives them here alone */
    algorithm_memory losses;  /* the same for kernels */
    algorithm_memory
        work; /* u32 (4 B): chosen, the order of losses, their ranks, what is picked */
    algorithm_memory small; /* scaled inputs */
    uint32_t kernel[KERNELS];
} selector;

/* The manifest's kernels. */
TUTTI_EXPORT void selective_backprop_scale_cpu(const float *x, float *y, double scale,
                                               int64_t h, int64_t w, int64_t high, int64_t wide,
                                               int64_t channels, int64_t n);
TUTTI_EXPORT void selective_backprop_pick_cpu(const uint8_t *x, uint8_t *y,
                                              const uint32_t *picked, int64_t row, int64_t unit,
                                              int64_t n);

TUTTI_EXPORT void selective_backprop_rank_cpu(const float *losses, uint32_t *order,
                                              uint32_t *rank, int64_t n);
TUTTI_EXPORT void selective_backprop_choose_cpu(const uint32_t *rank, const uint32_t *chosen,
                                                uint32_t *picked, int64_t n);

void selective_backprop_scale_cpu(const float *x, float *y, double scale, int64_t h, int64_t w,
                                  int64_t high, int64_t wide, int64_t channels, int64_t n)
{
    for (int64_t row = 0; row * wide * channels < n; row++) {
        const scale_place down = scale_at(row % high, scale, h);
        const float *image = x + row / high * h * w * channels;
        for (int64_t column = 0; column < wide; column++) {
            const scale_place across = scale_at(column, scale, w);
            for (int64_t c = 0; c < channels; c++)
                *y++ = scale_value(image, w, channels, c, down, across);
        }
    }
}

void selective_backprop_pick_cpu(const uint8_t *x, uint8_t *y, const uint32_t *picked,
                                 int64_t row, int64_t unit, int64_t n)
{
    batch_pick(x, y, picked, row, unit, n);
}

static int by_loss(const void *a, const void *b, void *losses)
{
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const float *x = losses;
    return order_before(x[i], i, x[j], j) ? -1 : i != j;
}

void selective_backprop_rank_cpu(const float *losses, uint32_t *order, uint32_t *rank,
                                 int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        order[k] = (uint32_t)k;
    qsort_r(order, (size_t)n, sizeof *order, by_loss, (void *)(uintptr_t)losses);
    for (int64_t k = 0; k < n; k++)
        rank[order[k]] = (uint32_t)k;
}

void selective_backprop_choose_cpu(const uint32_t *rank, const uint32_t *chosen,
                                   uint32_t *picked, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (chosen[rank[k]])
            *picked++ = (uint32_t)k;
}

static tutti_status selective_backprop_check(const tutti_params *params, tutti_error *err)
{
    const double start = tutti_param_f64(params, "start"), end = tutti_param_f64(params, "end");
    if (start >= end)
        return tutti_fail(err, TUTTI_E_ARG,
                          "selective_backprop: start is %g and end is %g, want start below end",
                          start, end);
    return TUTTI_OK;
}

static tutti_status selective_backprop_open(const tutti_host *host, const tutti_params *params,
                                            void **ret_self, tutti_error *err)
{
    static const char *const names[] = {"selective_backprop_scale", "selective_backprop_pick",
                                        "selective_backprop_rank", "selective_backprop_choose"};
    const tutti_state_v1 *state =
        algorithm_service(host, "selective_backprop", TUTTI_STATE_V1, err);
    const tutti_train_v1 *train =
        algorithm_service(host, "selective_backprop", TUTTI_TRAIN_V1, err);
    if (!state || !train)
        return TUTTI_E_UNSUPPORTED;
    selector *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "selective_backprop: no memory");
    const tutti_status status =
        batch_open(&s->device, host, "selective_backprop", names, KERNELS, s->kernel, err);
    if (status) {
        free(s);
        return status;
    }
    batch_keys(&s->device, params);
    s->state = state;
    s->train = train;
    s->start = tutti_param_f64(params, "start");
    s->end = tutti_param_f64(params, "end");
    s->keep = tutti_param_f64(params, "keep");
    s->scale = tutti_param_f64(params, "scale_factor");
    s->interrupt = tutti_param_i64(params, "interrupt");
    *ret_self = s;
    return TUTTI_OK;
}

static tutti_status selective_backprop_close(void *self, tutti_error *err)
{
    selector *s = self;
    (void)err;
    free(s->chosen.data);
    free(s->fetched.data);
    algorithm_give(&s->device, &s->losses);
    algorithm_give(&s->device, &s->work);
    algorithm_give(&s->device, &s->small);
    free(s);
    return TUTTI_OK;
}

static int32_t selective_backprop_match(void *self, const tutti_event *event)
{
    const selector *s = self;
    const double elapsed = s->state->elapsed(s->state->ctx);
    if (event->id != TUTTI_EVENT_AFTER_DATALOADER || s->keep >= 1.0 || elapsed < s->start ||
        elapsed >= s->end)
        return 0;
    return s->interrupt == 0 || (event->time->batch_in_epoch + 1) % s->interrupt != 0;
}

static tutti_status selective_backprop_shrink(selector *s, tutti_tensor *x, tutti_error *err)
{
    char text[96];
    tutti_tensor small = *x;
    if (s->scale >= 1.0)
        return TUTTI_OK;
    if (x->desc.dtype != TUTTI_F32 || x->desc.rank != 4)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "selective_backprop: the input is %s, want F32 (B, H, W, C) to scale",
                          tutti_desc_text(&x->desc, text, sizeof text));
    int64_t h = x->desc.dim[1], w = x->desc.dim[2], channels = x->desc.dim[3];
    int64_t high = select_size(h, s->scale), wide = select_size(w, s->scale);
    small.desc.dim[1] = high;
    small.desc.dim[2] = wide;
    tutti_status status = algorithm_take(&s->device, &s->small, tutti_nbytes(&small.desc), err);
    if (status)
        return status;
    small.data = s->small.data;
    int64_t n = tutti_numel(&small.desc);
    status = algorithm_launch(&s->device, s->kernel[SCALE], err, &x->data, &small.data,
                              &s->scale, &h, &w, &high, &wide, &channels, &n);
    *x = small;
    return status;
}

/* The batch column `name` becomes the picked rows of itself. */
static tutti_status keep_rows(selector *s, const char *name, const tutti_desc *column,
                              const uint32_t *picked, int64_t count, tutti_error *err)
{
    tutti_tensor x, y;
    tutti_desc kept = *column;
    kept.dim[0] = count;
    const tutti_status status = batch_renew(&s->device, name, &kept, &x, &y, err);
    return status
               ? status
               : batch_launch_pick(&s->device, s->kernel[PICK], &x, y.data, picked, count, err);
}

static tutti_status keep_all(selector *s, int64_t samples, const uint32_t *picked,
                             int64_t count, tutti_error *err)
{
    for (char name[2] = "0"; name[0] <= '9'; name[0]++) {
        tutti_error past = TUTTI_ERROR_INIT; /* the last column has been */
        tutti_desc column;
        if (batch_describe(&s->device, name, &column, &past))
            return TUTTI_OK;
        if (column.rank < 1 || column.dim[0] != samples)
            continue;
        const tutti_status status = keep_rows(s, name, &column, picked, count, err);
        if (status)
            return status;
    }
    return TUTTI_OK;
}

/* One loss a sample, for kernels. */
static tutti_status find_losses(selector *s, const tutti_tensor *input,
                                const tutti_tensor *target, int64_t samples,
                                const float **ret_losses, tutti_error *err)
{
    const tutti_train_v1 *train = s->train;
    const uint64_t bytes = (uint64_t)samples * sizeof(float);
    tutti_tensor there;
    tutti_status status;
    if (s->device.view->device != TUTTI_DEVICE_CPU &&
        TUTTI_HAS(train, tutti_train_v1, sample_losses_there)) {
        status = train->sample_losses_there(train->ctx, input, 1, target, 1, &there, err);
        if (!status)
            *ret_losses = there.data;
        return status;
    }
    if ((status = algorithm_reserve(&s->fetched, bytes, "selective_backprop", err)) ||
        (status =
             train->sample_losses(train->ctx, input, 1, target, 1, s->fetched.data, err)) ||
        (status = batch_send(&s->device, &s->losses, s->fetched.data, bytes, err)))
        return status;
    *ret_losses = s->losses.data;
    return TUTTI_OK;
}

/* Which places among the sorted losses are trained on is drawn here; whose they are is found where the
 * losses are, and nobody waits for it. */
static tutti_status selective_backprop_pick(selector *s, uint64_t step, const float *losses,
                                            int64_t samples, int64_t count,
                                            const uint32_t **ret_picked, tutti_error *err)
{
    const uint64_t bytes = (uint64_t)samples * sizeof(uint32_t);
    tutti_stream r = algorithm_stream(s->state, "selective_backprop", step);
    tutti_status status = algorithm_reserve(&s->chosen, bytes, "selective_backprop", err);
    if (status || (status = select_ranks(&r, samples, s->keep, s->chosen.data, count, err)) ||
        (status = algorithm_take(&s->device, &s->work, 4 * bytes, err)))
        return status;
    uint32_t *chosen = s->work.data, *order = chosen + samples, *rank = order + samples;
    uint32_t *picked = rank + samples;
    const tutti_device_view_v1 *v = s->device.view;
    if ((status = v->copy(v->ctx, chosen, s->chosen.data, bytes, TUTTI_COPY_TO_DEVICE, err)) ||
        (status = algorithm_launch(&s->device, s->kernel[RANK], err, &losses, &order, &rank,
                                   &samples)) ||
        (status = algorithm_launch(&s->device, s->kernel[CHOOSE], err, &rank, &chosen, &picked,
                                   &samples)))
        return status;
    *ret_picked = picked;
    return TUTTI_OK;
}

static tutti_status selective_backprop_apply(void *self, const tutti_event *event,
                                             int64_t *ret_exit_code, tutti_error *err)
{
    selector *s = self;
    (void)ret_exit_code;
    tutti_tensor input, target;
    const float *losses = NULL;
    const uint32_t *picked = NULL;
    tutti_status status = batch_get(&s->device, s->device.input, &input, err);
    if (status || (status = batch_get(&s->device, s->device.target, &target, err)))
        return status;
    const int64_t samples = input.desc.rank > 0 ? input.desc.dim[0] : 0;
    const int64_t count = select_count(samples, s->keep);
    if (samples > UINT32_MAX)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "selective_backprop: a batch of %lld samples is too large",
                          (long long)samples);
    if (count >= samples)
        return TUTTI_OK;
    if ((status = selective_backprop_shrink(s, &input, err)) ||
        (status = find_losses(s, &input, &target, samples, &losses, err)) ||
        (status =
             selective_backprop_pick(s, event->step, losses, samples, count, &picked, err)))
        return status;
    return keep_all(s, samples, picked, count, err);
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = selective_backprop_open,
                                  .match = selective_backprop_match,
                                  .apply = selective_backprop_apply,
                                  .close = selective_backprop_close};
static const tutti_object object = TUTTI_OBJECT_INIT_CHECKED(
    "selective_backprop", TUTTI_KIND_ALGORITHM, &calls, selective_backprop_check);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.selective_backprop", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
