/* rules.c - who runs before whom: absolute rules, manifests' rules, and circles among them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/participant.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Every tier runs before the next.  The outer two are built in and absolute. */
enum { TIER_BUILTIN_FIRST, TIER_FIRST, TIER_LIST, TIER_LAST, TIER_BUILTIN_LAST };

static bool reversed(const participant *p, int32_t event)
{
    return p->rules.reverse_on[event >> 6] >> (event & 63) & 1;
}

bool rules_always_first(const participant *p)
{
    return p->class == CLASS_ALGORITHM && strcmp(p->object, "selective_backprop") == 0;
}

static int tier_of(const participant *p, int32_t event)
{
    if (rules_always_first(p))
        return TIER_BUILTIN_FIRST;
    if (p->class == CLASS_ALGORITHM && strcmp(p->object, "low_precision_layernorm") == 0)
        return TIER_BUILTIN_LAST;
    const bool reverse = reversed(p, event);
    if (reverse ? p->rules.last : p->rules.first)
        return TIER_FIRST;
    if (reverse ? p->rules.first : p->rules.last)
        return TIER_LAST;
    return TIER_LIST;
}

bool rules_select(const char *selector, const participant *p)
{
    if (strncmp(selector, "tag:", 4) != 0)
        return strcmp(selector, p->object) == 0 || strcmp(selector, p->name) == 0;
    for (const char *const *tag = p->tags; tag && *tag; tag++)
        if (strcmp(*tag, selector + 4) == 0)
            return true;
    return false;
}

static bool selects(const char *const *selectors, const participant *p)
{
    for (; selectors && *selectors; selectors++)
        if (rules_select(*selectors, p))
            return true;
    return false;
}

static bool wants_before(const participant *p, const participant *q, int32_t event)
{
    return selects(reversed(p, event) ? p->rules.after : p->rules.before, q);
}

static bool wants_after(const participant *p, const participant *q, int32_t event)
{
    return selects(reversed(p, event) ? p->rules.before : p->rules.after, q);
}

/* Whose rule lets `p` run before `q`; NULL when none does. */
static const participant *edge(const participant *p, const participant *q, int32_t event)
{
    const int a = tier_of(p, event), b = tier_of(q, event);
    if (wants_before(p, q, event))
        return p;
    if (wants_after(q, p, event))
        return q;
    if (a >= b)
        return NULL;
    return a == TIER_BUILTIN_FIRST || a == TIER_FIRST ? p : q;
}

/* The circle among the nodes of `left`: each has a predecessor in it, so walking back must return. */
static tutti_status circle(const participant *const *list, uint32_t n, uint64_t left,
                           const uint64_t *before, int32_t event, const char *event_text,
                           tutti_error *err)
{
    uint8_t path[ENGINE_WIDTH + 1] = {0};
    uint32_t length = 0, start = 0;
    uint64_t seen = 0;
    uint32_t node = (uint32_t)__builtin_ctzll(left);
    while (!(seen >> node & 1)) {
        seen |= UINT64_C(1) << node;
        path[length++] = (uint8_t)node;
        node = (uint32_t)__builtin_ctzll(before[node] & left);
    }
    while (path[start] != node)
        start++;
    path[length] = (uint8_t)node;

    char text[sizeof err->text];
    size_t used = 0;
    for (uint32_t k = length; k > start && used < sizeof text; k--) {
        const participant *p = list[path[k]], *q = list[path[k - 1]];
        const participant *by = edge(p, q, event);
        const int tier = tier_of(by, event);
        const bool builtin = !wants_before(p, q, event) && !wants_after(q, p, event) &&
                             (tier == TIER_BUILTIN_FIRST || tier == TIER_BUILTIN_LAST);
        const int more =
            snprintf(text + used, sizeof text - used, "%s%s before %s (%s)", used ? ", " : "",
                     p->name, q->name, builtin ? "built in" : by->manifest);
        used += more > 0 ? (size_t)more : 0;
    }
    return tutti_fail(err, TUTTI_E_STATE, "the order at %s goes round in a circle: %s",
                      event_text, text);
}

tutti_status rules_sort(const participant *const *list, uint32_t n, int32_t event,
                        const char *event_text, uint8_t *place, tutti_error *err)
{
    uint64_t before[ENGINE_WIDTH] = {0};
    assert(n <= ENGINE_WIDTH);
    for (uint32_t p = 0; p < n; p++)
        for (uint32_t q = 0; q < n; q++)
            if (p != q && edge(list[p], list[q], event))
                before[q] |= UINT64_C(1) << p;

    uint64_t left = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    for (uint32_t done = 0; done < n; done++) {
        uint32_t k = 0;
        while (k < n && (!(left >> k & 1) || (before[k] & left)))
            k++;
        if (k == n)
            return circle(list, n, left, before, event, event_text, err);
        place[done] = (uint8_t)k;
        left &= ~(UINT64_C(1) << k);
    }
    return TUTTI_OK;
}

bool rules_reason(const participant *const *list, uint32_t n, uint32_t k, int32_t event,
                  char *text, size_t size)
{
    const participant *p = list[k];
    const int tier = tier_of(p, event);
    if (tier == TIER_BUILTIN_FIRST || tier == TIER_BUILTIN_LAST) {
        (void)snprintf(text, size, "%s: built in",
                       tier == TIER_BUILTIN_FIRST ? "first" : "last");
        return true;
    }
    for (uint32_t q = 0; q < n; q++) {
        const participant *other = list[q];
        if (q == k)
            continue;
        const char *verb = wants_before(p, other, event)   ? "before"
                           : wants_after(p, other, event)  ? "after"
                           : wants_before(other, p, event) ? "after"
                           : wants_after(other, p, event)  ? "before"
                                                           : NULL;
        if (!verb)
            continue;
        const bool own = wants_before(p, other, event) || wants_after(p, other, event);
        (void)snprintf(text, size, "%s %s: %s manifest", verb, other->name,
                       own ? "its" : "that one's");
        return true;
    }
    if (tier == TIER_LIST)
        return false;
    (void)snprintf(text, size, "%s: its manifest", tier == TIER_FIRST ? "first" : "last");
    return true;
}
