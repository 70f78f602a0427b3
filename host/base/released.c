/* released.c - holding structs that cross the ABI to what releases froze. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/released.h"
#include "tutti/op.h"

#include <stdbool.h>
#include <string.h>

typedef struct size_row {
    const char *type;
    uint32_t size;
} size_row;

typedef struct member_row {
    const char *type;
    const char *member;
    uint32_t offset;
    uint32_t size;
} member_row;

static const size_row sizes[] = {
#define TUTTI_SIZE(type, size) {#type, size},
#define TUTTI_MEMBER(type, member, offset, size)
#include "released.inc"
#undef TUTTI_SIZE
#undef TUTTI_MEMBER
};

static const member_row members[] = {
#define TUTTI_SIZE(type, size)
#define TUTTI_MEMBER(type, member, offset, size) {#type, #member, offset, size},
#include "released.inc"
#undef TUTTI_SIZE
#undef TUTTI_MEMBER
};

/* Bytes of the struct in the first release that has it; `otherwise`: none has. */
static uint32_t least_size(const char *type, uint32_t otherwise)
{
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        if (strcmp(sizes[k].type, type) == 0)
            return sizes[k].size;
    return otherwise;
}

tutti_status released_capacity(uint32_t struct_size, uint32_t size, const char *type,
                               tutti_error *err)
{
    const uint32_t least = least_size(type, size);
    if (struct_size >= least)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG,
                      "the caller's %s has struct_size %u, want at least %u: set it to sizeof",
                      type, struct_size, least);
}

tutti_status released_give(void *to, const void *from, uint32_t size, const char *type,
                           tutti_error *err)
{
    uint32_t capacity;
    memcpy(&capacity, to, sizeof capacity);
    const tutti_status s = released_capacity(capacity, size, type, err);
    if (s)
        return s;
    memcpy(to, from, capacity < size ? capacity : size);
    memcpy(to, &capacity, sizeof capacity);
    return TUTTI_OK;
}

/* Whether `type` is the struct of interface `id`: "tutti_dataset_v1" of "tutti.dataset/1", or "tutti_op" of
 * "tutti.op/1", the one that has no version in its name. */
static bool is_type_of(const char *type, const char *id)
{
    if (strcmp(id, TUTTI_OP_V1) == 0)
        return strcmp(type, "tutti_op") == 0;
    for (; *type && *id; type++, id++) {
        if (*id == '/' && type[0] == '_' && type[1] == 'v')
            type++;
        else if (*id == '.' ? *type != '_' : *id != *type)
            return false;
    }
    return !*type && !*id;
}

static bool is_zero(const void *bytes, uint32_t size)
{
    static const unsigned char zeros[16];
    return size <= sizeof zeros && memcmp(bytes, zeros, size) == 0;
}

/* A reserved member that is not 0, of those that `size` bytes have; NULL: there is none. */
static const char *find_reserved(const void *from, const char *type, uint32_t size)
{
    for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
        const member_row *m = &members[k];
        if (strcmp(m->type, type) == 0 && strncmp(m->member, "reserved", 8) == 0 &&
            m->offset + m->size <= size && !is_zero((const char *)from + m->offset, m->size))
            return m->member;
    }
    return NULL;
}

tutti_status released_take(const void *from, uint32_t size, const char *type, tutti_error *err)
{
    uint32_t given;
    memcpy(&given, from, sizeof given);
    const tutti_status s = released_capacity(given, size, type, err);
    const char *reserved = s ? NULL : find_reserved(from, type, given);
    return reserved ? tutti_fail(err, TUTTI_E_ARG, "the caller's %s has a %s that is not 0",
                                 type, reserved)
                    : s;
}

tutti_status released_table(const void *table, const char *id, tutti_error *err)
{
    const char *type = NULL;
    uint32_t size, least = sizeof size;
    memcpy(&size, table, sizeof size);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes && !type; k++)
        if (is_type_of(sizes[k].type, id)) {
            type = sizes[k].type;
            least = sizes[k].size;
        }
    if (size < least)
        return tutti_fail(err, TUTTI_E_VERSION, "its %s has struct_size %u, want at least %u",
                          id, size, least);
    const char *reserved = type ? find_reserved(table, type, size) : NULL;
    return reserved
               ? tutti_fail(err, TUTTI_E_ARG, "its %s has a %s that is not 0", id, reserved)
               : TUTTI_OK;
}
