/* device_scalars.h - the numbers of a step where a device keeps them: loss scale, rates, gradients' factor. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_DEVICE_SCALARS_H
#define HOST_TRAIN_UPDATE_DEVICE_SCALARS_H

#include "train/context/host_mirror.h"
#include "tutti/optimizer.h"

struct loss_scaler;
struct updater;

enum {
    SCALARS_UNSCALE,
    SCALARS_SCALE_BY,
    SCALARS_LOSS_SCALE,
    SCALARS_NEXT_UPDATE,
    SCALARS_OPS
};

typedef struct scalar_op {
    const tutti_kernel *kernel;
    void *state;
    tutti_op_call call;
    tutti_desc in[2];
    tutti_desc out[3];
} scalar_op;

typedef struct device_scalars {
    run_context *run;
    host_mirrors *mirrors;
    struct loss_scaler *loss_scaler; /* the host's copy of the scale */
    struct updater *updater;         /* groups and the count of updates */
    const tutti_device *device;
    double *scaler;  /* TUTTI_SCALER_NUMBERS; the block begins here */
    double *numbers; /* TUTTI_UPDATE_NUMBERS a group */
    double *rates;   /* one a group */
    double *weight;  /* of the microbatch's loss */
    float *factor;   /* of gradients */
    double *sent;    /* on the host: rates that are there */
    double weight_now;
    scalar_op ops[SCALARS_OPS];
    const void *asker; /* who writes the factor in the event under way, while `asked` */
    bool tried;
    bool on;      /* the device keeps them; else the host does, and waits where it must */
    bool settled; /* the device has what the host had */
    bool asked;
    bool pending; /* the gradients are not multiplied yet */
    bool counted; /* the step has had its next_update */
} device_scalars;

/* Where the run's device has memory of its own: takes it there; `on` says whether it can be used.
 * [control] */
TUTTI_NODISCARD tutti_status scalars_open(device_scalars *s, tutti_error *err);
void scalars_fini(device_scalars *s);

/* All others are for `on`, [step]; none waits but scalars_fetch.
 * Before an update: the rates are there, and the update will multiply by the factor. */
TUTTI_NODISCARD tutti_status scalars_prepare(device_scalars *s, tutti_error *err);
/* *scale, on the device, becomes the loss scale for a microbatch of this weight. */
TUTTI_NODISCARD tutti_status scalars_loss_scale(device_scalars *s, double weight, float *scale,
                                                tutti_error *err);
/* The loss scale is taken back from the gradients, and what is found in them noted. */
TUTTI_NODISCARD tutti_status scalars_unscale(device_scalars *s, tutti_error *err);
/* Nothing has been found so far. */
TUTTI_NODISCARD tutti_status scalars_forget(device_scalars *s, tutti_error *err);
/* The numbers of an update; 0 groups: the step ends without one. */
TUTTI_NODISCARD tutti_status scalars_next_update(device_scalars *s, size_t ngroups,
                                                 tutti_error *err);
/* The host's loss scale and count of updates become the device's; ret_scaler may be NULL. */
TUTTI_NODISCARD tutti_status scalars_fetch(device_scalars *s, double *ret_scaler,
                                           tutti_error *err);

/* Where a plugin writes the gradients' factor; NULL: they are scaled where they are. */
float *scalars_ask_factor(device_scalars *s);
void scalars_end_event(device_scalars *s);
/* The gradients become what the factor makes of them, before anyone reads them. */
TUTTI_NODISCARD tutti_status scalars_apply_factor(device_scalars *s, tutti_error *err);

#endif
