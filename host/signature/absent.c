/* absent.c - a build without libsodium: every function says so. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "signature/signature.h"

#include <string.h>

static tutti_status absent(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOTFOUND,
                      "this build has no libsodium, so it neither makes nor verifies "
                      "signatures; install libsodium-dev and build again");
}

bool signature_is_available(void)
{
    return false;
}

void key_id_text(const unsigned char *id, char *ret_text)
{
    (void)id;
    (void)strcpy(ret_text, "?");
}

tutti_status public_key_read(const char *name, const char *text, public_key *ret,
                             tutti_error *err)
{
    return absent(err);
}

tutti_status public_key_write(const public_key *k, char **ret_text, tutti_error *err)
{
    return absent(err);
}

tutti_status secret_key_make(secret_key *ret, public_key *ret_public, tutti_error *err)
{
    return absent(err);
}

bool secret_key_is_encrypted(const char *text)
{
    return false;
}

tutti_status secret_key_read(const char *name, const char *text, const char *password,
                             secret_key *ret, tutti_error *err)
{
    return absent(err);
}

tutti_status secret_key_write(const secret_key *k, const char *password, char **ret_text,
                              tutti_error *err)
{
    return absent(err);
}

void secret_key_forget(secret_key *k)
{
    explicit_bzero(k, sizeof *k);
}

tutti_status signature_make(const secret_key *k, const void *data, size_t size,
                            const char *comment, char **ret_text, tutti_error *err)
{
    return absent(err);
}

tutti_status signature_read(const char *name, const char *text, signature *ret,
                            tutti_error *err)
{
    return absent(err);
}

tutti_status signature_verify(const char *name, const signature *s, const public_key *k,
                              const void *data, size_t size, tutti_error *err)
{
    return absent(err);
}
