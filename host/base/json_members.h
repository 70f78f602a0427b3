/* json_members.h - members of JSON objects read by tables: a row has a name, a type, a range and a target. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_JSON_MEMBERS_H
#define HOST_BASE_JSON_MEMBERS_H

#include "base/faults.h"

#include <stddef.h>

enum {
    MEMBER_ANY,    /* the table's owner reads it; into a const json_node *, as is */
    MEMBER_BOOL,   /* into a bool or an integer, 1 or 0 */
    MEMBER_INT,    /* into an integer */
    MEMBER_REAL,   /* an integer or a real, into a double */
    MEMBER_NUMBER, /* the same into a const json_node *, as is */
    MEMBER_STRING, /* not empty; into a const char *, borrowed from the document */
    MEMBER_SHA256, /* in lower-case hexadecimal digits; the same */
    MEMBER_WORD,   /* one of `words`; into a const char *, borrowed from the row */
    MEMBER_CHOICE, /* one of `words`; its index, into a bool or an integer */
    MEMBER_TIME,   /* "10ep", or an integer that counts epochs; into a tutti_time */
    MEMBER_ARRAY,  /* of at most MEMBER_ITEMS; into a const json_node *, as is */
    MEMBER_OBJECT, /* the same */
    MEMBER_WORDS   /* of strings, none empty or twice, at least one; the same; see json_words */
};

#define MEMBER_ITEMS 256 /* of an array or object that is such a member */

enum {
    MEMBER_REQUIRED = 1, /* its absence is a fault */
    MEMBER_NULLABLE = 2, /* null is as if it were absent */
    MEMBER_ABOVE = 4     /* `min` itself is out of range */
};

/* A member that an object may have.  Tables end with a row without a name. */
typedef struct json_member {
    const char *name;
    int type; /* MEMBER_* */
    unsigned flags;
    size_t offset; /* of the target in the structure */
    size_t size;   /* of the target; 0: the member is checked and stored nowhere */
    int64_t min;   /* of INT and REAL; both 0: any number */
    int64_t max;   /* INT64_MAX: no upper bound */
    /* Of WORD and CHOICE, NULL-terminated.  INT and BOOL accept these beside their own values: the k-th is
     * stored as -1 - k. */
    const char *const *words;
    /* Of STRING: what else the text must be, as `want` says; NULL: nothing. */
    bool (*fits)(const char *text);
    const char *want; /* what messages ask for; NULL: what type and range say */
} json_member;

/* The target of a row: a member of a structure. */
#define MEMBER_AT(type, field)                                                                 \
    .offset = offsetof(type, field), .size = sizeof(((type *)0)->field)

/* Reads the members of object `at` that `rows` name into `target`.  A member that is absent or faulty leaves
 * its target as it is: that is its default.  Every fault is one sentence: what the value is, and what is
 * wanted.  [control] */
void json_members_read(const json_node *at, const json_member *rows, void *target, faults *f);

/* The texts of a list that MEMBER_WORDS has read, NULL-terminated; the caller frees the array.  NULL: of NULL, or
 * with a fault when memory is out. */
const char **json_words(const json_node *list, faults *f);

/* One fault for every member of `at` that none of the tables names, with the nearest name; "x-..." may always be
 * there.  `tables` is NULL-terminated.  [control] */
void json_members_known(const json_node *at, const json_member *const *tables, faults *f);

/* One fault for the first member of `at` that is meant for `name`, which `at` does not have.  False: there is none. */
bool json_member_misspelt(const json_node *at, const char *name, faults *f);

/* For an object that has one table: refuses members that it does not name, reads the others.  `want` describes the
 * object.  False when `at` is none. */
bool json_object_read(const json_node *at, const char *want, const json_member *rows,
                      void *target, faults *f);

/* Whether `at` has the type JSON_*; else a fault that wants `want`. */
bool json_want(const json_node *at, int type, const char *want, faults *f);

/* Zeroed items of `size` bytes for the array `list`, one more than it has; the caller frees them.  NULL and 0
 * when `list` is NULL, and with a fault when it is no array or memory is out. */
void *json_array_alloc(const json_node *list, size_t size, const char *want, size_t *ret_count,
                       faults *f);

#endif
