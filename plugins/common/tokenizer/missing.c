/* missing.c - a build without PCRE2 and utf8proc: no file can be opened, and the sentence says why. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer.h"

#include <stddef.h>

tutti_status tokenizer_open(const char *path, tokenizer **ret, tutti_error *err)
{
    (void)ret;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "%s: this build reads no tokenizer.json, for want of PCRE2 and utf8proc; "
                      "install libpcre2-dev and libutf8proc-dev and build again",
                      path);
}

void tokenizer_close(tokenizer *t)
{
    (void)t;
}

int64_t tokenizer_size(const tokenizer *t)
{
    (void)t;
    return 0;
}

int64_t tokenizer_find(const tokenizer *t, const char *spelling)
{
    (void)t, (void)spelling;
    return -1;
}

const char *tokenizer_text(const tokenizer *t, int64_t id, uint64_t *ret_size)
{
    (void)t, (void)id, (void)ret_size;
    return NULL;
}

tutti_status tokenizer_encoder_create(const tokenizer *t, tokenizer_encoder **ret,
                                      tutti_error *err)
{
    (void)t, (void)ret;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "this build reads no tokenizer.json");
}

void tokenizer_encoder_destroy(tokenizer_encoder *e)
{
    (void)e;
}

tutti_status tokenizer_encode(tokenizer_encoder *e, const char *name, const char *text,
                              uint64_t size, int special, tokenizer_ids *ids, tutti_error *err)
{
    (void)e, (void)text, (void)size, (void)special, (void)ids;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: this build reads no tokenizer.json", name);
}

tutti_status tokenizer_decode(const tokenizer *t, const int32_t *ids, uint64_t count, int skip,
                              char **ret, uint64_t *ret_size, tutti_error *err)
{
    (void)t, (void)ids, (void)count, (void)skip, (void)ret, (void)ret_size;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "this build reads no tokenizer.json");
}
