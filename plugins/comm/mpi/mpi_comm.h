/* mpi_comm.h - what the files of this plugin share: the run's communicator, operations under way, why it is over. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MPI_COMM_H
#define MPI_COMM_H

#define TUTTI_USE_MINOR 2 /* TUTTI_COLLECTIVES_CONCURRENT */
#define TUTTI_MIN_MINOR 0
#include "tutti/collectives.h"
#include "tutti/tutti.h"

#include <mpi.h>
#include <time.h>

/* Operations under way at once: what the host begins before it waits. */
enum { MPI_OPERATIONS = 4, MPI_WHO = 64 };

/* One that has begun, and what MPI reads until it is done. */
typedef struct mpi_operation {
    uint64_t number; /* its request; 0: none is under way */
    const char *what;
    MPI_Request request;
    int *counts[2], *offsets[2]; /* of parts, by rank; one block of memory */
} mpi_operation;

typedef struct mpi {
    MPI_Comm comm; /* of the run alone */
    tutti_world_info world;
    uint32_t timeout_ms;
    tutti_progress progress;
    tutti_status broken; /* what every wait says once one has failed */
    tutti_error why;
    mpi_operation operations[MPI_OPERATIONS];
    uint64_t begun;    /* operations so far, which all ranks begin in one order */
    uint64_t asked;    /* missing.c: what MPI reads until it is sent */
    uint64_t *answers; /* by rank; each asks once */
    uint64_t
        *waits; /* by rank: the operation that it has asked for, so that it has begun that */
    char said[MPI_WHO];  /* who has not come, by this rank; "": nobody */
    char heard[MPI_WHO]; /* by another one, which ends the job */
    int began;           /* MPI by this object, which ends it */
    int joined;
} mpi;

static inline int64_t mpi_now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* missing.c.  Tells a rank that asks which operations this one has begun; hears whom another one has found missing.  [step] */
void mpi_answer(mpi *m);
/* Operation `number` has not ended in time: asks who has not begun it, and says so for good, to the other ranks too, or
 * what another one has said.  TUTTI_OK: all have, and it is not the `last` time that this one waits.  [step] */
tutti_status mpi_break_off(mpi *m, uint64_t number, int last, tutti_error *err);

#endif
