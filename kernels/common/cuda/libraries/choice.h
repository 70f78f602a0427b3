/* choice.h - what a kernel tells of its choice: a library's algorithm, or why there is none. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_LIBRARIES_CHOICE_H
#define KERNELS_COMMON_CUDA_LIBRARIES_CHOICE_H

#include "tutti/op.h"

enum { CUDA_VERSION_TEXT = 24 };

/* 91900 -> "9.19.0": versions of cuBLASLt 12 and later and of cuDNN 9. */
const char *cuda_version_text(uint64_t version, char text[CUDA_VERSION_TEXT]);

/* All of them do nothing where nobody asks; the last word counts.  [control] */
/* The call runs by `library` ("cuDNN") of that version; `text` is its algorithm. */
void cuda_tell_library(const tutti_op_call *c, const char *library, uint64_t version,
                       const char *text);
/* By a kernel of our own, because no library is meant for it, or it was measured to be faster. */
void cuda_tell_own(const tutti_op_call *c, const char *why);
/* By a kernel of our own although a library is meant for it; err tells why. */
void cuda_tell_refused(const tutti_op_call *c, const tutti_error *err);

#endif
