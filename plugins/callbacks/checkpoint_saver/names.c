/* names.c - file names with {variables}: made for a time, and read back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <stdio.h>
#include <string.h>

#define NAME_COUNTERS(X)                                                                       \
    X(epoch, t->epoch)                                                                         \
    X(batch, t->batch)                                                                         \
    X(batch_in_epoch, t->batch_in_epoch)                                                       \
    X(sample, t->sample)                                                                       \
    X(sample_in_epoch, t->sample_in_epoch)                                                     \
    X(token, t->token)                                                                         \
    X(token_in_epoch, t->token_in_epoch)                                                       \
    X(total_wct, t->total_ns / 1000000000)                                                     \
    X(epoch_wct, t->epoch_ns / 1000000000)                                                     \
    X(batch_wct, t->batch_ns / 1000000000)                                                     \
    X(rank, 0)                                                                                 \
    X(local_rank, 0)                                                                           \
    X(node_rank, 0)                                                                            \
    X(world_size, 1)                                                                           \
    X(local_world_size, 1)

/* The counter called name[0..n); false when there is none. */
static bool checkpoint_saver_counter(const char *name, size_t n, const tutti_timestamp *t,
                                     int64_t *ret)
{
#define NAME_X(word, value)                                                                    \
    if (n == sizeof #word - 1 && memcmp(name, #word, n) == 0) {                                \
        *ret = value;                                                                          \
        return true;                                                                           \
    }
    NAME_COUNTERS(NAME_X)
#undef NAME_X
    return false;
}

static bool is_run_name(const char *name, size_t n)
{
    return n == 8 && memcmp(name, "run_name", 8) == 0;
}

tutti_status name_expand(const char *pattern, const char *run_name, const tutti_timestamp *time,
                         char *ret, size_t size, tutti_error *err)
{
    size_t used = 0;
    for (const char *p = pattern; *p;) {
        char number[32];
        const char *part = p;
        size_t n = 1;
        const char *end = *p == '{' ? strchr(p, '}') : NULL;
        if (end) {
            int64_t value;
            const size_t length = (size_t)(end - p - 1);
            if (is_run_name(p + 1, length)) {
                part = run_name;
                n = strlen(run_name);
            } else if (checkpoint_saver_counter(p + 1, length, time, &value)) {
                n = (size_t)snprintf(number, sizeof number, "%lld", (long long)value);
                part = number;
            } else {
                return tutti_fail(err, TUTTI_E_ARG,
                                  "checkpoint_saver: %s has the unknown variable {%.*s}, want "
                                  "run_name, epoch, batch, sample or another counter",
                                  pattern, (int)length, p + 1);
            }
        }
        if (used + n >= size)
            return tutti_fail(err, TUTTI_E_RANGE,
                              "checkpoint_saver: %s becomes longer than %zu characters",
                              pattern, size - 1);
        memcpy(ret + used, part, n);
        used += n;
        p = end ? end + 1 : p + 1;
    }
    ret[used] = '\0';
    return TUTTI_OK;
}

bool name_match(const char *pattern, const char *run_name, const char *text,
                name_time *ret_time)
{
    static const tutti_timestamp none;
    *ret_time = (name_time){-1, -1};
    for (const char *p = pattern; *p;) {
        const char *end = *p == '{' ? strchr(p, '}') : NULL;
        if (!end) {
            if (*p++ != *text++)
                return false;
            continue;
        }
        const size_t length = (size_t)(end - p - 1);
        int64_t value = 0;
        if (is_run_name(p + 1, length)) {
            if (strncmp(text, run_name, strlen(run_name)) != 0)
                return false;
            text += strlen(run_name);
        } else if (checkpoint_saver_counter(p + 1, length, &none, &value)) {
            const char *first = text;
            for (value = 0; *text >= '0' && *text <= '9' && text - first < 18; text++)
                value = 10 * value + (*text - '0');
            if (text == first)
                return false;
            if (length == 5 && memcmp(p + 1, "batch", 5) == 0)
                ret_time->batch = value;
            if (length == 5 && memcmp(p + 1, "epoch", 5) == 0)
                ret_time->epoch = value;
        }
        p = end + 1;
    }
    return *text == '\0';
}

#define TENSORS ".safetensors"
#define INDEX TENSORS ".index.json"

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

bool name_is_index(const char *text)
{
    return ends_with(text, INDEX);
}

bool name_is_odd_index(const char *text)
{
    return ends_with(text, ".index.json") && !name_is_index(text);
}

bool name_is_shard(const char *text, char *ret_index, size_t size)
{
    static const char shape[] = "-hhhhhhhh-ddddd-of-ddddd" TENSORS; /* h, d: digits */
    const size_t n = strlen(text), tail = sizeof shape - 1;
    if (n <= tail || n - tail + sizeof INDEX > size)
        return false;
    const char *at = text + n - tail;
    for (size_t k = 0; k < tail; k++) {
        const bool digit = at[k] >= '0' && at[k] <= '9', hex = at[k] >= 'a' && at[k] <= 'f';
        const bool open = k < sizeof "-hhhhhhhh-ddddd-of-ddddd" - 1;
        if (open && shape[k] == 'h'   ? !digit && !hex
            : open && shape[k] == 'd' ? !digit
                                      : at[k] != shape[k])
            return false;
    }
    (void)snprintf(ret_index, size, "%.*s%s", (int)(n - tail), text, INDEX);
    return true;
}
