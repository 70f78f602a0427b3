/* released.h - what release 1.0 of the SDK froze: sizes of structs, places of members, interface ids. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_RELEASED_H
#define HOST_BASE_RELEASED_H

#include "tutti/base.h"

#define TUTTI_MEMBER(type, member, offset, size)
#define TUTTI_VALUE(name, value)
#define TUTTI_TEXT(name, text)

/* RELEASED(tutti_weight): bytes of the struct in 1.0; a table or out-struct never has less. */
#define RELEASED(type) ((uint32_t)RELEASED_##type)
enum {
#define TUTTI_SIZE(type, size) RELEASED_##type = (size),
#include "1.0/layout.inc"
#undef TUTTI_SIZE
};

#undef TUTTI_MEMBER
#undef TUTTI_VALUE
#undef TUTTI_TEXT

/* Gives a plugin an out-struct: of `from` as much as the caller's struct_size has room for.  *to keeps its
 * struct_size.  Errors: E_ARG, *to untouched: it is smaller than in 1.0, usually because nobody set it. */
#define RELEASED_GIVE(type, to, from, err)                                                     \
    released_give((to), (from), (uint32_t)sizeof(type), RELEASED(type), #type, (err))
tutti_status released_give(void *to, const void *from, uint32_t size, uint32_t least,
                           const char *type, tutti_error *err);

/* Whether the caller's out-struct can be filled at all: before work is done for it. */
#define RELEASED_ROOM(type, to, err)                                                           \
    released_room((to)->struct_size, RELEASED(type), #type, (err))
tutti_status released_room(uint32_t struct_size, uint32_t least, const char *type,
                           tutti_error *err);

/* The first thing that is wrong with a typed table that a plugin answers for `id` ("tutti.dataset/1"): less
 * than 1.0 has, a reserved member that is not 0.  An id that 1.0 does not have is only held to a
 * struct_size of its own.  The sentence is "its tutti.dataset/1 ...".  Errors: E_VERSION, E_ARG. */
tutti_status released_table(const void *table, const char *id, tutti_error *err);

#endif
