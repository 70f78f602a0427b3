/* words.c - open addressing over the bytes of spellings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <stdlib.h>
#include <string.h>

/* Eight bytes at a time, each times an odd constant, the high half folded into the low. */
uint64_t words_hash(const char *text, uint64_t size)
{
    uint64_t h = size * 0x9E3779B97F4A7C15u;
    while (size > 0) {
        const uint64_t n = size < 8 ? size : 8;
        uint64_t part = 0;
        memcpy(&part, text, n);
        h = (h ^ part) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
        text += n;
        size -= n;
    }
    return h * 0x9E3779B97F4A7C15u;
}

/* Its place, or the empty one where it would be. */
static word *words_place(const words *w, const char *text, uint64_t size)
{
    const uint64_t mask = ((uint64_t)1 << w->bits) - 1;
    uint64_t k = words_hash(text, size) >> (64 - w->bits);
    while (w->places[k].text &&
           (w->places[k].size != size || memcmp(w->places[k].text, text, size) != 0))
        k = (k + 1) & mask;
    return &w->places[k];
}

static bool words_grow(words *w)
{
    words grown = {.bits = w->bits ? w->bits + 1 : 6, .count = w->count, .longest = w->longest};
    grown.places = calloc((size_t)1 << grown.bits, sizeof *grown.places);
    if (!grown.places)
        return false;
    for (uint64_t k = 0; w->places && k < (uint64_t)1 << w->bits; k++)
        if (w->places[k].text)
            *words_place(&grown, w->places[k].text, w->places[k].size) = w->places[k];
    free(w->places);
    *w = grown;
    return true;
}

bool words_put(words *w, const char *text, uint64_t size, int32_t id)
{
    if (size > UINT32_MAX ||
        ((!w->places || 2 * (w->count + 1) > (uint64_t)1 << w->bits) && !words_grow(w)))
        return false;
    word *place = words_place(w, text, size);
    w->count += !place->text;
    *place = (word){text, (uint32_t)size, id};
    if (size > w->longest)
        w->longest = (uint32_t)size;
    return true;
}

int32_t words_find(const words *w, const char *text, uint64_t size)
{
    if (!w->places || size > w->longest)
        return -1;
    const word *place = words_place(w, text, size);
    return place->text ? place->id : -1;
}

void words_free(words *w)
{
    free(w->places);
    memset(w, 0, sizeof *w);
}
