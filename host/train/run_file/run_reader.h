/* run_reader.h - the sections of a run file, each read by a file of its own; for these files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RUN_FILE_RUN_READER_H
#define HOST_TRAIN_RUN_FILE_RUN_READER_H

#include "base/json_members.h"
#include "train/run_file/run_file.h"

/* Everything wrong goes to `faults`; what cannot be read stays zeros. */
typedef struct run_reader {
    registry *registry;
    const char *folder; /* that relative paths count from */
    faults *faults;
    run_file *run; /* read so far */
} run_reader;

/* ---- run_parts.c: objects that the file names ---- */

/* "name", "id" and settings of an object of `kind`; `skip` are the keys that are no settings,
 * NULL-terminated: NULL means name and id. */
void run_read_part(run_reader *r, const json_node *at, const char *kind,
                   const char *const *skip, run_part *ret_part);
/* The same, where a name alone will do; `at` is a string or an object. */
void run_read_name_or_part(run_reader *r, const json_node *at, const char *kind,
                           run_part *ret_part);
/* The array of them at `key` of `at`; may be absent. */
void run_read_parts(run_reader *r, const json_node *at, const char *key, const char *kind,
                    run_parts *ret_parts);
bool run_has_tag(const object *o, const char *tag);
/* The tag of an object that never looks at the outputs of a training step. */
#define RUN_IGNORES_OUTPUTS "ignores:outputs"
void run_part_fini(run_part *part);
void run_parts_fini(run_parts *parts);

/* ---- run_data.c, run_optimizer.c, run_algorithms.c ---- */

/* "train", "data" and "eval". */
void run_read_data(run_reader *r, const json_node *root);
void run_data_fini(run_file *run);
/* "shuffle" of data whose other members are read, run_shuffle.c; lanes are for those that `trains`. */
void run_read_shuffle(run_reader *r, const json_node *at, bool trains, run_data *ret_data);
/* "sampler" of training data, run_sampler.c. */
void run_read_sampler(run_reader *r, const json_node *at, run_sampler *ret_sampler);
/* "optimizer" with its "groups". */
void run_read_optimizer(run_reader *r, const json_node *root);
void run_optimizer_fini(run_file *run);
/* "algorithms", after model and data: some of its entries are transforms, or take the model's place. */
void run_read_algorithms(run_reader *r, const json_node *root);

/* ---- run_conflicts.c ---- */

/* Objects that cannot be used together, after all of them are read. */
void run_check_conflicts(run_reader *r, const json_node *root);
/* run_width.c: events that more hear than an engine takes. */
void run_check_width(run_reader *r, const json_node *root);

/* ---- run_device.c, run_distributed.c, run_observers.c ---- */

void run_read_device(run_reader *r, const json_node *root);
/* "distributed". */
void run_read_distributed(run_reader *r, const json_node *root);
/* Handlers, traces and the profiler. */
void run_read_observers(run_reader *r, const json_node *root);
void run_observers_fini(run_file *run);

/* ---- run_checkpoints.c: what is taken from files, and which signals save ---- */

void run_read_checkpoints(run_reader *r, const json_node *root);
void run_checkpoints_fini(run_checkpoints *c);

/* ---- run_duration.c: how long a training run lasts ---- */

extern const json_member
    run_training_rows[]; /* keys of training runs alone; the target is a run_file */
void run_check_duration(run_reader *r, const json_node *root);

/* ---- run_loop.c: what an engine file has instead ---- */

extern const json_member
    run_loop_rows[]; /* keys of engine files alone; the target is a run_file */
/* After everything else is read. */
void run_read_loop(run_reader *r, const json_node *root);
void run_loop_fini(run_file *run);
/* When an evaluation of a loop runs: "on" and its filters, "epoch_completed" without. */
void run_read_on(run_reader *r, const json_node *at, run_data *eval);

#endif
