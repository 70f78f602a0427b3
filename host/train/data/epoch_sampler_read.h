/* epoch_sampler_read.h - what samplers know of samples: weights of a file, classes, lengths. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_EPOCH_SAMPLER_READ_H
#define HOST_TRAIN_DATA_EPOCH_SAMPLER_READ_H

#include "plugin/instance.h"
#include "tutti/dataset.h"

/* A number for each sample out of its columns; -1 with a reason in `err`. */
typedef int64_t epoch_sampler_measure(const tutti_column *columns, const tutti_tensor *values,
                                      uint32_t k, tutti_error *err);
/* The whole number in column k, a class of it. */
epoch_sampler_measure epoch_sampler_class_of;
/* Of column k: its mask's ones, else its size along the first axis. */
epoch_sampler_measure epoch_sampler_length_of;

/* Reads every sample and writes number[i], info->samples of them.  Errors are those of the earliest sample that has
 * one.  [control] */
TUTTI_NODISCARD tutti_status epoch_sampler_read_samples(
    instance *dataset, const tutti_dataset_info *info, uint32_t k,
    epoch_sampler_measure *measure, uint32_t threads, int64_t *number, tutti_error *err);
/* Reads `samples` weights, none negative and one above 0, from the text file at `path`, one a line.  Errors: E_IO, E_FORMAT,
 * which names the line. */
TUTTI_NODISCARD tutti_status epoch_sampler_read_weights(const char *path, int64_t samples,
                                                        double *weight, tutti_error *err);

#endif
