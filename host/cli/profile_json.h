/* profile_json.h - what tutti profile has measured, for programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_PROFILE_JSON_H
#define HOST_CLI_PROFILE_JSON_H

#include "train/trainer/describe.h"

/* Prints one object on stdout: "batches", "batch_ms", "threads", the weights that are "trained", the optimizer's "slots",
 * and lists "operations", "events" and "plugins", whose numbers are of one batch.  `batches` were measured, in `ns`.
 * Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status profile_print_json(const trainer *t, double batches, double ns,
                                                tutti_error *err);

#endif
