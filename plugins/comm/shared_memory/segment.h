/* segment.h - the memory that the ranks of one machine share, and waiting for each other in it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHARED_MEMORY_SEGMENT_H
#define SHARED_MEMORY_SEGMENT_H

#include "tutti/collectives.h"

#include <stdatomic.h>

enum { SEGMENT_RANKS = 128, SEGMENT_STATIONS = 2 };

/* Why ranks wait for one in vain. */
typedef enum segment_fate { FATE_LATE, FATE_LEFT, FATE_ENDED } segment_fate;

/* What the others see of a rank. */
typedef struct segment_rank {
    _Atomic int32_t pid;      /* 0: not there yet */
    _Atomic uint32_t arrived; /* barriers that it has come to */
    _Atomic uint32_t left;    /* 1: it has said goodbye */
    uint32_t reserved;
    tutti_progress progress;
    uint64_t offsets[SEGMENT_RANKS]; /* of the operation under way: where each rank's part is */
    uint64_t bytes[SEGMENT_RANKS];
} segment_rank;

typedef struct segment_header {
    _Atomic uint32_t ready; /* SEGMENT_READY once rank 0 has filled the rest */
    int32_t size;
    uint64_t run;
    uint64_t capacity;      /* bytes of a rank's mailbox */
    _Atomic uint32_t count; /* ranks at the barrier */
    _Atomic uint32_t round; /* barriers that all have passed; waited on by futex */
    /* What the first rank that broke the run off saw: fate << 16 | rank + 1; 0: nothing is wrong.  Others name
     * the same one, and not a rank that left for its sake. */
    _Atomic uint32_t culprit;
    segment_rank ranks[];
} segment_header;

typedef struct segment {
    segment_header *shared;
    char *mailboxes;
    uint64_t bytes; /* that are mapped */
    char name[128]; /* of the POSIX shared memory object */
    int32_t rank, size;
    int peers[SEGMENT_RANKS]; /* a pidfd each; -1 for none */
    uint32_t timeout_ms;
    const tutti_join *joins; /* while segment_open waits; else NULL */
    tutti_status broken;     /* what every wait says once one has failed */
    tutti_error why;
} segment;

/* Rank 0 makes the object, the others wait for it.  Errors: E_IO, E_STATE names who is missing; E_INTERRUPTED. */
TUTTI_NODISCARD tutti_status segment_open(segment *s, const char *name, int32_t rank,
                                          int32_t size, uint64_t capacity,
                                          const tutti_join *how, tutti_error *err);
void segment_close(segment *s);
/* Until all ranks have come here. */
TUTTI_NODISCARD tutti_status segment_wait(segment *s, tutti_error *err);
char *segment_mailbox(const segment *s, int32_t rank);

#endif
