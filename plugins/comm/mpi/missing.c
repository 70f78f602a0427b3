/* missing.c - which ranks have not come: a rank whose operation does not end in time asks the others. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A question has the number of the operation that has not ended; an answer has how many the rank has begun.  Whoever waits,
 * or looks whether an operation is over, answers; a rank that computes, is stopped or has ended does not. */
enum { MPI_ASKS_TAG = 7001, MPI_ANSWERS_TAG = 7002, MPI_LISTEN_MS = 1000, MPI_PAUSE_US = 50 };

static void mpi_send_number(const mpi *m, int to, int tag, const uint64_t *number)
{
    MPI_Request request;
    if (MPI_Isend(number, 1, MPI_UINT64_T, to, tag, m->comm, &request) == MPI_SUCCESS)
        (void)MPI_Request_free(&request);
}

/* A message of that kind, if there is one; the sender, or -1. */
static int mpi_take_number(const mpi *m, int tag, uint64_t *ret_number)
{
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, tag, m->comm, &there, &status) != MPI_SUCCESS || !there)
        return -1;
    return MPI_Recv(ret_number, 1, MPI_UINT64_T, status.MPI_SOURCE, tag, m->comm,
                    MPI_STATUS_IGNORE) == MPI_SUCCESS
               ? status.MPI_SOURCE
               : -1;
}

void mpi_answer(mpi *m)
{
    uint64_t number = 0;
    const int asks = mpi_take_number(m, MPI_ASKS_TAG, &number);
    if (asks >= 0) {
        m->answers[asks] = m->begun;
        mpi_send_number(m, asks, MPI_ANSWERS_TAG, &m->answers[asks]);
    }
}

/* Which ranks have begun it, as far as they say so in a second. */
static void mpi_ask(mpi *m, uint64_t number, char *came)
{
    const int64_t began = mpi_now_ms();
    int left = m->world.size - 1;
    m->asked = number;
    came[m->world.rank] = 1;
    for (int k = 0; k < m->world.size; k++)
        if (k != m->world.rank)
            mpi_send_number(m, k, MPI_ASKS_TAG, &m->asked);
    while (left > 0 && mpi_now_ms() - began < MPI_LISTEN_MS) {
        uint64_t begun = 0;
        const int from = mpi_take_number(m, MPI_ANSWERS_TAG, &begun);
        if (from >= 0 && begun >= number && !came[from]) {
            came[from] = 1;
            left--;
        }
        mpi_answer(m); /* others may have waited for as long */
        if (from < 0)
            (void)usleep(MPI_PAUSE_US);
    }
}

/* "rank 2 has", "ranks 1 and 3 have", "4 ranks, the first of them rank 1, have"; "": none of them is missing. */
static void mpi_name_missing(const mpi *m, const char *came, char *text, size_t size)
{
    int missing[2] = {0, 0}, count = 0;
    for (int k = 0; k < m->world.size; k++) {
        if (!came[k] && count < 2)
            missing[count] = k;
        count += !came[k];
    }
    text[0] = 0;
    if (count == 1)
        (void)snprintf(text, size, "rank %d has", missing[0]);
    else if (count == 2)
        (void)snprintf(text, size, "ranks %d and %d have", missing[0], missing[1]);
    else if (count > 2)
        (void)snprintf(text, size, "%d ranks, the first of them rank %d, have", count,
                       missing[0]);
}

tutti_status mpi_break_off(mpi *m, uint64_t number, tutti_error *err)
{
    char who[64] = "a rank has";
    char *came = calloc((size_t)m->world.size, 1);
    if (came) {
        mpi_ask(m, number, came);
        mpi_name_missing(m, came, who, sizeof who);
    }
    free(came);
    m->why = (tutti_error)TUTTI_ERROR_INIT;
    m->broken = who[0] ? tutti_fail(&m->why, TUTTI_E_STATE,
                                    "%s not come in %g s; this one is at step %llu, %s", who,
                                    m->timeout_ms * 1e-3, (unsigned long long)m->progress.step,
                                    m->progress.phase)
                       : tutti_fail(&m->why, TUTTI_E_STATE,
                                    "an operation of MPI has not ended in %g s, though all "
                                    "ranks are there; this one is at step %llu, %s",
                                    m->timeout_ms * 1e-3, (unsigned long long)m->progress.step,
                                    m->progress.phase);
    return tutti_fail(err, m->broken, "%s", m->why.text);
}
