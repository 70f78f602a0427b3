/* nvrtc.h - NVRTC, NVIDIA's compiler of CUDA C++ as a library: device code from text, while the program runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_LIBRARIES_NVRTC_H
#define KERNELS_COMMON_CUDA_LIBRARIES_NVRTC_H

#include "common/cuda/libraries/choice.h"
#include "tutti/cuda.h"

#include <stddef.h>

struct _nvrtcProgram;

enum { NVRTC_NO_MEMORY = 1, NVRTC_REFUSES_TEXT = 6 }; /* nvrtcResult; 0: success */

/* X(member, NVIDIA's name, arguments): all of them return an nvrtcResult. */
#define NVRTC_FUNCTIONS(X)                                                                     \
    X(version, nvrtcVersion, (int *ret_major, int *ret_minor))                                 \
    X(narchitectures, nvrtcGetNumSupportedArchs, (int *ret))                                   \
    X(architectures, nvrtcGetSupportedArchs, (int *ret))                                       \
    X(create, nvrtcCreateProgram,                                                              \
      (struct _nvrtcProgram * *ret, const char *text, const char *name, int nheaders,          \
       const char *const *headers, const char *const *header_names))                           \
    X(destroy, nvrtcDestroyProgram, (struct _nvrtcProgram * *program))                         \
    X(compile, nvrtcCompileProgram,                                                            \
      (struct _nvrtcProgram * program, int noptions, const char *const *options))              \
    X(log_size, nvrtcGetProgramLogSize, (struct _nvrtcProgram * program, size_t * ret))        \
    X(log, nvrtcGetProgramLog, (struct _nvrtcProgram * program, char *ret))                    \
    X(cubin_size, nvrtcGetCUBINSize, (struct _nvrtcProgram * program, size_t * ret))           \
    X(cubin, nvrtcGetCUBIN, (struct _nvrtcProgram * program, char *ret))

typedef struct nvrtc {
#define NVRTC_MEMBER(member, name, args) unsigned(*member) args;
    NVRTC_FUNCTIONS(NVRTC_MEMBER)
#undef NVRTC_MEMBER
    uint64_t number;              /* of its version: 130000 */
    char text[CUDA_VERSION_TEXT]; /* of that: "13.0.0" */
} nvrtc;

/* A file that the text may include. */
typedef struct nvrtc_header {
    const char *name; /* as #include has it */
    const char *text;
} nvrtc_header;

/* From the library that the host has loaded.  Errors: those of tutti_cuda_v1.symbol; E_UNSUPPORTED where it does not
 * compile for the device's architecture; those of nvrtc_compile, since it is tried.  [control] */
TUTTI_NODISCARD tutti_status nvrtc_load(const tutti_cuda_v1 *cuda, nvrtc *ret,
                                        tutti_error *err);

/* Compiles `text` for the device's architecture; `what` names it in errors.  *ret_code is the caller's to free.
 * Errors: E_NOMEM; E_RANGE for too many headers; E_ARG with its first error where the text is wrong; E_FAIL with NVRTC's
 * number for what else fails there.  [control] */
TUTTI_NODISCARD tutti_status nvrtc_compile(const nvrtc *n, const tutti_cuda_v1 *cuda,
                                           const char *what, const char *text,
                                           const nvrtc_header *headers, uint32_t nheaders,
                                           void **ret_code, uint64_t *ret_bytes,
                                           tutti_error *err);

#endif
