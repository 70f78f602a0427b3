/* text.c - lines of comments and of base64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "signature/text.h"
#include "base/text.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { BASE64 = sodium_base64_VARIANT_ORIGINAL, BASE64_SIZE = 512 };

bool text_line(const char **at, char *to, size_t size)
{
    const size_t n = strcspn(*at, "\n");
    const size_t used = n && (*at)[n - 1] == '\r' ? n - 1 : n;
    if (!**at || used >= size)
        return false;
    memcpy(to, *at, used);
    to[used] = '\0';
    *at += n + ((*at)[n] == '\n');
    return true;
}

bool text_base64(const char **at, void *to, size_t size)
{
    char line[BASE64_SIZE];
    size_t got = 0;
    return text_line(at, line, sizeof line) &&
           sodium_base642bin(to, size, line, strlen(line), NULL, &got, NULL, BASE64) == 0 &&
           got == size;
}

static void add_base64(text_buffer *b, const void *bytes, size_t size)
{
    char line[BASE64_SIZE];
    text_add(b, "%s\n", sodium_bin2base64(line, sizeof line, bytes, size, BASE64));
    sodium_memzero(line, sizeof line);
}

static char *take(text_buffer *b)
{
    if (!b->failed)
        return b->data;
    free(b->data);
    return NULL;
}

char *text_signed(const char *comment, const void *bytes, size_t size)
{
    text_buffer b = {0};
    text_add(&b, UNTRUSTED "%s\n", comment);
    add_base64(&b, bytes, size);
    return take(&b);
}

char *text_trusted(const char *comment, const void *bytes, size_t size, const char *trusted,
                   const void *global)
{
    text_buffer b = {0};
    text_add(&b, UNTRUSTED "%s\n", comment);
    add_base64(&b, bytes, size);
    text_add(&b, TRUSTED "%s\n", trusted);
    add_base64(&b, global, 64);
    return take(&b);
}
