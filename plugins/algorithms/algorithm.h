/* algorithm.h - what the algorithms share: services, growing memory, keyed draws. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_ALGORITHM_H
#define PLUGIN_ALGORITHM_H

#include "../common/checked_plugin.h"
#include "shuffle.h"
#include "tutti/state.h"
#include "tutti/tensor.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

/* The host's table `id`, or NULL with the sentence "<who>: this host has no <id>". */
static inline const void *algorithm_service(const tutti_host *host, const char *who,
                                            const char *id, tutti_error *err)
{
    const void *table = host->query(host->ctx, id);
    if (!table)
        (void)tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: this host has no %s", who, id);
    return table;
}

/* Memory that grows and is freed once. */
typedef struct algorithm_buffer {
    void *data;
    uint64_t capacity;
} algorithm_buffer;

/* Makes room for `bytes`; what was there is lost. */
static inline tutti_status algorithm_reserve(algorithm_buffer *b, uint64_t bytes,
                                             const char *who, tutti_error *err)
{
    if (bytes <= b->capacity)
        return TUTTI_OK;
    void *data = malloc(bytes);
    if (!data)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", who,
                          (unsigned long long)bytes);
    free(b->data);
    b->data = data;
    b->capacity = bytes;
    return TUTTI_OK;
}

/* Draws of algorithm `who` in one microbatch of one training batch: the same after a resume. */
static inline tutti_stream algorithm_stream(const tutti_state_v1 *state, const char *who,
                                            uint64_t step)
{
    const uint64_t microbatch =
        TUTTI_HAS(state, tutti_state_v1, microbatch) ? *state->microbatch : 0;
    return tutti_stream_at(*state->seed, TUTTI_RNG_PLUGIN ^ (uint32_t)tutti_hash(who), step,
                           microbatch);
}

/* Bytes of one sample of `d`, whose first dimension counts samples. */
static inline uint64_t algorithm_row(const tutti_desc *d)
{
    return d->rank > 0 && d->dim[0] > 0 ? tutti_nbytes(d) / (uint64_t)d->dim[0] : 0;
}

/* A view of f32 memory. */
static inline tutti_tensor algorithm_view(float *data, const tutti_desc *shape)
{
    tutti_tensor t = {data, *shape, TUTTI_DEVICE_CPU, 0};
    t.desc.dtype = TUTTI_F32;
    return t;
}

/* The plugin of one algorithm; what follows its name, or its check of settings, are members of tutti_calls. */
#define ALGORITHM_PLUGIN(name_, ...)                                                           \
    TUTTI_PLUGIN_OF_ONE("org.tutti." name_, "1.0.0", name_, TUTTI_KIND_ALGORITHM, __VA_ARGS__)
#define ALGORITHM_PLUGIN_CHECKED(name_, check_, ...)                                           \
    CHECKED_PLUGIN(name_, TUTTI_KIND_ALGORITHM, check_, __VA_ARGS__)

#endif
