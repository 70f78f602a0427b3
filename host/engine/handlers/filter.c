/* filter.c - which firings of an event a handler hears. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handlers/filter.h"

tutti_status filter_check(const filter *f, tutti_error *err)
{
    const bool numbers = f->every || f->has_before || f->has_after;
    if ((f->test != NULL) + (f->nonce > 0) + numbers > 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          "a handler takes a function, once, or every with before and after, "
                          "not several of them");
    if (f->every < 0)
        return tutti_fail(err, TUTTI_E_ARG, "every is %lld, want 1 or more",
                          (long long)f->every);
    if (f->has_before && f->before < 0)
        return tutti_fail(err, TUTTI_E_ARG, "before is %lld, want 0 or more",
                          (long long)f->before);
    if (f->has_after && f->after < 0)
        return tutti_fail(err, TUTTI_E_ARG, "after is %lld, want 0 or more",
                          (long long)f->after);
    for (size_t k = 0; k < f->nonce; k++)
        if (f->once[k] < 1)
            return tutti_fail(err, TUTTI_E_ARG, "once is %lld, want 1 or more",
                              (long long)f->once[k]);
    return TUTTI_OK;
}

bool filter_is_set(const filter *f)
{
    return f->every > 1 || f->has_before || f->has_after || f->nonce || f->test;
}

int32_t filter_passes(const filter *f, int64_t count, tutti_error *err)
{
    if (f->test)
        return f->test(f->ctx, count, err);
    for (size_t k = 0; k < f->nonce; k++)
        if (f->once[k] == count)
            return 1;
    if (f->nonce)
        return 0;
    if (!f->has_before && !f->has_after)
        return f->every < 2 || count % f->every == 0;
    /* Upstream: both bounds are exclusive, and `after` shifts the phase of `every`. */
    const int64_t after = f->has_after ? f->after : 0;
    if (count <= after || (f->has_before && count >= f->before))
        return 0;
    return f->every < 2 || (count - after - 1) % f->every == 0;
}
