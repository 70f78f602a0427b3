/* answers.h - what a language model adds to the prompts of an evaluation's batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_GENERATE_ANSWERS_H
#define HOST_TRAIN_GENERATE_ANSWERS_H

#include "train/run_file/run_file.h"

typedef struct trainer trainer; /* step/trainer_state.h */
typedef struct answers answers; /* opaque */

/* Columns of data with prompts: tokens (P), and (S) or (R, S); what is below 0 is no token. */
#define ANSWERS_PROMPT "prompt"
#define ANSWERS_REFERENCES "references"

/* Goes on from each prompt of the batch that is loaded, the first of the likeliest tokens at a time.  The tokens, I32
 * (B, max_new_tokens) with -1 behind an answer, are then the state's only output; there is no loss.  *kept, NULL at first, is
 * made by the first call and used by the others; the caller frees it, the tokens with it.  Errors: E_UNSUPPORTED
 * the data have no such columns, the model is no causal language model, or `stop` is set and tokens have no texts;
 * E_RANGE a prompt is empty; E_NUMERIC; E_INTERRUPTED; those of a plan.  [step] */
TUTTI_NODISCARD tutti_status answers_batch(trainer *t, answers **kept, const run_data *spec,
                                           tutti_error *err);
void answers_free(answers *a); /* NULL is allowed */

#endif
