/* keyring.h - the public keys that an operator trusts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_TRUST_KEYRING_H
#define HOST_PLUGIN_TRUST_KEYRING_H

#include "plugin/trust/config.h"
#include "signature/signature.h"

typedef struct trusted_key {
    public_key key;
    char *path;
} trusted_key;

typedef struct keyring {
    trusted_key *keys;
    size_t count;
} keyring;

/* Adds the key of a file; the caller calls keyring_fini.  Errors: E_NOTFOUND; E_FORMAT; E_TRUST; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status keyring_add(keyring *k, const char *path, tutti_error *err);
/* Adds every *.pub of trusted.d in each folder.  What is wrong with one goes to `tell`, and the key is not
 * trusted.  Error: E_NOMEM. */
TUTTI_NODISCARD tutti_status keyring_read(keyring *k, const config_folders *where,
                                          void (*tell)(void *ctx, const char *text), void *ctx,
                                          tutti_error *err);
void keyring_fini(keyring *k);

/* The key with this id, or NULL. */
const trusted_key *keyring_find(const keyring *k, const unsigned char *id);

#endif
