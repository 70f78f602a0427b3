/* predictions.h - outputs of a round of batches, one a rank, which rank 0 gives on in the batches' order. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_PREDICTIONS_H
#define HOST_TRAIN_TRAINER_PREDICTIONS_H

#include "train/ranks/distributed.h"
#include "train/trainer/trainer.h"

/* All ranks go through all batches, of which they compute one each in turn. */
typedef struct predictions {
    distributed *distributed;
    trainer_sink sink;
    void *ctx;
    tutti_desc desc; /* of this rank's batch; bytes 0: it has none yet */
    uint64_t bytes, capacity;
    void *data;
    int64_t heard;       /* batches so far, of all ranks */
    tutti_status failed; /* of the sink; the next round's agreement tells the others */
    tutti_error why;
} predictions;

/* This rank's outputs of its batch; without "distributed" they go to the sink at once.  [step] */
TUTTI_NODISCARD tutti_status predictions_add(predictions *p, const tutti_tensor *outputs,
                                             tutti_error *err);
/* Behind each batch, whoever computed it, and once more (`end`) behind the last, with the status so far: a failure of any
 * rank is that of all.  [step] */
TUTTI_NODISCARD tutti_status predictions_next(predictions *p, bool end, tutti_status status,
                                              tutti_error *err);

#endif
