/* ctype.c - words and declarations become types with sizes and offsets. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/call/ctype.h"
#include "base/json_members.h"
#include "plugin/call/call.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN(w, k, T)                                                                         \
    {                                                                                          \
        .word = (w), .kind = (k), .size = sizeof(T), .align = _Alignof(T)                      \
    }

static const ctype plain[] = {
    PLAIN("i8", CTYPE_NUMBER, int8_t),       PLAIN("i16", CTYPE_NUMBER, int16_t),
    PLAIN("i32", CTYPE_NUMBER, int32_t),     PLAIN("i64", CTYPE_NUMBER, int64_t),
    PLAIN("u8", CTYPE_NUMBER, uint8_t),      PLAIN("u16", CTYPE_NUMBER, uint16_t),
    PLAIN("u32", CTYPE_NUMBER, uint32_t),    PLAIN("u64", CTYPE_NUMBER, uint64_t),
    PLAIN("f32", CTYPE_NUMBER, float),       PLAIN("f64", CTYPE_NUMBER, double),
    PLAIN("bool", CTYPE_BOOL, int32_t),      PLAIN("str", CTYPE_TEXT, const char *),
    PLAIN("time", CTYPE_TIME, const void *), PLAIN("ptr", CTYPE_OPAQUE, void *)};
static const ctype result_void = {.word = "void", .kind = CTYPE_VOID, .align = 1};
static const ctype result_status = PLAIN("i32", CTYPE_NUMBER, int32_t);

struct ctypes {
    ctype *first;
};

void ctypes_free(ctypes *t)
{
    for (ctype *c = t ? t->first : NULL, *next; c; c = next) {
        next = c->next;
        free(c->members);
        free(c);
    }
    free(t);
}

/* ---- words ---- */

static const ctype *named(const ctypes *t, const char *word)
{
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (strcmp(plain[k].word, word) == 0)
            return &plain[k];
    for (const ctype *c = t->first; c; c = c->next)
        if (strcmp(c->word, word) == 0)
            return c;
    return NULL;
}

/* Keeps a copy of `c` under `word`, of which it takes the first `length` bytes. */
static ctype *keep(ctypes *t, const char *word, size_t length, const ctype *c)
{
    ctype *own = malloc(sizeof *own + length + 1);
    if (!own)
        return NULL;
    *own = *c;
    memcpy(own->text, word, length);
    own->text[length] = '\0';
    own->word = own->text;
    own->next = t->first;
    t->first = own;
    return own;
}

/* The type of the first `length` bytes of `word`: "f64[2][3]" is an array of 2 whose items are "f64[3]". */
static const ctype *derived(ctypes *t, const char *word, size_t length)
{
    char text[128];
    if (length == 0 || length >= sizeof text)
        return NULL;
    memcpy(text, word, length);
    text[length] = '\0';
    const ctype *there = named(t, text);
    if (there)
        return there;
    if (text[length - 1] == '*') {
        const ctype *of = derived(t, word, length - 1);
        const bool sized = of && of->kind != CTYPE_CALLBACK && of->kind != CTYPE_TIME;
        return sized ? keep(t, word, length,
                            &(ctype){.kind = CTYPE_POINTER,
                                     .size = sizeof(void *),
                                     .align = _Alignof(void *),
                                     .of = of})
                     : NULL;
    }
    char *open = strchr(text, '['), *end = NULL;
    if (!open || !isdigit((unsigned char)open[1]))
        return NULL;
    const unsigned long long n = strtoull(open + 1, &end, 10);
    if (*end != ']' || n == 0 || n > CTYPE_MAX_BYTES)
        return NULL;
    memmove(open, end + 1, strlen(end + 1) + 1);
    const ctype *of = derived(t, text, strlen(text));
    if (!of || of->kind == CTYPE_CALLBACK || of->kind == CTYPE_TIME ||
        n * of->size > CTYPE_MAX_BYTES)
        return NULL;
    return keep(t, word, length,
                &(ctype){.kind = CTYPE_ARRAY,
                         .size = n * of->size,
                         .align = of->align,
                         .of = of,
                         .count = n});
}

static const ctype *member_type(ctypes *t, const char *word, const json_node *at, faults *f)
{
    const ctype *c = derived(t, word, strlen(word));
    if (c && c->kind != CTYPE_TIME)
        return c;
    faults_add(f, at,
               "\"%s\" is no type of a member, want i8 to i64, u8 to u64, f32, f64, bool, str, "
               "ptr, a type that is "
               "declared above, such a type with *, or with [N] up to %zu bytes",
               word, CTYPE_MAX_BYTES);
    return NULL;
}

const ctype *ctype_argument(ctypes *t, const char *word, const json_node *at, faults *f)
{
    const ctype *c = derived(t, word, strlen(word));
    if (!c)
        faults_add(
            f, at,
            "\"%s\" is no type that a run file can give a handler, want i8 to i64, u8 to "
            "u64, f32, f64, bool, str, time, ptr, a type of \"types\", such a type with *, or "
            "with [N]",
            word);
    if (!c || c->kind != CTYPE_ARRAY)
        return c;
    const ctype pointer = {
        .kind = CTYPE_POINTER, .size = sizeof(void *), .align = _Alignof(void *), .of = c};
    const ctype *own = keep(t, "", 0, &pointer);
    if (!own)
        faults_add_no_memory(f, at);
    return own;
}

const ctype *ctype_result(ctypes *t, const char *word, const json_node *at, faults *f)
{
    if (strcmp(word, "void") == 0)
        return &result_void;
    if (strcmp(word, "status") == 0 || strcmp(word, "posix") == 0)
        return &result_status;
    const ctype *c = derived(t, word, strlen(word));
    if (c && (ctype_is_number(c) || c->kind == CTYPE_OPAQUE || c->kind == CTYPE_POINTER))
        return c;
    if (c && c->kind == CTYPE_STRUCT && c->size <= CALL_RESULT_BYTES)
        return c;
    if (c && c->kind == CTYPE_STRUCT)
        faults_add(f, at, "\"%s\" has %zu bytes, want at most %d of a struct that is returned",
                   word, c->size, CALL_RESULT_BYTES);
    else
        faults_add(f, at,
                   "\"%s\" is nothing that a handler can return, want status, posix, void, "
                   "bool, i8 to "
                   "i64, u8 to u64, f32, f64, ptr, a struct of \"types\", or a type with *",
                   word);
    return NULL;
}

/* ---- declarations ---- */

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

/* Lays the next member behind those that are there. */
static bool place(ctype *c, const ctype_member *m, const json_node *at, faults *f)
{
    const size_t begin = (c->size + m->type->align - 1) / m->type->align * m->type->align;
    if (begin + m->type->size > CTYPE_MAX_BYTES) {
        faults_add(f, at, "\"%s\" ends behind byte %zu, want a struct of at most so many",
                   m->name, CTYPE_MAX_BYTES);
        return false;
    }
    c->members[c->count] = *m;
    c->members[c->count++].offset = begin;
    c->size = begin + m->type->size;
    c->align = c->align > m->type->align ? c->align : m->type->align;
    return true;
}

/* ["name", "type"] each: members of a struct, arguments of a callback. */
static bool read_pairs(ctypes *t, const json_node *list, ctype *c, faults *f)
{
    const size_t n = json_count(list);
    const bool is_struct = c->kind == CTYPE_STRUCT;
    const size_t most = is_struct ? MEMBER_ITEMS : CALL_MAX_ARGS;
    if (n > most || (n == 0 && is_struct)) {
        faults_add(f, list, "has %zu entries, want %d to %zu", n, is_struct, most);
        return false;
    }
    c->members = calloc(n + 1, sizeof *c->members);
    if (!c->members) {
        faults_add_no_memory(f, list);
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        const json_node *at = json_at(list, k);
        const char *name = json_string(json_at(at, 0)), *word = json_string(json_at(at, 1));
        if (json_type(at) != JSON_ARRAY || json_count(at) != 2 || !name || !word ||
            !is_identifier(name)) {
            faults_add(f, at, "want [\"name\", \"type\"]");
            return false;
        }
        for (size_t m = 0; m < c->count; m++)
            if (strcmp(c->members[m].name, name) == 0) {
                faults_add(f, at, "there are two called \"%s\"", name);
                return false;
            }
        const ctype_member m = {
            name, word,
            is_struct ? member_type(t, word, at, f) : ctype_argument(t, word, at, f), 0};
        if (!m.type || (is_struct && !place(c, &m, at, f)))
            return false;
        if (!is_struct)
            c->members[c->count++] = m;
    }
    return true;
}

static const json_member returns_rows[] = {
    {.name = "returns",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .size = sizeof(const char *)},
    {.name = NULL},
};

static bool read_callback(ctypes *t, const json_node *node, ctype *c, faults *f)
{
    const char *returns = NULL;
    json_members_read(node, returns_rows, &returns, f);
    c->size = c->align = sizeof(void *);
    c->of = returns ? ctype_result(t, returns, json_get(node, "returns"), f) : NULL;
    if (!c->of)
        return false;
    if (c->of->kind == CTYPE_VOID || (ctype_is_number(c->of) && c->of != &result_status))
        return true;
    faults_add(f, json_get(node, "returns"),
               "is \"%s\", want void, bool or a number of a callback", returns);
    return false;
}

typedef struct type_members {
    const char *name;
    const json_node *members; /* of a struct */
    const json_node *args;    /* of a callback */
} type_members;

static const json_member type_rows[] = {
    {.name = "name",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(type_members, name)},
    {.name = "doc", .type = MEMBER_STRING},
    {.name = "members", .type = MEMBER_ARRAY, MEMBER_AT(type_members, members)},
    {.name = "args", .type = MEMBER_ARRAY, MEMBER_AT(type_members, args)},
    {.name = NULL},
};

static void read_type(ctypes *t, const json_node *node, faults *f)
{
    static const json_member *const tables[] = {type_rows, returns_rows, NULL};
    type_members given = {0};
    if (!json_want(node, JSON_OBJECT, "an object", f))
        return;
    json_members_known(node, tables, f);
    json_members_read(node, type_rows, &given, f);
    const char *name = given.name;
    const json_node *members = given.members, *args = given.args;
    if (!name)
        return;
    if (!is_identifier(name) || strlen(name) > 64 || named(t, name) ||
        strcmp(name, "returns") == 0 || strcmp(name, "void") == 0 ||
        strcmp(name, "status") == 0 || strcmp(name, "posix") == 0) {
        faults_add(f, json_get(node, "name"),
                   "is \"%s\", want an identifier of C that no other type has", name);
        return;
    }
    if (!members == !args) {
        faults_add(f, node,
                   "want \"members\" of a struct, or \"args\" and \"returns\" of a callback");
        return;
    }
    ctype c = {.kind = members ? CTYPE_STRUCT : CTYPE_CALLBACK, .align = 1};
    if (members && json_get(node, "returns"))
        faults_add(f, json_get(node, "returns"), "is of callbacks, not of structs");
    if (!read_pairs(t, members ? members : args, &c, f) ||
        (args && !read_callback(t, node, &c, f)) || !keep(t, name, strlen(name), &c)) {
        free(c.members);
        return;
    }
    t->first->size = (c.size + c.align - 1) / c.align * c.align;
}

ctypes *ctypes_read(const json_node *list, faults *f)
{
    ctypes *t = calloc(1, sizeof *t);
    if (!t) {
        faults_add_no_memory(f, list);
        return NULL;
    }
    if (json_count(list) > MEMBER_ITEMS)
        faults_add(f, list, "has %zu types, want at most %d", json_count(list), MEMBER_ITEMS);
    else
        for (size_t k = 0; k < json_count(list); k++)
            read_type(t, json_at(list, k), f);
    return t;
}

/* ---- places and numbers ---- */

/* One step of a path from `c`: ".name" or "[2]".  Returns how long it is, 0: there is no such place. */
static size_t step(const char *path, const ctype **c, size_t *offset)
{
    if (*path == '[' && isdigit((unsigned char)path[1]) && (*c)->kind == CTYPE_ARRAY) {
        char *end;
        const unsigned long long k = strtoull(path + 1, &end, 10);
        if (*end != ']' || k >= (*c)->count)
            return 0;
        *c = (*c)->of;
        *offset += k * (*c)->size;
        return (size_t)(end + 1 - path);
    }
    if (*path != '.' || (*c)->kind != CTYPE_STRUCT)
        return 0;
    const size_t length = strcspn(++path, ".[");
    for (size_t k = 0; k < (*c)->count; k++) {
        const ctype_member *m = &(*c)->members[k];
        if (strlen(m->name) != length || strncmp(m->name, path, length) != 0)
            continue;
        *offset += m->offset;
        *c = m->type;
        return 1 + length;
    }
    return 0;
}

bool ctype_find(const char *path, const char *const *names, const ctype *const *args,
                size_t nargs, const ctype *result, const json_node *at, ctype_place *ret_place,
                faults *f)
{
    const size_t first = strcspn(path, ".[");
    const ctype *c = first == 7 && strncmp(path, "returns", 7) == 0 ? result : NULL;
    if (c && c->kind == CTYPE_POINTER)
        c = c->of;
    ctype_place p = {.arg = -1};
    for (size_t k = 0; k < nargs && !c; k++)
        if (strlen(names[k]) == first && strncmp(names[k], path, first) == 0 &&
            args[k]->kind == CTYPE_POINTER) {
            c = args[k]->of;
            p.arg = (int32_t)k;
        }
    const char *rest = path + first;
    for (size_t n = 1; c && *rest; rest += n)
        if ((n = step(rest, &c, &p.offset)) == 0)
            c = NULL;
    if (!c || !ctype_is_number(c)) {
        faults_add(
            f, at,
            "is \"%s\", want the place of a number in a struct that the function returns, such "
            "as "
            "\"returns.quot\", or behind a pointer that it returns or is given, such as "
            "\"ts.tv_sec\"",
            path);
        return false;
    }
    p.type = c;
    *ret_place = p;
    return true;
}

bool ctype_same(const ctype *a, const ctype *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->size != b->size || a->count != b->count)
        return false;
    if (a->kind == CTYPE_NUMBER)
        return strcmp(a->word, b->word) == 0;
    if (a->of && !ctype_same(a->of, b->of))
        return false;
    for (size_t k = 0; a->members && k < a->count; k++)
        if (!ctype_same(a->members[k].type, b->members[k].type))
            return false;
    return true;
}

bool ctype_is_number(const ctype *t)
{
    return t->kind == CTYPE_NUMBER || t->kind == CTYPE_BOOL;
}

double ctype_number(const ctype *t, const void *at)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        float f32;
        double f64;
    } v = {.u64 = 0};
    memcpy(&v, at, t->size);
    if (t->kind == CTYPE_BOOL)
        return v.i32;
    if (t->word[0] == 'f')
        return t->size == 4 ? (double)v.f32 : v.f64;
    if (t->word[0] == 'u')
        return (double)v.u64; /* little-endian: the upper bytes are 0 */
    return t->size == 1 ? v.i8 : t->size == 2 ? v.i16 : t->size == 4 ? v.i32 : (double)v.i64;
}
