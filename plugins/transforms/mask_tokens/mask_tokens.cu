/* mask_tokens.cu - tokens of a batch hidden on a GPU: a thread a sample, whose draws follow one another. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mask.h"

/* budget: mask_tokens_cuda stack=48: the words of a draw, of which a running number takes the next */
/* tokens: n samples of `length`, I32 or (wide) I64; y: those asked for (I32), or those that are seen. */
TUTTI_KERNEL(mask_tokens_cuda)
(const uint8_t *tokens, uint8_t *y, const int64_t *index, uint64_t seed, uint64_t epoch,
 uint32_t purpose, double probability, double mask_share, double random_share,
 int64_t mask_token, int64_t classes, int64_t special0, int64_t special1, int64_t special2,
 int64_t special3, int32_t wide, int32_t asked, int64_t length, int64_t n)
{
    const mask_rule m = {probability, mask_share, random_share, mask_token, classes};
    TUTTI_EACH(k, n)
    {
        tutti_stream s = tutti_stream_at(seed, purpose, epoch, (uint64_t)index[k]);
        for (int64_t t = k * length; t < (k + 1) * length; t++) {
            const int64_t token = mask_token_at(tokens, wide, t);
            const int special = token == special0 || token == special1 || token == special2 ||
                                token == special3;
            int64_t becomes = token;
            const int drawn = mask_draw(m, &s, token, special, &becomes);
            mask_put(y, wide, asked, t, drawn, token, becomes);
        }
    }
}
TUTTI_KERNEL_ENTRY(mask_tokens_cuda);
