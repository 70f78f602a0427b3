/* base.h - export macro, statuses and the caller-owned error: what every other header uses. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_BASE_H
#define TUTTI_BASE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TUTTI_C_BEGIN extern "C" {
#define TUTTI_C_END }
#define TUTTI_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define TUTTI_C_BEGIN
#define TUTTI_C_END
#define TUTTI_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* The minor version of these headers, and the one that this code asks for: define TUTTI_USE_MINOR before the
 * first include to see what came after 1.0 (`since 1.n` in comments).  A plugin that does needs a host of that
 * minor; with TUTTI_MIN_MINOR it says that an older one will do, and asks TUTTI_HAS before it uses what is newer. */
#define TUTTI_MINOR 2
#ifndef TUTTI_USE_MINOR
#define TUTTI_USE_MINOR 0
#endif
#ifndef TUTTI_MIN_MINOR
#define TUTTI_MIN_MINOR TUTTI_USE_MINOR
#endif
#if TUTTI_USE_MINOR > TUTTI_MINOR || TUTTI_MIN_MINOR > TUTTI_USE_MINOR
#error                                                                                         \
    "TUTTI_MIN_MINOR <= TUTTI_USE_MINOR <= TUTTI_MINOR: these headers are older, or the two are swapped"
#endif

/* True when the struct at `p` is new enough to have `member`. */
#define TUTTI_HAS(p, type, member)                                                             \
    ((p)->struct_size >= offsetof(type, member) + sizeof((p)->member))

#define TUTTI_EXPORT __attribute__((visibility("default")))
#define TUTTI_NODISCARD __attribute__((warn_unused_result))
#define TUTTI_PRINTF(text_at, args_at) __attribute__((format(printf, text_at, args_at)))

/* name, value, what it means */
#define TUTTI_STATUS_TABLE(X)                                                                  \
    X(OK, 0, "success")                                                                        \
    X(E_FAIL, -1, "failed for a reason that only the text tells")                              \
    X(E_ARG, -2, "an argument has the wrong type, dtype or value")                             \
    X(E_RANGE, -3, "a number is outside its stated range")                                     \
    X(E_SHAPE, -4, "shapes do not fit together")                                               \
    X(E_NOMEM, -5, "out of memory")                                                            \
    X(E_IO, -6, "the operating system refused a file operation")                               \
    X(E_FORMAT, -7, "data is not in the format that it claims")                                \
    X(E_NOTFOUND, -8, "no such thing")                                                         \
    X(E_EXISTS, -9, "there is one already")                                                    \
    X(E_UNSUPPORTED, -10, "never possible here")                                               \
    X(E_VERSION, -11, "versions do not agree")                                                 \
    X(E_TRUST, -12, "a file is not to be trusted")                                             \
    X(E_STATE, -13, "not possible now")                                                        \
    X(E_INTERRUPTED, -14, "stopped by a signal")                                               \
    X(E_NUMERIC, -15, "a NaN or an infinity where none may be")

typedef int32_t tutti_status;
enum {
#define TUTTI_X(name, value, text) TUTTI_##name = (value),
    TUTTI_STATUS_TABLE(TUTTI_X)
#undef TUTTI_X
};

/* The caller owns it, the callee fills it, nobody frees it.  `text` is one sentence: what, where,
 * what was expected.  A status of 0 means that nothing has gone wrong yet; the first cause wins. */
typedef struct tutti_error {
    uint32_t struct_size;
    tutti_status status;
    char text[504];
} tutti_error;

#define TUTTI_ERROR_INIT                                                                       \
    {                                                                                          \
        (uint32_t)sizeof(tutti_error), TUTTI_OK,                                               \
        {                                                                                      \
            0                                                                                  \
        }                                                                                      \
    }

/* Fills *err (which may be NULL, or hold an earlier cause that then stays) and returns `status`.
 * [any] */
TUTTI_PRINTF(3, 4)
static inline tutti_status tutti_fail(tutti_error *err, tutti_status status, const char *format,
                                      ...)
{
    if (err && err->status == TUTTI_OK) {
        va_list args;
        va_start(args, format);
        err->status = status;
        (void)__builtin_vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}

/* The constant's name without its prefix ("E_SHAPE"), or "E_UNKNOWN".  Static text.  [any] */
static inline const char *tutti_status_name(tutti_status status)
{
    switch (status) {
#define TUTTI_X(name, value, text)                                                             \
    case value:                                                                                \
        return #name;
        TUTTI_STATUS_TABLE(TUTTI_X)
#undef TUTTI_X
    default:
        return "E_UNKNOWN";
    }
}

#endif
