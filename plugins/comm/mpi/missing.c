/* missing.c - which ranks have not come: a rank whose operation does not end in time asks the others. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A question has the number of the operation that has not ended; an answer has how many the rank has begun.  Whoever waits,
 * or looks whether an operation is over, answers; a rank that computes, is stopped or has ended does not. */
enum {
    MPI_ASKS_TAG = 7001,
    MPI_ANSWERS_TAG = 7002,
    MPI_SAYS_TAG = 7003,
    MPI_LISTEN_MS = 1000,
    MPI_PAUSE_US = 50
};

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

/* Who has found others missing ends the job, and the launcher then wakes who is stopped and ends who is sound, one after the
 * other: what these see of each other says nothing.  So the first one says whom it has missed. */
static void mpi_say(mpi *m, const char *who)
{
    MPI_Request request;
    (void)snprintf(m->said, sizeof m->said, "%s", who);
    for (int k = 0; k < m->world.size; k++)
        if (k != m->world.rank && MPI_Isend(m->said, sizeof m->said, MPI_CHAR, k, MPI_SAYS_TAG,
                                            m->comm, &request) == MPI_SUCCESS)
            (void)MPI_Request_free(&request);
}

static void mpi_hear(mpi *m)
{
    int there = 0;
    MPI_Status status;
    if (!m->heard[0] &&
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_SAYS_TAG, m->comm, &there, &status) == MPI_SUCCESS &&
        there)
        (void)MPI_Recv(m->heard, sizeof m->heard, MPI_CHAR, status.MPI_SOURCE, MPI_SAYS_TAG,
                       m->comm, MPI_STATUS_IGNORE);
}

void mpi_answer(mpi *m)
{
    uint64_t number = 0;
    mpi_hear(m);
    const int asks = mpi_take_number(m, MPI_ASKS_TAG, &number);
    if (asks >= 0) {
        m->waits[asks] = number;
        m->answers[asks] = m->begun;
        mpi_send_number(m, asks, MPI_ANSWERS_TAG, &m->answers[asks]);
    }
}

/* Of a rank: it says nothing; it waits for an earlier operation, as for one who says nothing; it has begun this one. */
enum { MPI_SILENT, MPI_BEHIND, MPI_THERE };

static void mpi_note(const mpi *m, char *state, int rank, uint64_t begun)
{
    const char now = begun >= m->asked ? MPI_THERE : MPI_BEHIND;
    state[rank] = now > state[rank] ? now : state[rank];
}

static int mpi_count(const mpi *m, const char *state, int which)
{
    int count = 0;
    for (int k = 0; k < m->world.size; k++)
        count += state[k] == which;
    return count;
}

/* What the others say in a second. */
static void mpi_ask(mpi *m, uint64_t number, char *state)
{
    const int64_t began = mpi_now_ms();
    m->asked = number;
    state[m->world.rank] = MPI_THERE;
    for (int k = 0; k < m->world.size; k++)
        if (k != m->world.rank)
            mpi_send_number(m, k, MPI_ASKS_TAG, &m->asked);
    while (!m->heard[0] && mpi_count(m, state, MPI_SILENT) > 0 &&
           mpi_now_ms() - began < MPI_LISTEN_MS) {
        uint64_t begun = 0;
        const int from = mpi_take_number(m, MPI_ANSWERS_TAG, &begun);
        if (from >= 0)
            mpi_note(m, state, from, begun);
        mpi_answer(m); /* others may have waited for as long */
        for (int k = 0; k < m->world.size; k++)
            if (m->waits[k])
                mpi_note(m, state, k, m->waits[k]);
        if (from < 0)
            (void)usleep(MPI_PAUSE_US);
    }
}

/* "rank 2 has", "ranks 1 and 3 have", "4 ranks, the first of them rank 1, have"; "": all have begun it.  Who is behind waits
 * for those who say nothing. */
static void mpi_name_missing(const mpi *m, const char *state, char *text, size_t size)
{
    const int which = mpi_count(m, state, MPI_SILENT) > 0 ? MPI_SILENT : MPI_BEHIND;
    int missing[2] = {0, 0}, count = 0;
    for (int k = 0; k < m->world.size; k++) {
        if (state[k] == which && count < 2)
            missing[count] = k;
        count += state[k] == which;
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

tutti_status mpi_break_off(mpi *m, uint64_t number, int last, tutti_error *err)
{
    char who[MPI_WHO] = "a rank has";
    char *state = calloc((size_t)m->world.size, 1);
    if (state) {
        mpi_ask(m, number, state);
        mpi_name_missing(m, state, who, sizeof who);
    }
    free(state);
    if (m->heard[0])
        memcpy(who, m->heard, sizeof who);
    else if (who[0])
        mpi_say(m, who);
    if (!who[0] && !last)
        return TUTTI_OK;
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
