/* zip.h - members of a zip archive in memory, as far as .npz files need it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_DATASETS_ZIP_H
#define PLUGIN_DATASETS_ZIP_H

#include "mapped_file.h"

typedef struct zip_member {
    const uint8_t *data; /* `packed` bytes in the file */
    uint64_t packed;
    uint64_t size;
    uint32_t crc;
    int32_t deflated; /* 0: stored as it is */
} zip_member;

int zip_is(const mapped_file *f);

/* The member `key`.npy; with key NULL the only .npy member.  `setting` is what names a member in the
 * run file, for errors: E_FORMAT a broken archive; E_NOTFOUND; E_UNSUPPORTED another packing.
 * [control] */
TUTTI_NODISCARD tutti_status zip_find(const mapped_file *f, const char *path, const char *key,
                                      const char *setting, zip_member *ret, tutti_error *err);

/* Unpacks a deflated member into `to`, which has room for its size, and checks its sum. */
TUTTI_NODISCARD tutti_status zip_inflate(const zip_member *m, const char *name, void *to,
                                         tutti_error *err);

#endif
