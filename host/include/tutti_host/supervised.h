/* supervised.h - loops that train or evaluate a model: Ignite's create_supervised_trainer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HOST_SUPERVISED_H
#define TUTTI_HOST_SUPERVISED_H

#include "tutti/metric.h"
#include "tutti_host/device.h"
#include "tutti_host/loop.h"

TUTTI_C_BEGIN
#pragma GCC visibility push(default)

typedef struct tutti_supervised tutti_supervised; /* opaque */

enum { TUTTI_PRECISION_F32, TUTTI_PRECISION_BF16, TUTTI_PRECISION_F16 };

/* The model, its loss and its optimizer, on whatever device they live; borrowed.  An evaluator needs
 * set_training and forward alone.  [step] */
typedef struct tutti_supervised_model {
    void *ctx;
    tutti_status (*set_training)(void *ctx, int training, tutti_error *err);
    tutti_status (*forward)(void *ctx, void *x, int32_t precision, void **ret_y_pred,
                            tutti_error *err);
    tutti_status (*loss)(void *ctx, void *y_pred, void *y, double *ret_loss, tutti_error *err);
    tutti_status (*zero_grad)(void *ctx, tutti_error *err);
    /* Adds `scale` times the gradients of the latest loss to those kept. */
    tutti_status (*backward)(void *ctx, double scale, tutti_error *err);
    /* Multiplies the gradients kept; *ret_finite: none is NaN or infinite.  With a loss scale. */
    tutti_status (*scale_gradients)(void *ctx, double factor, int *ret_finite,
                                    tutti_error *err);
    tutti_status (*step)(void *ctx, tutti_error *err); /* the optimizer's */
    /* Waits for the device: the accelerator step does so after each update, unless the options name
     * a device. */
    tutti_status (*synchronise)(void *ctx, tutti_error *err);
    /* The latest loss, of a model whose `loss` leaves it on the device and *ret_loss alone: asked
     * once the whole step is on its way.  NULL: `loss` gives it. */
    tutti_status (*read_loss)(void *ctx, double *ret_loss, tutti_error *err);
} tutti_supervised_model;

/* A metric of an evaluator, under a name of the loop's metrics: reset when an epoch starts, updated
 * with every output, computed when the epoch is completed.  Outputs are pairs y_pred and y of
 * const tutti_tensor *, void *[2]; a device's are copied to the host. */
typedef struct tutti_supervised_metric {
    const char *name;
    const tutti_metric_v1 *table;
    void *self;
} tutti_supervised_metric;

enum {
    TUTTI_STEP_PLAIN,
    TUTTI_STEP_AMP,        /* the forward pass in `precision`, a scaler if asked for */
    TUTTI_STEP_APEX,       /* the same with a loss scale always: static, or 0 for dynamic */
    TUTTI_STEP_ACCELERATOR /* the device's step after each update; plain on a device that gathers its
                              work is this as well */
};

typedef struct tutti_supervised_options {
    uint32_t struct_size;
    int32_t step;          /* TUTTI_STEP_* */
    int32_t precision;     /* of amp and apex: TUTTI_PRECISION_* */
    int32_t scaler;        /* amp: a dynamic loss scale, in the state's attribute "scaler" */
    double loss_scale;     /* apex: static; 0: dynamic */
    int64_t accumulation;  /* batches to an update */
    int32_t deterministic; /* as the loop's */
    int32_t reserved;
    void *ctx; /* of the functions below, each of which may be NULL */
    /* Default: a batch is a pair of pointers, void *[2]; with a device, of const tutti_tensor *, and x
     * and y are tensors that it can reach. */
    tutti_status (*prepare_batch)(void *ctx, void *batch, void **ret_x, void **ret_y,
                                  tutti_error *err);
    tutti_status (*model_transform)(void *ctx, void *output, void **ret_y_pred,
                                    tutti_error *err);
    /* What the state's output is.  Default: of a trainer the loss, a double; of an evaluator (whose
     * `loss` is NaN) y_pred and y, void *[2]; both live until the next batch. */
    tutti_status (*output_transform)(void *ctx, void *x, void *y, void *y_pred, double loss,
                                     void **ret_output, tutti_error *err);
    /* Default: the model's forward. */
    tutti_status (*model_fn)(void *ctx, const tutti_supervised_model *model, void *x,
                             int32_t precision, void **ret_output, tutti_error *err);
    const tutti_device
        *device;          /* where the model lives; borrowed; NULL: the program's affair */
    int32_t non_blocking; /* batches must then stay until the device has been synchronised */
    uint32_t nmetrics;    /* of an evaluator */
    const tutti_supervised_metric *metrics; /* copied; what they point to is borrowed */
} tutti_supervised_options;

#define TUTTI_SUPERVISED_INIT                                                                  \
    {                                                                                          \
        (uint32_t)sizeof(tutti_supervised_options), 0, 0, 0, 0.0, 1, 0, 0, NULL, NULL, NULL,   \
            NULL, NULL, NULL, 0, 0, NULL                                                       \
    }

/* A trainer: zero_grad at the first batch of a group of `accumulation`, forward, loss, backward, and
 * at the last one the update; groups go by the iteration, over epochs.  An update whose gradients
 * are not finite under a dynamic scale is left out and the scale halved; after 2000 good ones it
 * doubles.  [control]
 * Errors: E_ARG accumulation below 1, a scaler without amp, amp or apex on a device that gathers its
 * work, metrics, a call of the model that is missing. */
TUTTI_NODISCARD tutti_status tutti_supervised_trainer(const tutti_supervised_model *model,
                                                      const tutti_supervised_options *options,
                                                      tutti_supervised **ret_supervised,
                                                      tutti_error *err);
/* An evaluator: no gradients, the model in evaluation mode; apex and accelerator are plain. */
TUTTI_NODISCARD tutti_status tutti_supervised_evaluator(const tutti_supervised_model *model,
                                                        const tutti_supervised_options *options,
                                                        tutti_supervised **ret_supervised,
                                                        tutti_error *err);
tutti_loop *tutti_supervised_loop(tutti_supervised *s); /* lives as long as `s` */
/* The loss scale in force; 1 without one. */
double tutti_supervised_scale(const tutti_supervised *s);
/* For a prepare_batch of the program's own: *ret_tensor is `t` where the device can reach it, and else
 * its copy on the device, which keeps its place until the next move to this slot.  E_RANGE: no such
 * slot.  [step] */
enum { TUTTI_SUPERVISED_SLOTS = 8 };
TUTTI_NODISCARD tutti_status tutti_supervised_move(tutti_supervised *s, uint32_t slot,
                                                   const tutti_tensor *t,
                                                   const tutti_tensor **ret_tensor,
                                                   tutti_error *err);
void tutti_supervised_destroy(tutti_supervised *s); /* NULL is allowed */

#pragma GCC visibility pop
TUTTI_C_END
#endif
