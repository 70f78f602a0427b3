/* plan_files_check.h - a made-up tutti.plan/1 of two results, and what plan_files writes of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_PLAN_FILES_CHECK_H
#define PLUGIN_PLAN_FILES_CHECK_H

#include "tutti/plan.h"

#include <stdbool.h>

static bool plan_check_is_there = true; /* else describe fails */

static tutti_status plan_check_describe(void *ctx, tutti_plan_facts *ret, tutti_error *err)
{
    (void)ctx;
    if (!plan_check_is_there)
        return tutti_fail(err, TUTTI_E_STATE, "there is no plan");
    *ret = (tutti_plan_facts){.struct_size = sizeof *ret,
                              .results = 2,
                              .steps = 4,
                              .arena_bytes = 192,
                              .peak_bytes = 128};
    return TUTTI_OK;
}

static tutti_status plan_check_result(void *ctx, uint32_t k, tutti_planned *ret,
                                      tutti_error *err)
{
    (void)ctx, (void)err;
    *ret = (tutti_planned){.struct_size = sizeof *ret,
                           .op = k ? "relu" : "matmul",
                           .module = "fc",
                           .bytes = 64,
                           .offset = 128 * k,
                           .first = k,
                           .last = 2 + k};
    return TUTTI_OK;
}

static const tutti_plan_v1 plan_check = {.struct_size = sizeof plan_check,
                                         .describe = plan_check_describe,
                                         .result = plan_check_result};

#define PLAN_CHECK_JSON                                                                        \
    "\"steps\": 4, \"arena_bytes\": 192, \"peak_bytes\": 128, \"places\": 2, \"results\": [\n" \
    "  {\"op\": \"matmul\", \"module\": \"fc\", \"bytes\": 64, \"offset\": 0, "                \
    "\"first\": 0, \"last\": 2},\n"                                                            \
    "  {\"op\": \"relu\", \"module\": \"fc\", \"bytes\": 64, \"offset\": 128, "                \
    "\"first\": 1, \"last\": 3}\n]}\n"

#endif
