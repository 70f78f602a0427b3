/* nccl_standin.h - the inside of a libnccl without GPUs: ranks as processes, what they share, the rules. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_NCCL_STANDIN_H
#define TESTS_CUDA_NCCL_STANDIN_H

#include "nccl_api.h"
#include "standin_work.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The exported functions are declared by who calls them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

enum { RANKS = 8, CALLS = 256, MOVES = 64, COMMS = 8 };

/* ---- what the environment asks (settings.c) ---- */

/* TUTTI_NCCL_STANDIN, "name=value,name=value". */
typedef struct nccl_settings {
    int version; /* 22800 */
    int fail_call; /* behind the operation of this number, from 1, the communicator has failed; 0: none */
    int fail_code;  /* with which result: 6, a remote error */
    int stall_call; /* the operation of this number never begins on the stream; 0: none */
} nccl_settings;
const nccl_settings *nccl_standin_settings(void);
/* One line to the file that TUTTI_NCCL_TRACE names. */
__attribute__((format(printf, 1, 2))) void nccl_trace(const char *format, ...);
/* The streams that this process has called with, counted from 1. */
int nccl_stream_number(const struct CUstream_st *stream);

/* ---- what ranks share (shared.c) ---- */

/* A collective as one rank has called it. */
typedef struct shared_call {
    char text[64]; /* "all_gather of 64 bytes" */
} shared_call;

typedef struct shared_rank {
    atomic_int joined; /* 1 more than its device */
    atomic_int left;
    atomic_uint ncalls;
    shared_call calls[CALLS];
} shared_rank;

/* In a file that all ranks have mapped; zero is a good beginning. */
typedef struct shared {
    atomic_int size; /* of the rank that came first */
    shared_rank ranks[RANKS];
    atomic_uint sent[RANKS][RANKS];   /* messages from the first to the second */
    atomic_uint wanted[RANKS][RANKS]; /* receives of the second from the first */
} shared;

/* The path of a folder for a new communicator, which is the id.  False: it is too long. */
bool shared_name(nccl_id *ret_id);
/* The first rank makes it.  NULL: it cannot be made. */
shared *shared_open(const char *folder);
/* The last rank removes the folder. */
void shared_close(shared *s, const char *folder, int rank, int size);
/* Message `number` from one rank to another: written whole, then read and removed.  shared_read returns how many bytes it
 * has, of which at most `bytes` are read; SIZE_MAX: it cannot be read. */
bool shared_write(const char *folder, int from, int to, unsigned number, const void *data,
                  size_t bytes);
size_t shared_read(const char *folder, int from, int to, unsigned number, void *data,
                   size_t bytes);

/* ---- communicators (comm.c) ---- */

struct ncclComm {
    shared *shared;
    char folder[sizeof(nccl_id)];
    int rank, size;
    struct CUstream_st *stream; /* of all operations */
    int noperations;
    unsigned int error; /* asynchronous */
    bool open;          /* neither destroyed nor aborted */
    bool finalized, checked;
    char last_error[200];
};

/* The device fails for good with this sentence; returns NCCL_INVALID_USAGE. */
__attribute__((format(printf, 1, 2))) unsigned int nccl_misuse(const char *format, ...);
/* A communicator of this process that is still open, or NULL; whether all ranks have joined it. */
struct ncclComm *comm_find(struct ncclComm *comm);
bool comm_is_whole(const struct ncclComm *c);

#endif
