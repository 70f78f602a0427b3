/* policy.h - what is asked of plugins before their code runs: any, owner, pinned or signed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_TRUST_POLICY_H
#define HOST_PLUGIN_TRUST_POLICY_H

#include "plugin/trust/pins.h"

/* What is asked of a plugin's files, one bit each. */
enum { DEMAND_OWNER = 1, DEMAND_PIN = 2, DEMAND_SIGNATURE = 4 };

typedef struct policy policy; /* opaque */

/* One of options instead of a file: `demands`, and the lock file unless it is NULL.  Errors as pins_read. */
TUTTI_NODISCARD tutti_status policy_make(unsigned demands, const char *lock_file, policy **ret,
                                         tutti_error *err);
/* Reads a policy file and the lock file that it names; who may write it is judged.  The caller frees *ret.
 * Errors: E_NOTFOUND; E_TRUST; E_FORMAT has all faults; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status policy_read(const char *path, policy **ret, tutti_error *err);
void policy_free(policy *p); /* NULL is allowed */

/* What it asks of a plugin in this folder: of its nearest folder in the file, else of the file. */
unsigned policy_demands(const policy *p, const char *folder);
/* Everything that it asks of any plugin. */
unsigned policy_all_demands(const policy *p);
const hashes *policy_pins(const policy *p); /* or NULL */
const char *policy_name(const policy *p);   /* its path; NULL: one of options */
/* The k-th folder with an entry of its own, and its word; NULL past the last.  k = SIZE_MAX: the file's. */
const char *policy_folder(const policy *p, size_t k, const char **ret_word);

#endif
