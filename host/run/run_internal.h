/* run_internal.h - the parts of a loop's run, as the files of this folder see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_RUN_RUN_INTERNAL_H
#define HOST_RUN_RUN_INTERNAL_H

#include "base/json.h"
#include "base/text.h"
#include "loop/loop_place.h"
#include "run/run.h"
#include "train/trainer/training_loop.h"
#include "tutti/loop.h"

/* What a function can ask of the loop. */
enum { RUN_TERMINATE, RUN_TERMINATE_EPOCH, RUN_INTERRUPT, RUN_REQUESTS };

/* Of a run over ranks, agree.c. */
typedef struct run_ranks {
    int32_t count; /* 0: a run without "distributed" */
    int32_t asked
        [RUN_REQUESTS]; /* here, since the ranks have agreed last: 1, or 2 to skip the end's event */
    bool raised;        /* exception_raised was heard */
    int64_t data;       /* which data a function has set, as a hash; 0: none */
} run_ranks;

/* What functions have made of the loop, for its checkpoints. */
typedef struct run_kept {
    int32_t requests[RUN_REQUESTS]; /* that hold: 1, or 2 to skip the end's event */
    bool limits;                    /* max_epochs or max_iters is a function's */
    bool length;                    /* epoch_length is */
    char *data;                     /* the label that set_data was given; NULL: none */
    bool older; /* the checkpoint does not say where it stands in its epochs */
} run_kept;

struct loop_run {
    run_file *run;
    trainer *trainer;
    engine *engine; /* the trainer's */
    registry *registry;
    tutti_loop *loop;
    tutti_loop_data data; /* the trainer's, if it has any */
    int64_t pass;         /* over the data, from 0; -1 before the first */
    int64_t place;        /* batches of this pass that have been fetched */
    bool fetched;         /* the last one has not been processed, and its epoch goes on */
    bool ended;           /* it gives no more, until it begins anew */
    bool placed;          /* a checkpoint has said both: the next restart goes there */
    bool found;           /* and it has: a deterministic loop seeks no other place */
    bool taken_up;        /* a checkpoint was loaded, and no event has been heard since */
    bool
        behind; /* functions hear the last event of the process before: an epoch that they cut has ended by then */
    bool asked; /* this checkpoint, or the loaded one, is of a run that was stopped */
    training_batch batch; /* under way */
    double output;
    bool processing; /* the process function runs and has made no training step */
    char *dict;      /* the latest that was asked for */
    char *pending;   /* a state that the run goes on from once it has left off */
    const tutti_loop_firing *firing; /* under way, for tutti.loop/1; or NULL */
    int64_t counted;                 /* what filters of a Composer event count */
    tutti_loop_v1 service;
    run_ranks ranks;
    run_kept kept;
};

/* ---- loop_events.c: the loop's events, heard in the engine ---- */

TUTTI_NODISCARD tutti_status run_join_events(loop_run *l, tutti_error *err);
/* Whether the checkpoint that was loaded was written behind an epoch's last batch, or that of an epoch which a function
 * has cut, before the epoch ended: who hears its end hears it behind started. */
bool run_owes_epoch_end(const loop_run *l);

/* ---- limits.c: of the file, and what functions have made of them ---- */

/* What a run of this loop is given: the file's, but where a function's goes on from a checkpoint. */
tutti_loop_run_args run_limits(const loop_run *l);
/* Whether a run that is taken up has reached its limit; and epochs that have passed, with one whose end is owed. */
bool run_has_reached(const loop_run *l);
int64_t run_epochs(const loop_run *l);
/* In a checkpoint: what the file said where a function said otherwise.  The loop's state has been loaded before. */
void run_save_limits(const loop_run *l, text_buffer *b);
void run_take_limits(loop_run *l, const json_node *limits);

/* ---- agree.c: what one rank's functions ask of the loop ---- */

/* Holds for this loop behind the event under way; over ranks for all of them, behind the next event at which they agree. */
void run_request(loop_run *l, int request, bool skip);
/* Holds at once, which all ranks do. */
void run_ask(loop_run *l, int request, bool skip);
/* Behind event `event`: where ranks agree there, the requests of all hold.  Errors: E_STATE the ranks' loops differ, which
 * all find; those of training_exchange. */
TUTTI_NODISCARD tutti_status run_agree(loop_run *l, int32_t event, tutti_error *err);

/* ---- data.c ---- */

void run_fill_data(loop_run *l);
/* The next restart of the data is of those.  E_NOTFOUND.  [step] */
TUTTI_NODISCARD tutti_status run_use_data(loop_run *l, const char *label, tutti_error *err);

/* ---- service.c: tutti.loop/1 ---- */

void run_fill_service(loop_run *l);

/* ---- resume.c: what a checkpoint keeps of the loop ---- */

void run_join_checkpoints(loop_run *l);
/* Once a checkpoint has been loaded, and the trainer's clock with it: the place in its epochs that an older one implies. */
void run_place_older(loop_run *l);
/* Whether `json` is the state of a loop like this one.  Errors: E_FORMAT, E_ARG. */
TUTTI_NODISCARD tutti_status run_check_dict(const loop_run *l, const char *json,
                                            tutti_error *err);

#endif
