/* released.h - what releases of the SDK froze: sizes of structs, places of members, interface ids. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_RELEASED_H
#define HOST_BASE_RELEASED_H

#include "tutti/base.h"

#define TUTTI_MEMBER(type, member, offset, size)

/* RELEASED(tutti_weight): bytes of the struct in the first release that has it; a table, an in-struct or an
 * out-struct never has less. */
#define RELEASED(type) ((uint32_t)RELEASED_##type)
enum {
#define TUTTI_SIZE(type, size) RELEASED_##type = (size),
#include "released.inc"
#undef TUTTI_SIZE
};

#undef TUTTI_MEMBER

/* Gives a plugin an out-struct: of `from`, which has `size` bytes, as much as the caller's struct_size has room for.
 * *to keeps its struct_size.  Errors: E_ARG, *to untouched: it is smaller than RELEASED, or than `size` where no release
 * has the type yet, usually because nobody set it. */
#define RELEASED_GIVE(type, to, from, err)                                                     \
    released_give((to), (from), (uint32_t)sizeof(type), #type, (err))
tutti_status released_give(void *to, const void *from, uint32_t size, const char *type,
                           tutti_error *err);

/* Whether the caller's out-struct can be filled at all: before work is done for it. */
#define RELEASED_CAPACITY(type, to, err)                                                       \
    released_capacity((to)->struct_size, (uint32_t)sizeof(type), #type, (err))
tutti_status released_capacity(uint32_t struct_size, uint32_t size, const char *type,
                               tutti_error *err);

/* The first thing that is wrong with a struct that a plugin hands the host: too small, as above; a reserved member that
 * is not 0.  Errors: E_ARG. */
#define RELEASED_TAKE(type, from, err)                                                         \
    released_take((from), (uint32_t)sizeof(type), #type, (err))
tutti_status released_take(const void *from, uint32_t size, const char *type, tutti_error *err);

/* Likewise of a typed table that a plugin answers for `id` ("tutti.dataset/1").  The sentence is "its
 * tutti.dataset/1 ...".  Errors: E_VERSION, E_ARG. */
tutti_status released_table(const void *table, const char *id, tutti_error *err);

#endif
