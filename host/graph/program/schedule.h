/* schedule.h - what ordering a program's steps and choosing them share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PROGRAM_SCHEDULE_H
#define HOST_GRAPH_PROGRAM_SCHEDULE_H

#include "graph/program/builder.h"

typedef struct schedule {
    builder *b;
    program *p;
    uint64_t *keys;            /* by slot: equal ones are the same memory */
    tutti_value *alias_set_of; /* as it is with no result in the place of an input, */
    alias_set *alias_sets;     /* likewise: measuring merges classes */
    step *steps;               /* as accepted */
    step *first;               /* as they came */
    int64_t *live;             /* by time: change of the bytes of values */
    uint64_t *scratch;         /* by time: bytes */
    uint64_t floor;            /* 0, or sums count what lies above this */
    double unit;               /* otherwise: (bytes / unit)^32 */
    uint32_t tries;
} schedule;

/* What is to become smaller.  Lowering one peak may raise others a little, so `sum` counts them all:
 * at first what scratch adds to the most that values alone need, then (bytes alive)^32, in which hardly
 * anything counts but what is near the peak. */
typedef struct peak {
    double sum;      /* over all times */
    uint64_t bytes;  /* the most */
    uint64_t values; /* the most without scratch */
    uint32_t at;     /* the first step with `bytes`, or NEVER: it is between the segments */
} peak;

/* Of p->steps as they are now; leaves classes as they were. */
peak schedule_measure(schedule *s);
void schedule_find_keys(schedule *s);
/* Leaves the best order in p->steps; sums are (bytes)^32 from then on. */
void schedule_search(schedule *s);
/* Whether step `b` reads or writes what step `a` writes. */
bool schedule_reads(const schedule *s, const step *b, const step *a);

/* rematerialize.c: which of the steps that rematerialize something run. */
typedef struct rematerialization rematerialization;
/* Takes all of them out of p->steps; their results are then what they repeat.  NULL: there are none. */
tutti_status rematerialize_begin(schedule *s, rematerialization **ret_rematerialization,
                                 tutti_error *err);
/* Puts those back that are worth it. */
void rematerialize_choose(rematerialization *a);
/* Gives the others up; NULL is allowed. */
void rematerialize_end(rematerialization *a);

#endif
