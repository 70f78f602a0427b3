/* conformance.h - cases with answers: what each kind gets, and how it reports a difference. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include "base/json.h"
#include "base/text.h"
#include "plugin/instance.h"

#include <math.h>
#include <string.h>

/* What a case was expected to give and what came; equal texts are a pass. */
typedef struct verdict {
    text_buffer want;
    text_buffer got;
} verdict;

/* One case through the real code.  `plugins` are those beside the program. */
typedef void (*case_runner)(const json_node *c, registry *plugins, verdict *v);

void run_time_case(const json_node *c, registry *plugins, verdict *v);
void run_interval_case(const json_node *c, registry *plugins, verdict *v);
void run_schedule_case(const json_node *c, registry *plugins, verdict *v);
void run_dispatch_case(const json_node *c, registry *plugins, verdict *v);
void run_event_counts_case(const json_node *c, registry *plugins, verdict *v);
void run_loop_case(const json_node *c, registry *plugins, verdict *v);

/* The member, NULL when `node` is no object or has none. */
static inline const json_node *member(const json_node *node, const char *key)
{
    return node && json_type(node) == JSON_OBJECT ? json_get(node, key) : NULL;
}

/* The member's text, "" when it is missing or no string. */
static inline const char *text_of(const json_node *node, const char *key)
{
    const json_node *n = member(node, key);
    const char *text = n ? json_string(n) : NULL;
    return text ? text : "";
}

static inline int64_t int_of(const json_node *node, const char *key, int64_t fallback)
{
    const json_node *n = member(node, key);
    return n ? json_int(n) : fallback;
}

#endif
