/* bpe.h - what reading and running a byte-pair encoding share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_BPE_H
#define TOKENIZER_BPE_H

#include "tables.h"

/* The place of a pair in b->merges: its own, or the empty one where it would be. */
bpe_merge *bpe_find(const bpe *b, int32_t left, int32_t right);

#endif
