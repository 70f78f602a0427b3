/* ctype.h - types of C as manifests declare them: numbers, structs, arrays, pointers, callbacks. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_CALL_CTYPE_H
#define HOST_PLUGIN_CALL_CTYPE_H

#include "base/faults.h"

#define CTYPE_MAX_BYTES ((size_t)1 << 16) /* of one value */

typedef enum ctype_kind {
    CTYPE_VOID, /* a result alone */
    CTYPE_NUMBER,
    CTYPE_BOOL,    /* an int */
    CTYPE_TEXT,    /* str: const char * */
    CTYPE_TIME,    /* time: const tutti_time * */
    CTYPE_OPAQUE,  /* ptr: void *, of which a run file can only say null */
    CTYPE_POINTER, /* T*, and as an argument T[n] */
    CTYPE_ARRAY,   /* T[n], inside something */
    CTYPE_STRUCT,
    CTYPE_CALLBACK /* a pointer to a function */
} ctype_kind;

typedef struct ctype ctype;
typedef struct ctype_member {
    const char *name;
    const char *word; /* of the type, as the manifest has it */
    const ctype *type;
    size_t offset; /* bytes from the struct's begin */
} ctype_member;

struct ctype {
    ctype *next; /* of the same owner */
    const char *word;
    ctype_kind kind;
    size_t size, align; /* bytes, as this machine's C lays it out */
    const ctype *of;    /* what a POINTER points to; an ARRAY's item; what a CALLBACK gives */
    size_t count;       /* items of an ARRAY; members of a STRUCT; arguments of a CALLBACK */
    ctype_member *members; /* `count` of a STRUCT or CALLBACK */
    char text[];           /* of `word`, where the manifest has none of its own */
};

/* A place in the storage of an argument, or in a result. */
typedef struct ctype_place {
    int32_t arg; /* -1: the result */
    size_t offset;
    const ctype *type; /* a number or bool */
} ctype_place;

typedef struct ctypes ctypes; /* the types that a manifest declares, and those made of them */

/* Reads the manifest's "types", each of which knows those above it; faults go to `f`.  NULL: no memory. */
ctypes *ctypes_read(const json_node *list, faults *f);
void ctypes_free(ctypes *t); /* NULL is allowed */

/* The type of an argument, as a word such as "i32", "point", "point*" or "f64[3]"; NULL with a fault at `at`.
 * An array is a pointer to its first item, as in C. */
const ctype *ctype_argument(ctypes *t, const char *word, const json_node *at, faults *f);
/* What a function returns: NULL with a fault where `word` is nothing that it can. */
const ctype *ctype_result(ctypes *t, const char *word, const json_node *at, faults *f);
/* The number that "ts.tv_nsec" or "returns.quot" means; false with a fault. */
bool ctype_find(const char *path, const char *const *names, const ctype *const *args,
                size_t nargs, const ctype *result, const json_node *at, ctype_place *ret_place,
                faults *f);

bool ctype_is_number(const ctype *t);                /* or a bool */
bool ctype_same(const ctype *a, const ctype *b);     /* whether one may stand for the other */
double ctype_number(const ctype *t, const void *at); /* a number or bool that lies there */

#endif
