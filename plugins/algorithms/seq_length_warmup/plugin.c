/* plugin.c - seq_length_warmup: begins with short sequences and lets them grow. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../batch.h"
#include "ends.h"
#include "tutti/dataset.h"
#include "tutti/metrics.h"

enum { FIND_ENDS, CUT, KERNELS };

typedef struct warmup {
    algorithm_device device;
    const tutti_state_v1 *state;
    const tutti_metrics_v1 *metrics;
    double duration;
    int64_t min;
    int64_t max;
    int64_t step;
    int32_t truncate;
    int32_t preserve_end;
    algorithm_memory ends; /* i64 (B): of each sequence the place of its last token, or -1 */
    uint32_t kernel[KERNELS];
} warmup;

/* The manifest's kernels. */
TUTTI_EXPORT void seq_length_warmup_ends_cpu(const uint8_t *mask, int64_t *ends, int64_t length,
                                             int64_t size, int64_t n);
TUTTI_EXPORT void seq_length_warmup_cut_cpu(const uint8_t *x, uint8_t *y, const int64_t *ends,
                                            int64_t whole, int64_t length, int64_t size,
                                            int64_t n);

void seq_length_warmup_ends_cpu(const uint8_t *mask, int64_t *ends, int64_t length,
                                int64_t size, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        ends[k] = ends_find(mask + k * length * size, length, size);
}

void seq_length_warmup_cut_cpu(const uint8_t *x, uint8_t *y, const int64_t *ends, int64_t whole,
                               int64_t length, int64_t size, int64_t n)
{
    for (int64_t k = 0; k * length < n; k++) {
        const uint8_t *from = x + k * whole * size;
        uint8_t *to = y + k * length * size;
        const int64_t last = ends_source(length - 1, length, ends ? ends[k] : -1);
        memcpy(to, from, (size_t)((length - 1) * size));
        memcpy(to + (length - 1) * size, from + last * size, (size_t)size);
    }
}

static tutti_status seq_length_warmup_check(const tutti_params *params, tutti_error *err)
{
    const int64_t min = tutti_param_i64(params, "min_seq_length");
    const int64_t max = tutti_param_i64(params, "max_seq_length");
    if (max < min)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "seq_length_warmup: max_seq_length is %lld, want min_seq_length %lld or "
            "more",
            (long long)max, (long long)min);
    return TUTTI_OK;
}

static tutti_status seq_length_warmup_open(const tutti_host *host, const tutti_params *params,
                                           void **ret_self, tutti_error *err)
{
    static const char *const names[] = {"seq_length_warmup_ends", "seq_length_warmup_cut"};
    const tutti_state_v1 *state =
        algorithm_service(host, "seq_length_warmup", TUTTI_STATE_V1, err);
    const tutti_metrics_v1 *metrics =
        algorithm_service(host, "seq_length_warmup", TUTTI_METRICS_V1, err);
    if (!state || !metrics)
        return TUTTI_E_UNSUPPORTED;
    warmup *w = calloc(1, sizeof *w);
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "seq_length_warmup: no memory");
    const tutti_status status =
        batch_open(&w->device, host, "seq_length_warmup", names, KERNELS, w->kernel, err);
    if (status) {
        free(w);
        return status;
    }
    w->state = state;
    w->metrics = metrics;
    w->duration = tutti_param_f64(params, "duration");
    w->min = tutti_param_i64(params, "min_seq_length");
    w->max = tutti_param_i64(params, "max_seq_length");
    w->step = tutti_param_i64(params, "step_size");
    w->truncate = tutti_param_i64(params, "truncate") != 0;
    w->preserve_end = tutti_param_i64(params, "preserve_end_of_sequence") != 0;
    *ret_self = w;
    return TUTTI_OK;
}

static tutti_status seq_length_warmup_close(void *self, tutti_error *err)
{
    warmup *w = self;
    (void)err;
    algorithm_give(&w->device, &w->ends);
    free(w);
    return TUTTI_OK;
}

static int32_t seq_length_warmup_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_AFTER_DATALOADER;
}

/* min + step * (batch / every) up to max, so that max is reached after `duration` of the run. */
static tutti_status length_now(const warmup *w, int64_t batch, int64_t *ret_length,
                               tutti_error *err)
{
    const tutti_time *max = w->state->max_duration;
    const int64_t epoch = w->state->dataloader_len(w->state->ctx);
    if (max->unit != TUTTI_UNIT_BATCH && (max->unit != TUTTI_UNIT_EPOCH || epoch < 1))
        return tutti_fail(
            err, TUTTI_E_UNSUPPORTED,
            "seq_length_warmup: max_duration must be in batches, or in epochs of a "
            "known length");
    const int64_t total = max->unit == TUTTI_UNIT_BATCH ? max->count : max->count * epoch;
    const int64_t warm = (int64_t)((double)total * w->duration);
    const int64_t updates = (w->max - w->min) / w->step;
    const int64_t every = updates > 0 ? warm / updates : 0;
    /* fewer batches than updates: the length follows the batch's place in the warm-up */
    const int64_t done = every > 0                  ? batch / every
                         : warm > 0 && batch < warm ? batch * updates / warm
                                                    : updates;
    const int64_t length = w->min + w->step * done;
    *ret_length = batch >= warm || length > w->max ? w->max : length;
    return TUTTI_OK;
}

/* The batch's columns, all (B, T, ...) with the same B and T. */
typedef struct columns {
    tutti_desc list[TUTTI_MAX_COLUMNS];
    uint32_t count;
    uint32_t reserved;
    int64_t batch;
    int64_t length;
} columns;

static tutti_status find_columns(const warmup *w, columns *c, tutti_error *err)
{
    char name[2] = "0", text[96];
    for (c->count = 0; c->count < TUTTI_MAX_COLUMNS; c->count++, name[0]++) {
        tutti_error past = TUTTI_ERROR_INIT; /* the last column has been */
        tutti_desc *d = &c->list[c->count];
        if (batch_describe(&w->device, name, d, &past))
            break;
        if (d->rank < 2 || d->dim[0] != c->list[0].dim[0] || d->dim[1] != c->list[0].dim[1])
            return tutti_fail(
                err, TUTTI_E_SHAPE,
                "seq_length_warmup: column %s is %s, want sequences (B, T) of the "
                "length of the first column",
                name, tutti_desc_text(d, text, sizeof text));
    }
    c->batch = c->count ? c->list[0].dim[0] : 0;
    c->length = c->count ? c->list[0].dim[1] : 0;
    return TUTTI_OK;
}

/* For each sequence the place of its last token that is attended to, into w->ends. */
static tutti_status find_ends(warmup *w, const columns *c, tutti_error *err)
{
    tutti_desc d;
    tutti_tensor mask;
    tutti_status s;
    if (batch_describe(&w->device, "attention_mask", &d, NULL) || d.rank != 2)
        return tutti_fail(err, TUTTI_E_NOTFOUND,
                          "seq_length_warmup: preserve_end_of_sequence needs a column "
                          "attention_mask (B, T)");
    if ((s = batch_get(&w->device, "attention_mask", &mask, err)) ||
        (s = algorithm_take(&w->device, &w->ends, (uint64_t)c->batch * sizeof(int64_t), err)))
        return s;
    int64_t length = c->length, n = c->batch, size = (int64_t)tutti_dtype_size(d.dtype);
    return algorithm_launch(&w->device, w->kernel[FIND_ENDS], err, &mask.data, &w->ends.data,
                            &length, &size, &n);
}

/* Column k with the first `length` tokens of every sequence; where the ends say so the last of them is
 * the sequence's own last one. */
static tutti_status seq_length_warmup_shorten(warmup *w, const char *name, const tutti_desc *d,
                                              int64_t length, tutti_error *err)
{
    tutti_tensor x, y;
    tutti_desc less = *d;
    less.dim[1] = length;
    const tutti_status status = batch_renew(&w->device, name, &less, &x, &y, err);
    if (status)
        return status;
    void *ends = w->preserve_end ? w->ends.data : NULL;
    int64_t whole = d->dim[1], size = whole ? (int64_t)algorithm_row(d) / whole : 0;
    int64_t n = d->dim[0] * length;
    return n ? algorithm_launch(&w->device, w->kernel[CUT], err, &x.data, &y.data, &ends,
                                &whole, &length, &size, &n)
             : TUTTI_OK;
}

static tutti_status cut_all(warmup *w, const columns *c, int64_t length, tutti_error *err)
{
    tutti_status status = w->preserve_end ? find_ends(w, c, err) : TUTTI_OK;
    for (char name[2] = "0"; status == TUTTI_OK && name[0] < (char)('0' + c->count); name[0]++)
        status = seq_length_warmup_shorten(w, name, &c->list[name[0] - '0'], length, err);
    return status;
}

/* The batch's tokens in sequences of `length`, as many as they make. */
static tutti_status fold_all(const warmup *w, const columns *c, int64_t length,
                             tutti_error *err)
{
    const tutti_device_view_v1 *view = w->device.view;
    tutti_status status = TUTTI_OK;
    for (char name[2] = "0"; status == TUTTI_OK && name[0] < (char)('0' + c->count);
         name[0]++) {
        tutti_desc d = c->list[name[0] - '0'];
        tutti_tensor x, y;
        d.dim[0] = c->batch * c->length / length;
        d.dim[1] = length;
        status = batch_renew(&w->device, name, &d, &x, &y, err);
        if (!status)
            status = view->copy(view->ctx, y.data, x.data, tutti_nbytes(&d),
                                TUTTI_COPY_ON_DEVICE, err);
    }
    return status;
}

static tutti_status seq_length_warmup_apply(void *self, const tutti_event *event,
                                            int64_t *ret_exit_code, tutti_error *err)
{
    warmup *w = self;
    columns c = {.count = 0};
    int64_t length = 0;
    (void)ret_exit_code;
    tutti_status status = length_now(w, event->time->batch, &length, err);
    if (status || (status = find_columns(w, &c, err)))
        return status;
    int64_t batch = c.batch;
    if (length < c.length) {
        batch = w->truncate ? c.batch : c.batch * c.length / length;
        if ((status = w->truncate ? cut_all(w, &c, length, err) : fold_all(w, &c, length, err)))
            return status;
    }
    const tutti_named_value v[] = {
        {"seq_length_warmup/curr_seq_len", (double)(length < c.length ? length : c.length)},
        {"seq_length_warmup/curr_bs", (double)batch}};
    w->metrics->log(w->metrics->ctx, v, 2);
    return TUTTI_OK;
}

ALGORITHM_PLUGIN_CHECKED("seq_length_warmup", seq_length_warmup_check,
                         .open = seq_length_warmup_open, .match = seq_length_warmup_match,
                         .apply = seq_length_warmup_apply, .close = seq_length_warmup_close);
