/* latest_link.h - the link to a folder's newest checkpoint. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECKPOINT_SAVER_LATEST_LINK_H
#define CHECKPOINT_SAVER_LATEST_LINK_H

#include "tutti/base.h"

/* Links `path` to `name`, a file beside it, in one step: whoever reads it finds the link of before or this one.
 * Errors: E_IO.  [control] */
TUTTI_NODISCARD tutti_status latest_link_put(const char *path, const char *name,
                                             tutti_error *err);
/* Removes what a latest_link_put that was killed left beside `path`.  [control] */
void latest_link_remove_unfinished(const char *path);

#endif
