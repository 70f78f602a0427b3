/* nccl_traces.h - traces that ranks write of their calls of NCCL, and the golden ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_NCCL_TRACES_H
#define TESTS_CUDA_NCCL_TRACES_H

#include "tutti_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 8192 };

static char folder[64]; /* of traces, and of what the stand-in's ranks share */

/* Before any rank begins: where it writes its trace. */
static inline void trace_path(char *path, int rank)
{
    (void)snprintf(path, 96, "%s/rank%d", folder, rank);
}

static inline void read_text(const char *path, char text[TEXT])
{
    FILE *file = fopen(path, "rb");
    const size_t n = file ? fread(text, 1, TEXT - 1, file) : 0;
    text[n] = '\0';
    if (file)
        (void)fclose(file);
}

/* What rank `rank` has called NCCL for, against golden/<name>-<rank>.txt; TUTTI_TEST_GOLDEN=write writes that. */
static inline void ck_assert_golden(const char *name, int rank)
{
    static char got[TEXT], expected[TEXT];
    char path[200];
    trace_path(path, rank);
    read_text(path, got);
    (void)snprintf(path, sizeof path, GOLDEN "/%s-%d.txt", name, rank);
    FILE *file = getenv("TUTTI_TEST_GOLDEN") ? fopen(path, "wb") : NULL;
    if (file && (fputs(got, file) < 0 || fclose(file) != 0))
        ck_abort_msg("%s cannot be written", path);
    read_text(path, expected);
    ck_assert_msg(strcmp(got, expected) == 0, "%s is\n%s---- but was called\n%s----", path,
                  expected, got);
}

/* Nothing of the ranks is left but their traces. */
static inline void clean_up(int size)
{
    char path[96];
    for (int r = 0; r < size; r++) {
        trace_path(path, r);
        (void)unlink(path);
    }
    ck_assert_msg(rmdir(folder) == 0, "%s is not empty", folder);
}

#endif
