/* names.h - numbers for what kernels are called and where they stand, kept for messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEVICE_CUDA_NAMES_H
#define HOST_DEVICE_CUDA_NAMES_H

#include <stdint.h>

/* Zero is empty. */
typedef struct names {
    char **texts;    /* by number - 1: "layer1.act: gelu" */
    uint32_t *table; /* numbers by hash; 0: free */
    uint32_t count;
    uint32_t size; /* of the table: 0 or a power of two */
} names;

/* The number of "<where>: <name>", from 1 on and the same each time; `where` may be NULL or empty.  0:
 * out of memory. */
uint32_t names_number(names *n, const char *where, const char *name);
const char *names_text(const names *n,
                       uint32_t number); /* "a kernel" for those that are none */
void names_fini(names *n);

#endif
