/* tokens.c - token numbers of any width, one after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens.h"

#include <stdio.h>
#include <string.h>

int mds_tokens_fit(const char *encoding, const char *type, mds_encoding *ret)
{
    char why[IMAGE_WHY_SIZE];
    mds_encoding element;
    if (mds_encoding_parse(encoding, ret, why))
        return 0;
    if (ret->kind == MDS_ARRAY)
        return !ret->stored || mds_encoding_is_whole(ret);
    if (strcmp(encoding, "bytes") != 0 || mds_encoding_parse(type, &element, why))
        return 0;
    ret->stored = element.stored;
    return 1;
}

static tutti_status tokens_values(const mds_tokens *t, const mds_field *f, mds_values *ret,
                                  char *why)
{
    if (t->encoding.kind == MDS_ARRAY)
        return mds_encoding_values(&t->encoding, f, ret, why);
    *ret = mds_values_of(t->encoding.stored, f);
    if (f->size % (uint64_t)ret->bytes == 0)
        return TUTTI_OK;
    (void)snprintf(why, IMAGE_WHY_SIZE, "%llu bytes are no whole tokens of %d bytes",
                   (unsigned long long)f->size, ret->bytes);
    return TUTTI_E_FORMAT;
}

tutti_status mds_tokens_count(const mds_tokens *t, const mds_field *f, int64_t *ret,
                              char why[IMAGE_WHY_SIZE])
{
    mds_values v;
    const tutti_status s = tokens_values(t, f, &v, why);
    if (s == TUTTI_OK)
        *ret = v.count;
    return s;
}

static tutti_status wrong_token(int64_t at, int64_t value, int64_t most, char *why)
{
    (void)snprintf(why, IMAGE_WHY_SIZE, "token %lld is %lld, want 0 to %lld", (long long)at,
                   (long long)value, (long long)most);
    return TUTTI_E_RANGE;
}

tutti_status mds_tokens_read(const mds_tokens *t, const mds_field *f, int64_t first,
                             int32_t *to, char why[IMAGE_WHY_SIZE])
{
    const int64_t most = t->classes ? t->classes - 1 : INT32_MAX;
    mds_values v;
    const tutti_status s = tokens_values(t, f, &v, why);
    if (s)
        return s;
    if (v.count < first + t->length) {
        (void)snprintf(why, IMAGE_WHY_SIZE, "has %lld tokens, want at least %lld",
                       (long long)v.count, (long long)first + (long long)t->length);
        return TUTTI_E_SHAPE;
    }
    for (int64_t k = 0; k < t->length; k++) {
        const int64_t value = mds_values_at(&v, first + k);
        if (value < 0 || value > most)
            return wrong_token(first + k, value, most, why);
        to[k] = (int32_t)value;
    }
    return TUTTI_OK;
}

tutti_status mds_tokens_largest(const mds_tokens *t, const mds_field *f, int64_t *ret,
                                char why[IMAGE_WHY_SIZE])
{
    enum { MOST = (1 << 24) - 1 };
    int64_t largest = 0;
    mds_values v;
    const tutti_status s = tokens_values(t, f, &v, why);
    for (int64_t k = 0; s == TUTTI_OK && k < v.count; k++) {
        const int64_t value = mds_values_at(&v, k);
        if (value < 0 || value > MOST)
            return wrong_token(k, value, MOST, why);
        largest = value > largest ? value : largest;
    }
    *ret = largest;
    return s;
}
