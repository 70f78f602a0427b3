/* digest.h - the hashes that an index may give of a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_DIGEST_H
#define PLUGIN_MDS_DIGEST_H

#include <stdint.h>

enum { MDS_DIGEST_SIZE = 130 };

/* The digest in hexadecimal, as Python's hashlib and xxhash write it; 0: a hash that is not known here.  [any] */
int mds_digest(const char *kind, const void *data, uint64_t size, char ret[MDS_DIGEST_SIZE]);

#endif
