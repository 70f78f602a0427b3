/* fields.h - where the columns of a sample lie in its shard. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_FIELDS_H
#define PLUGIN_MDS_FIELDS_H

#include "shard.h"

/* The fields of sample `at` of an open shard; row->own is the caller's to free.  Errors, which name the shard and the
 * sample: E_FORMAT, E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status mds_fields(const mds_set *set, const mds_shard *s, int64_t at,
                                        mds_row *ret_row, tutti_error *err);

#endif
