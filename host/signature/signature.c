/* signature.c - making, reading and verifying signatures. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "signature/signature.h"
#include "signature/text.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of a signature file's second line. */
typedef struct record {
    char algorithm[2]; /* "ED": of the hash; "Ed": of the message itself */
    unsigned char id[8];
    unsigned char bytes[64];
} record;

_Static_assert(sizeof(record) == 74, "no padding");

enum { HASH = 64 };

/* The signature's bytes and the comment, which the global signature is of; the caller frees it. */
static unsigned char *with_comment(const unsigned char *bytes, const char *comment,
                                   size_t *ret_size)
{
    const size_t n = strlen(comment);
    unsigned char *both = malloc(64 + n + 1);
    if (both) {
        memcpy(both, bytes, 64);
        memcpy(both + 64, comment, n + 1);
    }
    *ret_size = 64 + n;
    return both;
}

static tutti_status no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a signature");
}

tutti_status signature_make(const secret_key *k, const void *data, size_t size,
                            const char *comment, char **ret_text, tutti_error *err)
{
    unsigned char hash[HASH], global[64];
    record r = {.algorithm = {'E', 'D'}};
    size_t both_size = 0;
    if (sodium_init() < 0)
        return tutti_fail(err, TUTTI_E_FAIL, "libsodium cannot be initialised");
    if (strchr(comment, '\n') || strlen(comment) >= sizeof((signature *)0)->comment)
        return tutti_fail(err, TUTTI_E_ARG, "a trusted comment is one line");
    memcpy(r.id, k->id, sizeof r.id);
    (void)crypto_generichash(hash, sizeof hash, data, size, NULL, 0);
    (void)crypto_sign_detached(r.bytes, NULL, hash, sizeof hash, k->key);
    unsigned char *both = with_comment(r.bytes, comment, &both_size);
    if (!both)
        return no_memory(err);
    (void)crypto_sign_detached(global, NULL, both, both_size, k->key);
    free(both);
    *ret_text = text_trusted("signature from tutti", &r, sizeof r, comment, global);
    return *ret_text ? TUTTI_OK : no_memory(err);
}

tutti_status signature_read(const char *name, const char *text, signature *ret,
                            tutti_error *err)
{
    char line[sizeof ret->comment + sizeof TRUSTED];
    record r;
    const bool good = text_line(&text, line, sizeof line) &&
                      strncmp(line, UNTRUSTED, strlen(UNTRUSTED)) == 0 &&
                      text_base64(&text, &r, sizeof r) && text_line(&text, line, sizeof line) &&
                      strncmp(line, TRUSTED, strlen(TRUSTED)) == 0 &&
                      text_base64(&text, ret->global, sizeof ret->global);
    if (!good || r.algorithm[0] != 'E' || (r.algorithm[1] != 'D' && r.algorithm[1] != 'd'))
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: want a signature of minisign", name);
    ret->prehashed = r.algorithm[1] == 'D';
    memcpy(ret->id, r.id, sizeof r.id);
    memcpy(ret->bytes, r.bytes, sizeof r.bytes);
    memcpy(ret->comment, line + strlen(TRUSTED), strlen(line + strlen(TRUSTED)) + 1);
    return TUTTI_OK;
}

tutti_status signature_verify(const char *name, const signature *s, const public_key *k,
                              const void *data, size_t size, tutti_error *err)
{
    unsigned char hash[HASH];
    char id[KEY_ID_SIZE];
    size_t both_size = 0;
    if (sodium_init() < 0)
        return tutti_fail(err, TUTTI_E_FAIL, "libsodium cannot be initialised");
    key_id_text(k->id, id);
    if (memcmp(s->id, k->id, sizeof s->id) != 0)
        return tutti_fail(err, TUTTI_E_TRUST, "%s: not made by key %s", name, id);
    (void)crypto_generichash(hash, sizeof hash, data, size, NULL, 0);
    if (crypto_sign_verify_detached(s->bytes, s->prehashed ? hash : data,
                                    s->prehashed ? sizeof hash : size, k->key) != 0)
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: not the signature of key %s for what it is said to sign", name,
                          id);
    unsigned char *both = with_comment(s->bytes, s->comment, &both_size);
    if (!both)
        return no_memory(err);
    const bool good = crypto_sign_verify_detached(s->global, both, both_size, k->key) == 0;
    free(both);
    return good ? TUTTI_OK
                : tutti_fail(err, TUTTI_E_TRUST,
                             "%s: its trusted comment is not what key %s has signed", name, id);
}
