/* decoder.h - a language model of a trainer that goes on from tokens, one after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_GENERATE_DECODER_H
#define HOST_TRAIN_GENERATE_DECODER_H

#include "tutti/vocabulary.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */

typedef struct decoder decoder; /* opaque */

/* Whether the data and the model of `t`, which need not have begun, are of rows of tokens: E_UNSUPPORTED they are
 * not. */
TUTTI_NODISCARD tutti_status decoder_check(const trainer *t, tutti_error *err);

/* Of `t`, which has begun (trainer_begin) and outlives the decoder.  Without `cached`, and where the model cannot go on
 * from where it was, each token is computed from all before it.
 * Errors: E_UNSUPPORTED the model is no causal language model; those of a plan.  [control], or between batches */
TUTTI_NODISCARD tutti_status decoder_create(trainer *t, bool cached, decoder **ret_decoder,
                                            tutti_error *err);
void decoder_destroy(decoder *d); /* NULL is allowed */

/* Why the cache is not used although it was asked for; NULL: it is. */
const char *decoder_complaint(const decoder *d);
int64_t decoder_context(const decoder *d); /* the most tokens that the model sees */
int64_t decoder_classes(const decoder *d); /* logits of a token */
/* What the training data's tokens stand for, with its *ret_self; NULL: they do not say. */
const tutti_vocabulary_v1 *decoder_vocabulary(const decoder *d, void **ret_self);

/* From now on ranks tell each other of signals, until one of them is through.  All ranks call it, and do nothing else together
 * before decoder_destroy.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status decoder_listen(decoder *d, tutti_error *err);
/* The signal that ends a text under way, of this process or, behind decoder_listen, of any rank, which this one then accepts;
 * 0: none.  [control] */
int decoder_signal(decoder *d);
/* The next tokens begin another text. */
void decoder_restart(decoder *d);
/* Takes `n` more tokens, 1 or more, and gives the logits (decoder_classes) of the one after them, borrowed until
 * the next call.  Where they would be more than the context, the older half of it is forgotten, and the rest
 * computed anew.  Errors: E_RANGE a token that the model does not have; those of a plan.  [control] */
TUTTI_NODISCARD tutti_status decoder_feed(decoder *d, const int32_t *tokens, int64_t n,
                                          const float **ret_logits, tutti_error *err);
/* How often that has happened. */
int64_t decoder_shifts(const decoder *d);

#endif
