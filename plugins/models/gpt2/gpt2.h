/* gpt2.h - what the model and its blocks share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_GPT2_H
#define PLUGIN_GPT2_H

/* The model goes on with sequences where the host can; an older one does without. */
#define TUTTI_USE_MINOR 1
#define TUTTI_MIN_MINOR 0
#include "../tokens.h"

/* Of `linear`'s enum init and gelu's enum approximate. */
enum { GPT2_INIT_NORMAL = 2, GPT2_GELU_TANH = 1 };

extern const tutti_object gpt2_block;

#endif
