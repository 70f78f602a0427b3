/* signature.h - keys and signatures in the formats of minisign: Ed25519 over BLAKE2b, as text. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_SIGNATURE_SIGNATURE_H
#define HOST_SIGNATURE_SIGNATURE_H

#include "tutti/base.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether this build has libsodium.  Without it every function that makes or reads keys and signatures fails with
 * E_NOTFOUND and one sentence. */
bool signature_is_available(void);

typedef struct public_key {
    unsigned char id[8];
    unsigned char key[32];
} public_key;

typedef struct secret_key {
    unsigned char id[8];
    unsigned char key[64];
} secret_key;

typedef struct signature {
    unsigned char id[8]; /* of the key that made it */
    bool prehashed;      /* of the message's BLAKE2b-512, not of the message */
    unsigned char bytes[64];
    unsigned char global[64]; /* of the above and the trusted comment */
    char comment[8192];       /* trusted */
} signature;

/* A key's id as minisign prints it, 16 digits. */
enum { KEY_ID_SIZE = 17 };
void key_id_text(const unsigned char *id, char *ret_text);

/* Two lines, or the one of base64 alone; `name` stands in messages.  Error: E_FORMAT. */
TUTTI_NODISCARD tutti_status public_key_read(const char *name, const char *text,
                                             public_key *ret, tutti_error *err);
/* The two lines; the caller frees *ret_text. */
TUTTI_NODISCARD tutti_status public_key_write(const public_key *k, char **ret_text,
                                              tutti_error *err);

TUTTI_NODISCARD tutti_status secret_key_make(secret_key *ret, public_key *ret_public,
                                             tutti_error *err);
/* Whether reading it needs a password; false as well when it is no key. */
bool secret_key_is_encrypted(const char *text);
/* password: NULL when it is not encrypted.  Errors: E_FORMAT; E_ARG for a wrong password; E_NOMEM. */
TUTTI_NODISCARD tutti_status secret_key_read(const char *name, const char *text,
                                             const char *password, secret_key *ret,
                                             tutti_error *err);
/* Encrypted with a stream out of scrypt, whose cost is minisign's, or less where memory is short; it takes seconds
 * and up to 1 GiB.  password: NULL leaves it unencrypted.  The caller frees *ret_text. */
TUTTI_NODISCARD tutti_status secret_key_write(const secret_key *k, const char *password,
                                              char **ret_text, tutti_error *err);
void secret_key_forget(secret_key *k); /* overwrites it */

/* Signs `data`; the comment, of one line, is signed too.  The four lines; the caller frees *ret_text. */
TUTTI_NODISCARD tutti_status signature_make(const secret_key *k, const void *data, size_t size,
                                            const char *comment, char **ret_text,
                                            tutti_error *err);
/* Error: E_FORMAT. */
TUTTI_NODISCARD tutti_status signature_read(const char *name, const char *text, signature *ret,
                                            tutti_error *err);
/* The signature of `name` is this key's, of these bytes and of its comment.  Error: E_TRUST. */
TUTTI_NODISCARD tutti_status signature_verify(const char *name, const signature *s,
                                              const public_key *k, const void *data,
                                              size_t size, tutti_error *err);

#endif
