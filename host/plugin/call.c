/* call.c - libffi makes the calls. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/call.h"

#include <ffi.h>
#include <stdlib.h>
#include <string.h>

typedef struct call {
    ffi_cif cif;
    ffi_type *types[CALL_MAX_ARGS];
} call;

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

/* What a run file can say, and the host's own pointers. */
static ffi_type *handler_type_of(const char *word)
{
    if (strcmp(word, "bool") == 0)
        return &ffi_type_sint32;
    if (strcmp(word, "str") == 0 || strcmp(word, "time") == 0 || strcmp(word, "ptr") == 0)
        return &ffi_type_pointer;
    return strncmp(word, "buf<", 4) == 0 ? NULL : type_of(word);
}

bool call_handler_type_known(const char *type)
{
    return strcmp(type, "ptr") != 0 && handler_type_of(type);
}

static tutti_status prepare(const char *const *types, uint32_t count,
                            ffi_type *(*find)(const char *), ffi_type *result, void **ret_call,
                            tutti_error *err)
{
    if (count > CALL_MAX_ARGS)
        return tutti_fail(err, TUTTI_E_RANGE, "%u arguments, want at most %d", count,
                          CALL_MAX_ARGS);
    call *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a call of %u arguments", count);
    for (uint32_t k = 0; k < count; k++) {
        c->types[k] = find(types[k]);
        if (!c->types[k]) {
            free(c);
            return tutti_fail(err, TUTTI_E_ARG, "\"%s\" is no argument type", types[k]);
        }
    }
    if (ffi_prep_cif(&c->cif, FFI_DEFAULT_ABI, count, result, c->types) != FFI_OK) {
        free(c);
        return tutti_fail(err, TUTTI_E_FAIL, "libffi cannot prepare a call of %u arguments",
                          count);
    }
    *ret_call = c;
    return TUTTI_OK;
}

tutti_status call_prepare(const char *const *types, uint32_t count, void **ret_call,
                          tutti_error *err)
{
    return prepare(types, count, type_of, &ffi_type_void, ret_call, err);
}

static ffi_type *result_type_of(const char *word)
{
    if (strcmp(word, "void") == 0)
        return &ffi_type_void;
    if (strcmp(word, "status") == 0 || strcmp(word, "posix") == 0 || strcmp(word, "bool") == 0)
        return &ffi_type_sint32;
    return strncmp(word, "buf<", 4) == 0 ? NULL : type_of(word);
}

bool call_result_known(const char *returns)
{
    return result_type_of(returns) != NULL;
}

tutti_status call_prepare_handler(const char *const *types, uint32_t count, const char *returns,
                                  void **ret_call, tutti_error *err)
{
    return prepare(types, count, handler_type_of, result_type_of(returns), ret_call, err);
}

void call_free(void *prepared)
{
    free(prepared);
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

double call_handler(void *prepared, void *function, const char *returns, void *const *args)
{
    /* libffi widens integers to its word and leaves the others as they are. */
    union {
        ffi_arg word;
        float f32;
        double f64;
    } result = {.word = 0};
    run(prepared, function, &result, args);
    switch (result_type_of(returns)->type) {
    case FFI_TYPE_VOID:
        return 0.0;
    case FFI_TYPE_FLOAT:
        return (double)result.f32;
    case FFI_TYPE_DOUBLE:
        return result.f64;
    case FFI_TYPE_UINT8:
    case FFI_TYPE_UINT16:
    case FFI_TYPE_UINT32:
    case FFI_TYPE_UINT64:
        return (double)result.word;
    case FFI_TYPE_SINT8:
        return (double)(int8_t)result.word;
    case FFI_TYPE_SINT16:
        return (double)(int16_t)result.word;
    case FFI_TYPE_SINT32:
        return (double)(int32_t)result.word;
    default:
        return (double)(int64_t)result.word;
    }
}
