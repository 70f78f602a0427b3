/* event.h - the records of TensorBoard's event files: Event messages of protobuf in TFRecord frames. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORBOARD_EVENT_H
#define TENSORBOARD_EVENT_H

#include "histogram.h"
#include "tutti/logger.h"
#include "wire.h"

/* Each adds one whole record.  `time` is in Unix seconds, `step` the batch. */

/* What every file begins with. */
void event_file_version(bytes *to, double time);
/* The run goes on (or begins) at `step`: readers forget what files have from there on. */
void event_start(bytes *to, double time, int64_t step);
/* Names with `prefix` before them. */
void event_scalars(bytes *to, double time, int64_t step, const char *prefix,
                   const tutti_named_value *values, uint32_t n);
/* An image, as a PNG file of `size` bytes; colourspace is its number of channels. */
typedef struct event_image {
    const void *png;
    size_t size;
    int64_t height, width;
    int32_t colourspace;
} event_image;
void event_picture(bytes *to, double time, int64_t step, const char *tag,
                   const event_image *image);
void event_histogram(bytes *to, double time, int64_t step, const char *tag, const histogram *h);
/* A GraphDef. */
void event_graph(bytes *to, double time, const bytes *def);
void event_text(bytes *to, double time, int64_t step, const char *tag, const char *text);
/* For the plugin HParams: what the run was given, and what it is judged by: the tags "hparams/<name>".  Texts of
 * hyperparameters are JSON values. */
void event_hparams(bytes *to, double time, const char *run_name, const tutti_named_text *values,
                   uint32_t n, const char *const *metrics, uint32_t nmetrics);
/* The session has ended. */
void event_hparams_end(bytes *to, double time);

#endif
