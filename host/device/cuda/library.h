/* library.h - NVIDIA's libraries: the runtime with its entry points, and functions of the others. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEVICE_CUDA_LIBRARY_H
#define HOST_DEVICE_CUDA_LIBRARY_H

#include "device/cuda/cudart.h"
#include "tutti/base.h"

#include <limits.h>
#include <stdbool.h>

/* The runtime, loaded at the first call and never unloaded: the file that the environment variable
 * TUTTI_CUDART names, else libcudart.so.13, else .12.  Errors, the same ever after: NOTFOUND there is
 * none; IO the named file cannot be loaded; VERSION it lacks a call.  [control] */
TUTTI_NODISCARD tutti_status cudart_get(const cudart **ret_runtime, tutti_error *err);

/* `name` of "cudart", "cublasLt" or "cudnn".  Errors: NOTFOUND.  [control] */
TUTTI_NODISCARD tutti_status library_symbol(const char *library, const char *name,
                                            void **ret_symbol, tutti_error *err);

/* The file that this code was loaded from, without symbolic links: the program, or a library that it is in.
 * False: it is not known.  [any] */
bool library_own_path(char path[PATH_MAX]);

#endif
