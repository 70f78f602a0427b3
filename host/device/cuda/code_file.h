/* code_file.h - device code of operations: a file for each architecture beside the program. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEVICE_CUDA_CODE_FILE_H
#define HOST_DEVICE_CUDA_CODE_FILE_H

#include "device/cuda/code_format.h"
#include "tutti/base.h"

typedef struct code_file code_file; /* opaque */

/* The files that were built with this program, by rising capability; code_ids.c. */
extern const code_id cuda_code_ids[];

/* The file of `ids` for a device of this capability: the one of the highest that is not above it, 0 for the
 * stand-in.  It lies in the folder that TUTTI_CUDA_CODE names, else beside the program or the library that
 * this code is in, else below /usr/local or /usr.  The caller closes *ret.
 * Errors: UNSUPPORTED the build has none that fits; NOTFOUND names the folders; TRUST others may write it;
 * VERSION it is another build's; IO; NOMEM.  [control] */
TUTTI_NODISCARD tutti_status code_file_open(const code_id *ids, int capability, code_file **ret,
                                            tutti_error *err);
void code_file_close(code_file *f); /* NULL is allowed */

/* The image `name`, held to its hash; the caller frees *ret_data.
 * Errors: UNSUPPORTED it is not there; FORMAT it is damaged; IO; NOMEM.  [control] */
TUTTI_NODISCARD tutti_status code_file_read(const code_file *f, const char *name,
                                            void **ret_data, tutti_error *err);

#endif
