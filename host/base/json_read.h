/* json_read.h - members of manifests and policies, read strictly: what is wrong becomes a fault. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_JSON_READ_H
#define HOST_BASE_JSON_READ_H

#include "base/faults.h"

#define JSON_READ_ITEMS 256 /* of an array or object */

/* A member of an object, or NULL.  A wrong type is a fault and NULL; an absent member is NULL, and a fault when it
 * is required. */
const json_node *read_member(const json_node *node, const char *key, int type, int required,
                             faults *f);
/* At most JSON_READ_ITEMS strings, none empty or twice; NULL-terminated; the caller frees it.  NULL
 * when absent or faulty. */
const char **read_words(const json_node *node, const char *key, faults *f);
const char *read_string(const json_node *node, const char *key, int required, faults *f);
const char *read_sha256(const json_node *node, faults *f); /* "sha256", or NULL */

#endif
