/* signed.h - one signature for a plugin's folder: a list of all its files with their SHA-256, signed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_TRUST_SIGNED_H
#define HOST_PLUGIN_TRUST_SIGNED_H

#include "plugin/trust/hashes.h"
#include "plugin/trust/keyring.h"

#define SIGNED_SUMS "plugin.sums"
#define SIGNED_SIGNATURE "plugin.sums.minisig"

/* What a folder's signature says. */
typedef struct signed_sums {
    hashes *sums; /* of paths below the folder */
    char signer[KEY_ID_SIZE];
    char *comment; /* trusted */
} signed_sums;
void signed_fini(signed_sums *s);

/* The list of a held folder, if a key of `keys` has signed it; the caller calls signed_fini.
 * Errors: E_TRUST not signed, or by none of them; E_FORMAT; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status signed_read(const held *folder, trust_rule rule,
                                         const keyring *keys, signed_sums *ret,
                                         tutti_error *err);
/* The file at `path`, below `folder`, must stand in the list with this SHA-256.  Error: E_TRUST. */
TUTTI_NODISCARD tutti_status signed_admit(const signed_sums *s, const char *folder,
                                          const char *path, const char *hex, tutti_error *err);

/* The list of all files below a held folder, but for the two above; the caller frees *ret_text.
 * Errors: E_TRUST for what is neither file nor folder; E_ARG for a name with a line break; E_RANGE; E_IO;
 * E_NOMEM. */
TUTTI_NODISCARD tutti_status signed_list(const held *folder, char **ret_text, tutti_error *err);
/* Every file below a held folder is as the list has it, and there is no other.  Errors: E_TRUST names the first;
 * as signed_list. */
TUTTI_NODISCARD tutti_status signed_verify(const held *folder, const signed_sums *s,
                                           tutti_error *err);

#endif
