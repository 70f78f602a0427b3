/* nccl_agrees.c - our declarations of NCCL held against NVIDIA's; compiled, never run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <nccl.h>

typedef ncclUniqueId nccl_id;
typedef ncclConfig_t nccl_config;
#define NCCL_HAS_TYPES
#include "nccl_api.h"

/* An assignment needs compatible types, and an enum is compatible with unsigned int in C. */
#define TAKE(type, name, args) .name = name,
const nccl_api taken = {NCCL_CALLS(TAKE)};

#define SAME(ours, theirs)                                                                     \
    _Static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
SAME(NCCL_SUCCESS, ncclSuccess);
SAME(NCCL_UNHANDLED_CUDA_ERROR, ncclUnhandledCudaError);
SAME(NCCL_SYSTEM_ERROR, ncclSystemError);
SAME(NCCL_INTERNAL_ERROR, ncclInternalError);
SAME(NCCL_INVALID_ARGUMENT, ncclInvalidArgument);
SAME(NCCL_INVALID_USAGE, ncclInvalidUsage);
SAME(NCCL_REMOTE_ERROR, ncclRemoteError);
SAME(NCCL_IN_PROGRESS, ncclInProgress);
SAME(NCCL_INT8, ncclInt8);
SAME(NCCL_OLDEST, NCCL_VERSION(2, 14, 0));
SAME(sizeof(ncclUniqueId), 128);

/* What a config of 2.14 has is where later ones have it. */
static const ncclConfig_t fresh = NCCL_CONFIG_INITIALIZER;
#define SAME_PLACE(name) SAME(offsetof(nccl_config_2_14, name), offsetof(ncclConfig_t, name))
SAME_PLACE(size);
SAME_PLACE(magic);
SAME_PLACE(version);
SAME_PLACE(blocking);
#ifdef NCCL_API_MAGIC /* older headers have the number alone */
SAME(NCCL_MAGIC, NCCL_API_MAGIC);
#endif
const void *const used = &fresh;
