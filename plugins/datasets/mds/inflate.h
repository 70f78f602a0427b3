/* inflate.h - files that Streaming has compressed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_INFLATE_H
#define PLUGIN_MDS_INFLATE_H

#include "tutti/base.h"

enum { INFLATE_WHY_SIZE = 160 };

/* Inflates `zip` into `raw`, which it fills.  `kind` is br, bz2, gz, snappy or zstd, with or without a level, as in
 * "zstd:7".  Errors, with `why`: E_FORMAT the bytes are not that, or of another size; E_UNSUPPORTED another kind, or one
 * that this build is without.  [any] */
TUTTI_NODISCARD tutti_status inflate_bytes(const char *kind, const void *zip, uint64_t zip_size,
                                           void *raw, uint64_t raw_size,
                                           char why[INFLATE_WHY_SIZE]);

#endif
