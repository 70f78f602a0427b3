/* op_cases.h - the shapes and axes that every unary, binary or reducing operation is checked on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_OP_CASES_H
#define KERNELS_COMMON_OP_CASES_H

#include "common/op_test.h"

/* The shapes that every unary, or binary, operation is checked on: a vector, an odd shape with a 1, a
 * scalar, nothing, and enough for several threads.  The rest are members of each case. */
#define OP_UNARY_CASES(name, ...)                                                              \
    {.op = (name), .nin = 1, .in = {DESC(F32, 1, 7)}, __VA_ARGS__},                            \
        {.op = (name), .nin = 1, .in = {DESC(F32, 3, 3, 1, 5)}, __VA_ARGS__},                  \
        {.op = (name), .nin = 1, .in = {DESC(F32, 0, 0)}, __VA_ARGS__},                        \
        {.op = (name), .nin = 1, .in = {DESC(F32, 2, 0, 4)}, __VA_ARGS__},                     \
    {                                                                                          \
        .op = (name), .nin = 1, .in = {DESC(F32, 2, 300, 131)}, __VA_ARGS__                    \
    }

#define OP_GRADIENT_CASES(name, ...)                                                           \
    {.op = (name), .nin = 2, .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 3)}, __VA_ARGS__},     \
        {.op = (name), .nin = 2, .in = {DESC(F32, 0, 0), DESC(F32, 0, 0)}, __VA_ARGS__},       \
        {.op = (name), .nin = 2, .in = {DESC(F32, 2, 0, 4), DESC(F32, 2, 0, 4)}, __VA_ARGS__}, \
    {                                                                                          \
        .op = (name), .nin = 2, .in = {DESC(F32, 2, 300, 131), DESC(F32, 2, 300, 131)},        \
        __VA_ARGS__                                                                            \
    }

/* Also: a row, a column, both ways, three dimensions, a scalar. */
#define OP_BINARY_CASES(name, ...)                                                             \
    {.op = (name), .nin = 2, .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 3)}, __VA_ARGS__},     \
        {.op = (name), .nin = 2, .in = {DESC(F32, 3, 2, 3, 4), DESC(F32, 1, 4)}, __VA_ARGS__}, \
        {.op = (name),                                                                         \
         .nin = 2,                                                                             \
         .in = {DESC(F32, 3, 2, 1, 4), DESC(F32, 3, 1, 3, 1)},                                 \
         __VA_ARGS__},                                                                         \
        {.op = (name),                                                                         \
         .nin = 2,                                                                             \
         .in = {DESC(F32, 4, 2, 3, 1, 2), DESC(F32, 3, 1, 5, 1)},                              \
         __VA_ARGS__},                                                                         \
        {.op = (name), .nin = 2, .in = {DESC(F32, 0, 0), DESC(F32, 1, 5)}, __VA_ARGS__},       \
        {.op = (name), .nin = 2, .in = {DESC(F32, 2, 0, 3), DESC(F32, 1, 3)}, __VA_ARGS__},    \
        {.op = (name),                                                                         \
         .nin = 2,                                                                             \
         .in = {DESC(F32, 2, 500, 67), DESC(F32, 2, 500, 67)},                                 \
         __VA_ARGS__},                                                                         \
        {.op = (name),                                                                         \
         .nin = 2,                                                                             \
         .in = {DESC(F32, 2, 500, 67), DESC(F32, 2, 500, 1)},                                  \
         __VA_ARGS__},                                                                         \
    {                                                                                          \
        .op = (name), .nin = 2, .in = {DESC(F32, 2, 3, 20000), DESC(F32, 1, 20000)},           \
        __VA_ARGS__                                                                            \
    }

/* The axes that every reduction with `axes` and `keepdim` is checked on. */
#define OP_REDUCE_CASES(name)                                                                  \
    {.op = (name), .nin = 1, .in = {DESC(F32, 2, 4, 3)}},                                      \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 3, 2, 3, 4)},                                                        \
         .nattr = 1,                                                                           \
         .attr = {LIST("axes", 1)}},                                                           \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 4, 2, 3, 4, 5)},                                                     \
         .nattr = 2,                                                                           \
         .attr = {LIST("axes", 1, 2), {"keepdim", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}}},    \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 4, 2, 3, 4, 5)},                                                     \
         .nattr = 1,                                                                           \
         .attr = {LIST("axes", 0, 2)}},                                                        \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 4, 2, 3, 4, 5)},                                                     \
         .nattr = 1,                                                                           \
         .attr = {LIST("axes", 1, 3)}},                                                        \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 3, 2, 3, 4)},                                                        \
         .nattr = 1,                                                                           \
         .attr = {LIST("axes", 0, 1)}},                                                        \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 2, 3, 4)},                                                           \
         .nattr = 2,                                                                           \
         .attr = {LIST("axes", -1), {"keepdim", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}}},      \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 2, 3000, 17)},                                                       \
         .nattr = 1,                                                                           \
         .attr = {LIST("axes", 0)}},                                                           \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 2, 40, 1700)},                                                       \
         .nattr = 1,                                                                           \
         .attr = {LIST("axes", 1)}},                                                           \
        {.op = (name), .nin = 1, .in = {DESC(F32, 0, 0)}},                                     \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 3, 64, 50, 20)},                                                     \
         .nattr = 1,                                                                           \
         .attr = {LIST("axes", 1)}},                                                           \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 2, 4, 0)},                                                           \
         .nattr = 1,                                                                           \
         .attr = {LIST("axes", 0)}},                                                           \
        {.op = (name),                                                                         \
         .nin = 1,                                                                             \
         .in = {DESC(F32, 3, 2, 0, 3)},                                                        \
         .nattr = 1,                                                                           \
         .attr = {LIST("axes", 0)}},                                                           \
    {                                                                                          \
        .op = (name), .nin = 1, .in = {DESC(F32, 4, 9, 40, 11, 13)}, .nattr = 1,               \
        .attr = {LIST("axes", 0, 2)}, .no_second = 1                                           \
    }

#endif
