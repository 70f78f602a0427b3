/* bench.h - a run that is open and does not train: its services, and objects opened beside it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CHECK_BENCH_H
#define HOST_CHECK_BENCH_H

#include "check/child.h"
#include "check/subject.h"

enum { BENCH_SERVICES = 48 };

typedef struct bench {
    const subject *subject;
    child *child;
    registry_probe probe;
    run_file *run;
    trainer *trainer;
    const char *denied; /* a service that this host does not have, or NULL */
    bool denies_all;
    char asked[BENCH_SERVICES][48]; /* services that were asked for */
    int nasked;
} bench;

/* In a child: opens the stock run, loads the plugin, has its imports redirected.  What fails is said of `check`. */
bool bench_begin(bench *b, const subject *s, child *c, int check);
void bench_end(bench *b);

/* Opens the object with the subject's settings and `more`.  Errors: those of instance_open; E_ARG with
 * *ret_given false: the manifest refuses these settings. */
tutti_status bench_open(bench *b, const char *more, bool *ret_given, instance **ret_instance,
                        tutti_error *err);

/* A failed call has a negative status and one sentence; what is wrong with it is said of `check`. */
void bench_judge_refusal(bench *b, int check, const char *what, tutti_status s,
                         const tutti_error *err);

/* Bytes of the heap in use. */
size_t bench_heap(void);

/* A host of our own over the bench's services, for calls past the registry. */
const void *bench_service(void *ctx, instance *i, const char *interface_id);

/* The checks of these files. */
void bench_check_openings(child *c, void *subject_); /* openings.c */
void bench_check_memory(child *c, void *subject_);   /* memory.c */
void bench_check_settings(child *c, void *subject_); /* settings.c */
void bench_check_tables(child *c, void *subject_);   /* tables.c */
void bench_check_traits(child *c, void *subject_);   /* traits.c */

#endif
