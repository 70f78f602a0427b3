/* key.c - public and secret keys as minisign keeps them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "signature/signature.h"
#include "signature/text.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of the two files. */
typedef struct public_record {
    char algorithm[2]; /* "Ed" */
    unsigned char id[8];
    unsigned char key[32];
} public_record;

typedef struct secret_part { /* what a password hides */
    unsigned char id[8];
    unsigned char key[64];
    unsigned char check[32]; /* BLAKE2b-256 of algorithm, id and key */
} secret_part;

typedef struct secret_record {
    char algorithm[2]; /* "Ed" */
    char kdf[2];       /* "Sc": scrypt; zeros: none */
    char hash[2];      /* "B2" */
    unsigned char salt[32];
    unsigned char operations[8]; /* of scrypt, little-endian */
    unsigned char memory[8];
    secret_part part;
} secret_record;

_Static_assert(sizeof(public_record) == 42 && sizeof(secret_record) == 158, "no padding");

static void store(unsigned char *to, uint64_t value)
{
    for (int k = 0; k < 8; k++)
        to[k] = (unsigned char)(value >> (8 * k));
}

static uint64_t fetch(const unsigned char *from)
{
    uint64_t value = 0;
    for (int k = 8; k-- > 0;)
        value = value << 8 | from[k];
    return value;
}

bool signature_is_available(void)
{
    return true;
}

void key_id_text(const unsigned char *id, char *ret_text)
{
    (void)snprintf(ret_text, KEY_ID_SIZE, "%016llX", (unsigned long long)fetch(id));
}

static tutti_status no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a key");
}

tutti_status public_key_read(const char *name, const char *text, public_key *ret,
                             tutti_error *err)
{
    char comment[1280];
    public_record r;
    if (strncmp(text, UNTRUSTED, strlen(UNTRUSTED)) == 0)
        (void)text_line(&text, comment, sizeof comment);
    if (!text_base64(&text, &r, sizeof r) || memcmp(r.algorithm, "Ed", 2) != 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: want a public key of minisign", name);
    memcpy(ret->id, r.id, sizeof r.id);
    memcpy(ret->key, r.key, sizeof r.key);
    return TUTTI_OK;
}

tutti_status public_key_write(const public_key *k, char **ret_text, tutti_error *err)
{
    char comment[64] = "minisign public key ";
    public_record r = {.algorithm = {'E', 'd'}};
    memcpy(r.id, k->id, sizeof r.id);
    memcpy(r.key, k->key, sizeof r.key);
    key_id_text(k->id, comment + strlen(comment));
    *ret_text = text_signed(comment, &r, sizeof r);
    return *ret_text ? TUTTI_OK : no_memory(err);
}

tutti_status secret_key_make(secret_key *ret, public_key *ret_public, tutti_error *err)
{
    if (sodium_init() < 0)
        return tutti_fail(err, TUTTI_E_FAIL, "libsodium cannot be initialised");
    randombytes_buf(ret->id, sizeof ret->id);
    (void)crypto_sign_keypair(ret_public->key, ret->key);
    memcpy(ret_public->id, ret->id, sizeof ret->id);
    return TUTTI_OK;
}

void secret_key_forget(secret_key *k)
{
    sodium_memzero(k, sizeof *k);
}

/* ---- the secret one's file ---- */

static void check_of(const secret_record *r, unsigned char *ret)
{
    crypto_generichash_state s;
    (void)crypto_generichash_init(&s, NULL, 0, 32);
    (void)crypto_generichash_update(&s, (const unsigned char *)r->algorithm, 2);
    (void)crypto_generichash_update(&s, r->part.id, sizeof r->part.id);
    (void)crypto_generichash_update(&s, r->part.key, sizeof r->part.key);
    (void)crypto_generichash_final(&s, ret, 32);
}

/* Encrypts or decrypts; false: no memory for it. */
static bool apply_password(secret_record *r, const char *password, uint64_t operations,
                           uint64_t memory)
{
    unsigned char stream[sizeof r->part], *part = (unsigned char *)&r->part;
    if (crypto_pwhash_scryptsalsa208sha256(stream, sizeof stream, password, strlen(password),
                                           r->salt, operations, (size_t)memory) != 0)
        return false;
    for (size_t k = 0; k < sizeof stream; k++)
        part[k] ^= stream[k];
    sodium_memzero(stream, sizeof stream);
    return true;
}

static bool read_record(const char *text, secret_record *ret)
{
    char comment[1280];
    return sodium_init() >= 0 && strncmp(text, UNTRUSTED, strlen(UNTRUSTED)) == 0 &&
           text_line(&text, comment, sizeof comment) && text_base64(&text, ret, sizeof *ret) &&
           memcmp(ret->algorithm, "Ed", 2) == 0 && memcmp(ret->hash, "B2", 2) == 0 &&
           (memcmp(ret->kdf, "Sc", 2) == 0 || memcmp(ret->kdf, "\0\0", 2) == 0);
}

bool secret_key_is_encrypted(const char *text)
{
    secret_record r;
    const bool encrypted = read_record(text, &r) && r.kdf[0];
    sodium_memzero(&r, sizeof r);
    return encrypted;
}

/* The second half of a key follows from the first. */
static bool is_whole(const unsigned char *key)
{
    unsigned char public[32], secret[64];
    (void)crypto_sign_seed_keypair(public, secret, key);
    const bool whole = sodium_memcmp(secret, key, sizeof secret) == 0;
    sodium_memzero(secret, sizeof secret);
    return whole;
}

static tutti_status open_record(const char *name, secret_record *r, const char *password,
                                tutti_error *err)
{
    unsigned char check[32];
    const uint64_t operations = fetch(r->operations), memory = fetch(r->memory);
    if (r->kdf[0] && !password)
        return tutti_fail(err, TUTTI_E_ARG, "%s: the key wants a password", name);
    if (r->kdf[0] && (operations > crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_SENSITIVE ||
                      memory > crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_SENSITIVE))
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: wants more memory or time than minisign's",
                          name);
    if (r->kdf[0] && !apply_password(r, password, operations, memory))
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to decrypt it", name);
    check_of(r, check);
    if (r->kdf[0] && sodium_memcmp(check, r->part.check, sizeof check) != 0)
        return tutti_fail(err, TUTTI_E_ARG, "%s: that is not its password", name);
    /* minisign leaves out the check where there is no password. */
    return is_whole(r->part.key)
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_FORMAT, "%s: the key is damaged", name);
}

tutti_status secret_key_read(const char *name, const char *text, const char *password,
                             secret_key *ret, tutti_error *err)
{
    secret_record r;
    tutti_status status =
        read_record(text, &r)
            ? open_record(name, &r, password, err)
            : tutti_fail(err, TUTTI_E_FORMAT, "%s: want a secret key of minisign", name);
    if (!status) {
        memcpy(ret->id, r.part.id, sizeof ret->id);
        memcpy(ret->key, r.part.key, sizeof ret->key);
    }
    sodium_memzero(&r, sizeof r);
    return status;
}

/* With as much memory as there is, down to a 64th of minisign's. */
static tutti_status close_record(secret_record *r, const char *password, tutti_error *err)
{
    uint64_t operations = crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_SENSITIVE;
    uint64_t memory = crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_SENSITIVE;
    r->kdf[0] = 'S';
    r->kdf[1] = 'c';
    for (int k = 0; k < 7; k++, operations /= 2, memory /= 2) {
        store(r->operations, operations);
        store(r->memory, memory);
        if (apply_password(r, password, operations, memory))
            return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory to encrypt a key");
}

tutti_status secret_key_write(const secret_key *k, const char *password, char **ret_text,
                              tutti_error *err)
{
    secret_record r = {.algorithm = {'E', 'd'}, .hash = {'B', '2'}};
    memcpy(r.part.id, k->id, sizeof k->id);
    memcpy(r.part.key, k->key, sizeof k->key);
    check_of(&r, r.part.check);
    randombytes_buf(r.salt, sizeof r.salt);
    tutti_status status = password ? close_record(&r, password, err) : TUTTI_OK;
    if (!status) {
        *ret_text = text_signed(password ? "minisign encrypted secret key"
                                         : "minisign unencrypted secret key",
                                &r, sizeof r);
        status = *ret_text ? TUTTI_OK : no_memory(err);
    }
    sodium_memzero(&r, sizeof r);
    return status;
}
