/* nccl_api.h - the part of NCCL that this plugin calls, declared here: no header of NVIDIA's is needed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NCCL_API_H
#define NCCL_API_H

#include <stddef.h>
#include <stdint.h>

/* Names and values are NVIDIA's, of NCCL 2.14 and later; a test holds them against its header where that is.  Enums are
 * passed as unsigned int, which is what they are to a C compiler. */
struct ncclComm;
struct CUstream_st;

enum {
    NCCL_SUCCESS = 0,
    NCCL_UNHANDLED_CUDA_ERROR = 1,
    NCCL_SYSTEM_ERROR = 2,
    NCCL_INTERNAL_ERROR = 3,
    NCCL_INVALID_ARGUMENT = 4,
    NCCL_INVALID_USAGE = 5,
    NCCL_REMOTE_ERROR = 6,
    NCCL_IN_PROGRESS = 7,
};
enum { NCCL_INT8 = 0 };        /* ncclDataType_t: bytes */
enum { NCCL_OLDEST = 21400 };  /* of ncclGetVersion: calls that do not block */
#define NCCL_MAGIC 0xcafebeefu /* of nccl_config */

/* ncclConfig_t as NCCL 2.14 had it: later ones know by `version` where it ends. */
typedef struct nccl_config_2_14 {
    size_t size;
    unsigned int magic;
    unsigned int version;
    int blocking; /* 0: calls return at once, and ncclCommGetAsyncError says when they are over */
    int unused;
} nccl_config_2_14;

#ifndef NCCL_HAS_TYPES
typedef struct nccl_id {
    char bytes[128];
} nccl_id;
typedef nccl_config_2_14 nccl_config;
#endif

/* X(type of the result, name, arguments). */
#define NCCL_CALLS(X)                                                                          \
    X(unsigned int, ncclGetVersion, (int *version))                                            \
    X(unsigned int, ncclGetUniqueId, (nccl_id * id))                                           \
    X(unsigned int, ncclCommInitRankConfig,                                                    \
      (struct ncclComm * *comm, int size, nccl_id id, int rank, nccl_config *config))          \
    X(unsigned int, ncclCommFinalize, (struct ncclComm * comm))                                \
    X(unsigned int, ncclCommDestroy, (struct ncclComm * comm))                                 \
    X(unsigned int, ncclCommAbort, (struct ncclComm * comm))                                   \
    X(unsigned int, ncclCommGetAsyncError, (struct ncclComm * comm, unsigned int *error))      \
    X(const char *, ncclGetErrorString, (unsigned int error))                                  \
    X(const char *, ncclGetLastError, (struct ncclComm * comm))                                \
    X(unsigned int, ncclGroupStart, (void))                                                    \
    X(unsigned int, ncclGroupEnd, (void))                                                      \
    X(unsigned int, ncclSend,                                                                  \
      (const void *data, size_t count, unsigned int dtype, int peer, struct ncclComm *comm,    \
       struct CUstream_st *stream))                                                            \
    X(unsigned int, ncclRecv,                                                                  \
      (void *data, size_t count, unsigned int dtype, int peer, struct ncclComm *comm,          \
       struct CUstream_st *stream))                                                            \
    X(unsigned int, ncclAllGather,                                                             \
      (const void *from, void *to, size_t count, unsigned int dtype, struct ncclComm *comm,    \
       struct CUstream_st *stream))                                                            \
    X(unsigned int, ncclBroadcast,                                                             \
      (const void *from, void *to, size_t count, unsigned int dtype, int root,                 \
       struct ncclComm *comm, struct CUstream_st *stream))

#define NCCL_MEMBER(type, name, args) type(*name) args;
typedef struct nccl_api {
    NCCL_CALLS(NCCL_MEMBER)
} nccl_api;
#undef NCCL_MEMBER

#endif
