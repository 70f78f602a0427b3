/* argument.h - values of a run file, in memory as the functions of C find them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_HANDLERS_ARGUMENT_H
#define HOST_ENGINE_HANDLERS_ARGUMENT_H

#include "plugin/registry.h"

typedef struct callback callback;               /* callback.h */
typedef struct argument_memory argument_memory; /* blocks that stay where they are */
typedef struct argument_reader argument_reader;

/* Who reads, and where what is made goes: the owner frees both lists. */
struct argument_reader {
    registry *registry;
    argument_memory **memory;
    callback **callbacks;
    faults *f;
    /* A callback's arguments are read as any, so whoever reads knows it. */
    void (*read_callback)(const argument_reader *r, const json_node *at, const ctype *type,
                          const char *name, void *to);
};

/* `bytes` zeros, aligned for any type; NULL with a fault at `at`. */
void *argument_allocate(const argument_reader *r, size_t bytes, const json_node *at);
void argument_memory_free(argument_memory *m); /* NULL is allowed */

/* Writes the value at `at` to the t->size zeros at `to`.  A struct is a list or an object by its members' names,
 * an array a list, or a text where its items are i8 or u8; what they leave out is 0.  A pointer is null, or what
 * it points to.  A callback is a declared function, or {"call": ..., "args": ...}.  `name` is for messages. */
void argument_read(const argument_reader *r, const json_node *at, const ctype *t,
                   const char *name, void *to);

#endif
