/* piece.h - the pieces into which GPT-2 cuts a text before it encodes each by itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PIECE_H
#define PIECE_H

#include <stdint.h>

/* Length in bytes of the first piece of `text`, which is UTF-8 of `size` > 0 bytes and stands where a
 * piece begins: the longest match at its start of GPT-2's pattern, alternatives in this order,
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 */
uint64_t piece_length(const char *text, uint64_t size);

#endif
