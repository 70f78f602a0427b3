/* unpack.h - shards compressed whole, by gzip or zstd, as files that can be read anywhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEBDATASET_UNPACK_H
#define PLUGIN_WEBDATASET_UNPACK_H

#include "../common/mapped_file.h"

/* Whether a file begins as those of gzip or zstd do. */
int unpack_is_packed(const mapped_file *f);

/* Unpacks `packed`, the file `path`, into a file without a name in `folder`, and maps that.  Errors, which name `path`:
 * E_FORMAT it is damaged, or holds nothing; E_IO the folder has no room, or no such file can be made there; E_NOMEM.
 * [control] */
TUTTI_NODISCARD tutti_status unpack_file(const mapped_file *packed, const char *path,
                                         const char *folder, mapped_file *ret,
                                         tutti_error *err);

#endif
