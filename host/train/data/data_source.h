/* data_source.h - the data of a run: the objects that it names, and batches from wherever they are made. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_DATA_SOURCE_H
#define HOST_TRAIN_DATA_DATA_SOURCE_H

#include "engine/training_time.h"
#include "train/context/batch.h"
#include "train/data/device_dataset.h"
#include "train/data/loader.h"
#include "train/data/metric_set.h"

typedef struct data_source {
    const run_data *spec;
    instance *dataset;
    instance **transforms;
    loader *loader;
    device_dataset
        *on_device; /* makes the batches on the run's device; NULL: the loader does, here */
    metric_set metrics;
    int64_t at_a_time;  /* samples of an evaluation's part; 0: the whole batch */
    tutti_interval due; /* of an evaluation */
    char not_resident
        [640]; /* why samples are not kept though they might be; "": nothing to say */
} data_source;

/* [control] */
TUTTI_NODISCARD tutti_status source_open(data_source *s, run_context *run, run_data *spec,
                                         tutti_error *err);
void source_close(data_source *s);
/* Once loggers are ready. */
void source_announce(const data_source *s, run_log *l);
/* Whether samples are sequences of tokens: the column "input" holds whole numbers in a row. */
bool source_has_tokens(const data_source *s);
/* Tokens of a sample; 0 where samples are no sequences. */
int64_t source_tokens(const data_source *s);
/* Samples of one pass; 0 where there are no data. */
int64_t source_samples(const data_source *s);
/* Batches of one pass; -1: there are no data. */
int64_t source_batches(const data_source *s);
/* Whether epochs of these training data can be counted: iterations of tokens begin the data anew, and where each ends inside
 * an epoch no epoch ever does.  E_ARG.  [control] */
TUTTI_NODISCARD tutti_status source_check_epochs(const data_source *s, const run_context *run,
                                                 tutti_error *err);
/* As the loader's; `b` is loaded unless *ret_samples is 0.  [step] */
TUTTI_NODISCARD tutti_status source_seek(data_source *s, int64_t epoch, int64_t number,
                                         tutti_error *err);
TUTTI_NODISCARD tutti_status source_next(data_source *s, host_mirrors *mirrors, batch *b,
                                         int64_t *ret_samples, tutti_error *err);

#endif
