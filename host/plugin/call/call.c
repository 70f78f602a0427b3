/* call.c - libffi makes the calls, and the functions that C calls back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/call/call.h"

#include <ffi.h>
#include <stdlib.h>
#include <string.h>

/* buf<T> is a pointer, whatever T. */
static ffi_type *type_of(const char *word)
{
    static const struct {
        const char *word;
        ffi_type *type;
    } plain[] = {{"i8", &ffi_type_sint8},   {"i16", &ffi_type_sint16},
                 {"i32", &ffi_type_sint32}, {"i64", &ffi_type_sint64},
                 {"u8", &ffi_type_uint8},   {"u16", &ffi_type_uint16},
                 {"u32", &ffi_type_uint32}, {"u64", &ffi_type_uint64},
                 {"f32", &ffi_type_float},  {"f64", &ffi_type_double}};
    static const char *const buffers[] = {"buf<f16>", "buf<bf16>"};
    char inner[8];
    const size_t n = strlen(word);
    const bool buffer = n > 5 && n < 12 && strncmp(word, "buf<", 4) == 0 && word[n - 1] == '>';
    if (buffer) {
        for (size_t k = 0; k < sizeof buffers / sizeof *buffers; k++)
            if (strcmp(buffers[k], word) == 0)
                return &ffi_type_pointer;
        memcpy(inner, word + 4, n - 5);
        inner[n - 5] = '\0';
    }
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (strcmp(plain[k].word, buffer ? inner : word) == 0)
            return buffer ? &ffi_type_pointer : plain[k].type;
    return NULL;
}

bool call_type_known(const char *type)
{
    return type_of(type) != NULL;
}

/* A struct as libffi wants to know it. */
typedef struct aggregate {
    struct aggregate *next;
    ffi_type type;
    ffi_type *elements[];
} aggregate;

static void aggregates_free(aggregate *a)
{
    for (aggregate *next; a; a = next) {
        next = a->next;
        free(a);
    }
}

static size_t items_of(const ctype *t)
{
    return t->kind == CTYPE_ARRAY ? t->count * items_of(t->of) : 1;
}

static ffi_type *ffi_of(const ctype *t, aggregate **all);

/* libffi knows no arrays: their items stand for them.  NULL: no memory. */
static ffi_type **put_items(const ctype *t, ffi_type **to, aggregate **all)
{
    for (size_t k = 0; t->kind == CTYPE_ARRAY && to && k < t->count; k++)
        to = put_items(t->of, to, all);
    if (t->kind == CTYPE_ARRAY || !to)
        return to;
    *to = ffi_of(t, all);
    return *to ? to + 1 : NULL;
}

static ffi_type *struct_of(const ctype *t, aggregate **all)
{
    size_t n = 0;
    for (size_t k = 0; k < t->count; k++)
        n += items_of(t->members[k].type);
    aggregate *a = calloc(1, sizeof *a + (n + 1) * sizeof(ffi_type *));
    if (!a)
        return NULL;
    a->next = *all;
    *all = a;
    a->type = (ffi_type){.size = t->size,
                         .alignment = (unsigned short)t->align,
                         .type = FFI_TYPE_STRUCT,
                         .elements = a->elements};
    ffi_type **to = a->elements;
    for (size_t k = 0; to && k < t->count; k++)
        to = put_items(t->members[k].type, to, all);
    return to ? &a->type : NULL;
}

/* libffi's type; what is made for it is kept in *all.  NULL: no memory. */
static ffi_type *ffi_of(const ctype *t, aggregate **all)
{
    switch (t->kind) {
    case CTYPE_VOID:
        return &ffi_type_void;
    case CTYPE_NUMBER:
        return type_of(t->word);
    case CTYPE_BOOL:
        return &ffi_type_sint32;
    case CTYPE_STRUCT:
        return struct_of(t, all);
    default:
        return &ffi_type_pointer;
    }
}

typedef struct call {
    ffi_cif cif;
    ffi_type *types[CALL_MAX_ARGS];
    aggregate *structs;
    const ctype *result; /* NULL: void, of a kernel */
} call;

void call_free(void *prepared)
{
    call *c = prepared;
    if (c)
        aggregates_free(c->structs);
    free(c);
}

static tutti_status prepare(call *c, uint32_t count, ffi_type *result, void **ret_call,
                            tutti_error *err)
{
    if (ffi_prep_cif(&c->cif, FFI_DEFAULT_ABI, count, result, c->types) != FFI_OK) {
        call_free(c);
        return tutti_fail(err, TUTTI_E_FAIL, "libffi cannot prepare a call of %u arguments",
                          count);
    }
    *ret_call = c;
    return TUTTI_OK;
}

static tutti_status allocate(uint32_t count, call **ret_call, tutti_error *err)
{
    if (count > CALL_MAX_ARGS)
        return tutti_fail(err, TUTTI_E_RANGE, "%u arguments, want at most %d", count,
                          CALL_MAX_ARGS);
    *ret_call = calloc(1, sizeof **ret_call);
    return *ret_call
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a call of %u arguments", count);
}

tutti_status call_prepare(const char *const *types, uint32_t count, void **ret_call,
                          tutti_error *err)
{
    call *c;
    const tutti_status status = allocate(count, &c, err);
    if (status)
        return status;
    for (uint32_t k = 0; k < count; k++) {
        c->types[k] = type_of(types[k]);
        if (!c->types[k]) {
            call_free(c);
            return tutti_fail(err, TUTTI_E_ARG, "\"%s\" is no argument type", types[k]);
        }
    }
    return prepare(c, count, &ffi_type_void, ret_call, err);
}

tutti_status call_prepare_typed(const ctype *const *types, uint32_t count, const ctype *result,
                                void **ret_call, tutti_error *err)
{
    call *c;
    const tutti_status status = allocate(count, &c, err);
    if (status)
        return status;
    c->result = result;
    ffi_type *gives = ffi_of(result, &c->structs);
    bool whole = gives != NULL;
    for (uint32_t k = 0; k < count; k++) {
        c->types[k] = ffi_of(types[k], &c->structs);
        whole = whole && c->types[k];
    }
    if (whole)
        return prepare(c, count, gives, ret_call, err);
    call_free(c);
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a call of %u arguments", count);
}

static void run(call *c, void *function, void *result, void *const *args)
{
    void *copy[CALL_MAX_ARGS];
    void (*target)(void);
    /* libffi may write to the array of pointers. */
    memcpy(copy, args, c->cif.nargs * sizeof *copy);
    memcpy(&target, &function, sizeof target);
    ffi_call(&c->cif, target, result, copy);
}

void call_run(void *prepared, void *function, void *const *args)
{
    run(prepared, function, NULL, args);
}

/* libffi promotes a result that is an integer to its word, ffi_arg. */
static bool is_promoted(const ctype *t)
{
    return (t->kind == CTYPE_NUMBER && t->word[0] != 'f') || t->kind == CTYPE_BOOL;
}

void call_run_typed(void *prepared, void *function, void *const *args, void *ret_result)
{
    call *c = prepared;
    run(c, function, ret_result, args);
    if (is_promoted(c->result)) {
        ffi_arg word;
        memcpy(&word, ret_result, sizeof word);
        const uint64_t value = word; /* little-endian: the low bytes come first */
        memcpy(ret_result, &value, sizeof value);
    }
}

/* ---- closures ---- */

typedef struct closure {
    call *call;
    ffi_closure *code;
    call_back_fn fn;
    void *ctx;
} closure;

static void enter(ffi_cif *cif, void *result, void **args, void *user)
{
    const closure *c = user;
    const ctype *gives = c->call->result;
    union {
        ffi_arg word;
        uint64_t any;
        double f64;
    } r = {.any = 0};
    (void)cif;
    c->fn(c->ctx, args, &r);
    if (is_promoted(gives)) {
        const bool is_signed = gives->word[0] != 'u';
        const unsigned unused = 64 - 8 * (unsigned)gives->size;
        r.any <<= unused;
        r.any = is_signed ? (uint64_t)((int64_t)r.any >> unused) : r.any >> unused;
    }
    if (gives->kind != CTYPE_VOID)
        memcpy(result, &r, is_promoted(gives) ? sizeof(ffi_arg) : gives->size);
}

tutti_status call_closure_create(const ctype *callback, call_back_fn fn, void *ctx,
                                 void **ret_closure, void **ret_code, tutti_error *err)
{
    const ctype *types[CALL_MAX_ARGS];
    void *prepared = NULL, *code = NULL;
    closure *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a callback");
    for (size_t k = 0; k < callback->count; k++)
        types[k] = callback->members[k].type;
    const tutti_status status =
        call_prepare_typed(types, (uint32_t)callback->count, callback->of, &prepared, err);
    if (status) {
        free(c);
        return status;
    }
    *c = (closure){.call = prepared,
                   .code = ffi_closure_alloc(sizeof *c->code, &code),
                   .fn = fn,
                   .ctx = ctx};
    if (!c->code || ffi_prep_closure_loc(c->code, &c->call->cif, enter, c, code) != FFI_OK) {
        call_closure_free(c);
        return tutti_fail(
            err, TUTTI_E_NOMEM,
            "libffi gets no memory that may be executed for a callback: the system forbids it");
    }
    *ret_closure = c;
    *ret_code = code;
    return TUTTI_OK;
}

void call_closure_free(void *made)
{
    closure *c = made;
    if (!c)
        return;
    if (c->code)
        ffi_closure_free(c->code);
    call_free(c->call);
    free(c);
}
