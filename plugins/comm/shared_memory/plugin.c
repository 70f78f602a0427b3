/* plugin.c - shared_memory: collectives among the processes of one machine, through memory that they share. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"
#include "segment.h"
#include "tutti/tutti.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Which rank this process is: what launchers put into the environment. */
static const job_launcher launchers[] = {
    {"TUTTI_RANK", "TUTTI_WORLD_SIZE", "TUTTI_JOB", NULL},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", NULL},
    {"PMI_RANK", "PMI_SIZE", "PMI_JOBID", NULL},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MPI_JOBID", NULL},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID", "SLURM_STEP_ID"},
};

typedef struct shared_memory {
    segment segment;
    uint64_t capacity;     /* bytes of a mailbox */
    int32_t machine_ranks; /* 0: all */
    int joined;
} shared_memory;

static tutti_status shared_memory_close(void *self, tutti_error *err)
{
    shared_memory *m = self;
    (void)err;
    if (m->joined)
        segment_close(&m->segment);
    free(m);
    return TUTTI_OK;
}

static tutti_status shared_memory_open(const tutti_host *host, const tutti_params *params,
                                       void **ret_self, tutti_error *err)
{
    shared_memory *m = calloc(1, sizeof *m);
    (void)host;
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "shared_memory: no memory");
    m->capacity = (uint64_t)tutti_param_i64(params, "mailbox_mib") << 20;
    m->machine_ranks = (int32_t)tutti_param_i64(params, "machine_ranks");
    *ret_self = m;
    return TUTTI_OK;
}

/* ---- joining ---- */

static int read_number(const char *name, int32_t least, int32_t *ret)
{
    const char *text = getenv(name);
    char *end = NULL;
    const long n = text && *text ? strtol(text, &end, 10) : -1;
    if (!end || *end != '\0' || n < least || n > INT_MAX)
        return 0;
    *ret = (int32_t)n;
    return 1;
}

/* What is set by hand, and is no number of ranks, would else be a world of one without a word. */
static tutti_status check_variables(tutti_error *err)
{
    const char *size = getenv("TUTTI_WORLD_SIZE");
    int32_t n;
    if (size && !read_number("TUTTI_WORLD_SIZE", 1, &n))
        return tutti_fail(
            err, TUTTI_E_ARG,
            "shared_memory: TUTTI_WORLD_SIZE is \"%.40s\", want a number of ranks "
            "from 1 on",
            size);
    if (!size && getenv("TUTTI_RANK"))
        return tutti_fail(err, TUTTI_E_ARG,
                          "shared_memory: TUTTI_RANK is set and TUTTI_WORLD_SIZE is not, want "
                          "both or neither");
    return TUTTI_OK;
}

/* A world of one where nobody has started several.  *ret_launcher: who has, or NULL. */
static tutti_status find_place(int32_t *ret_rank, int32_t *ret_size,
                               const job_launcher **ret_launcher, tutti_error *err)
{
    const size_t count = sizeof launchers / sizeof *launchers;
    size_t k = 0;
    const tutti_status s = check_variables(err);
    if (s)
        return s;
    *ret_rank = 0;
    *ret_size = 1;
    *ret_launcher = NULL;
    while (k < count && !read_number(launchers[k].size, 1, ret_size))
        k++;
    if (k == count && getenv("PMIX_RANK"))
        return tutti_fail(err, TUTTI_E_ARG,
                          "shared_memory: PMIX_RANK is set, and nothing says how many ranks "
                          "there are; want TUTTI_RANK and TUTTI_WORLD_SIZE");
    if (k < count) {
        *ret_launcher = &launchers[k];
        if (*ret_size == 1 && !getenv(launchers[k].rank))
            *ret_rank = 0;
        else if (!read_number(launchers[k].rank, 0, ret_rank) || *ret_rank >= *ret_size)
            return tutti_fail(err, TUTTI_E_ARG,
                              "shared_memory: %s is %d, but %s is no rank from 0 to %d",
                              launchers[k].size, *ret_size, launchers[k].rank, *ret_size - 1);
    }
    return *ret_size <= SEGMENT_RANKS
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_RANGE, "shared_memory: %d ranks, want at most %d",
                            *ret_size, SEGMENT_RANKS);
}

static tutti_status shared_memory_join(void *self, const tutti_join *how,
                                       tutti_world_info *ret_world, tutti_error *err)
{
    shared_memory *m = self;
    int32_t rank, size;
    const job_launcher *launcher;
    char name[128];
    tutti_status s = find_place(&rank, &size, &launcher, err);
    if (s || (s = job_name(launcher, size, how->run, name, sizeof name, err)) ||
        (s = segment_open(&m->segment, name, rank, size, m->capacity, how, err)))
        return s;
    m->joined = 1;
    const int32_t together = m->machine_ranks ? m->machine_ranks : size;
    const int32_t left = size - rank / together * together;
    ret_world->rank = rank;
    ret_world->size = size;
    ret_world->local_rank = rank % together;
    ret_world->local_size = left < together ? left : together;
    return TUTTI_OK;
}

static void shared_memory_leave(void *self, int32_t failed)
{
    shared_memory *m = self;
    (void)failed; /* whoever waits for it finds it gone */
    if (m->joined)
        atomic_store(&m->segment.shared->ranks[m->segment.rank].left, 1);
}

static void shared_memory_set_timeout(void *self, uint32_t timeout_ms)
{
    ((shared_memory *)self)->segment.timeout_ms = timeout_ms;
}

/* ---- operations: every rank puts a piece into its mailbox, and takes what is for it from the others' ---- */

/* Bytes [first, end) of a rank's data. */
typedef struct byte_range {
    uint64_t first, end;
} byte_range;

/* What of a part lies in the piece [at, at + capacity) of its rank's data; nothing: `end` is no more than `first`. */
static byte_range part_in_piece(uint64_t first, uint64_t bytes, uint64_t at, uint64_t capacity)
{
    return (byte_range){first > at ? first : at,
                        first + bytes < at + capacity ? first + bytes : at + capacity};
}

static void shared_memory_take(char *to, uint64_t first, uint64_t bytes, const char *piece,
                               uint64_t at, uint64_t capacity)
{
    const byte_range r = part_in_piece(first, bytes, at, capacity);
    if (r.first < r.end)
        memcpy(to + (r.first - first), piece + (r.first - at), r.end - r.first);
}

static void shared_memory_put(char *piece, const char *data, uint64_t first, uint64_t bytes,
                              uint64_t at, uint64_t capacity)
{
    const byte_range r = part_in_piece(first, bytes, at, capacity);
    if (r.first < r.end)
        memcpy(piece + (r.first - at), data + r.first, r.end - r.first);
}

/* From the first to the last byte that a rank sends. */
static byte_range range_of_parts(const segment_rank *r, int32_t size)
{
    byte_range all = {UINT64_MAX, 0};
    for (int32_t k = 0; k < size; k++) {
        if (r->bytes[k] && r->offsets[k] < all.first)
            all.first = r->offsets[k];
        if (r->bytes[k] && r->offsets[k] + r->bytes[k] > all.end)
            all.end = r->offsets[k] + r->bytes[k];
    }
    return all.end ? all : (byte_range){0, 0};
}

/* Data is sent piece by piece, as much at a time as a mailbox has room for. */
static tutti_status shared_memory_all_to_all(void *self, const tutti_parts *send,
                                             const tutti_parts *receive, uint64_t *ret_request,
                                             tutti_error *err)
{
    segment *g = &((shared_memory *)self)->segment;
    segment_rank *ranks = g->shared->ranks;
    const uint64_t capacity = g->shared->capacity;
    const size_t n = (size_t)g->size * sizeof(uint64_t);
    memcpy(ranks[g->rank].offsets, send->offsets, n);
    memcpy(ranks[g->rank].bytes, send->bytes, n);
    byte_range sent[SEGMENT_RANKS];
    uint64_t longest = 0;
    tutti_status s = segment_wait(g, err);
    for (int32_t k = 0; k < g->size && !s; k++) {
        sent[k] = range_of_parts(&ranks[k], g->size);
        const uint64_t length = sent[k].end - sent[k].first;
        longest = length > longest ? length : longest;
        if (ranks[k].bytes[g->rank] != receive->bytes[k])
            s = tutti_fail(
                err, TUTTI_E_ARG,
                "shared_memory: rank %d sends %llu bytes to rank %d, which expects %llu", k,
                (unsigned long long)ranks[k].bytes[g->rank], g->rank,
                (unsigned long long)receive->bytes[k]);
    }
    for (uint64_t at = 0; at < longest && !s; at += capacity) {
        for (int32_t k = 0; k < g->size; k++)
            shared_memory_put(segment_mailbox(g, g->rank), send->data, send->offsets[k],
                              send->bytes[k], sent[g->rank].first + at, capacity);
        s = segment_wait(g, err);
        for (int32_t k = 0; k < g->size && !s; k++)
            shared_memory_take((char *)receive->data + receive->offsets[k],
                               ranks[k].offsets[g->rank], ranks[k].bytes[g->rank],
                               segment_mailbox(g, k), sent[k].first + at, capacity);
        if (!s)
            s = segment_wait(g, err);
    }
    *ret_request = 0;
    return s ? s : longest ? TUTTI_OK : segment_wait(g, err);
}

/* Behind the barrier at which all have said how long their parts are. */
static tutti_status shared_memory_check_parts(const segment *g, const tutti_parts *parts,
                                              tutti_error *err)
{
    for (int32_t k = 0; k < g->size; k++) {
        const uint64_t given = g->shared->ranks[k].bytes[k];
        if (given != parts->bytes[k])
            return tutti_fail(err, TUTTI_E_ARG,
                              "shared_memory: rank %d gives %llu bytes, of which rank %d "
                              "expects %llu",
                              k, (unsigned long long)given, g->rank,
                              (unsigned long long)parts->bytes[k]);
    }
    return TUTTI_OK;
}

static tutti_status shared_memory_all_gather(void *self, const tutti_parts *parts,
                                             uint64_t *ret_request, tutti_error *err)
{
    segment *g = &((shared_memory *)self)->segment;
    const uint64_t capacity = g->shared->capacity;
    uint64_t longest = 0;
    tutti_status s = TUTTI_OK;
    for (int32_t k = 0; k < g->size; k++)
        longest = parts->bytes[k] > longest ? parts->bytes[k] : longest;
    g->shared->ranks[g->rank].bytes[g->rank] = parts->bytes[g->rank];
    /* Of no bytes too, so that a rank which expects some is not taken for one that goes on. */
    for (uint64_t at = 0; (at < longest || at == 0) && !s; at += capacity) {
        char *data = parts->data;
        if (at < parts->bytes[g->rank])
            memcpy(segment_mailbox(g, g->rank), data + parts->offsets[g->rank] + at,
                   parts->bytes[g->rank] - at < capacity ? parts->bytes[g->rank] - at
                                                         : capacity);
        s = segment_wait(g, err);
        if (!s && at == 0)
            s = shared_memory_check_parts(g, parts, err);
        for (int32_t k = 0; k < g->size && !s; k++)
            if (k != g->rank)
                shared_memory_take(data + parts->offsets[k], 0, parts->bytes[k],
                                   segment_mailbox(g, k), at, capacity);
        if (!s)
            s = segment_wait(g, err);
    }
    *ret_request = 0;
    return s;
}

static tutti_status shared_memory_exchange(void *self, const void *mine, void *all,
                                           uint64_t bytes, tutti_error *err)
{
    segment *g = &((shared_memory *)self)->segment;
    uint64_t offsets[SEGMENT_RANKS], sizes[SEGMENT_RANKS], request;
    for (int32_t k = 0; k < g->size; k++) {
        offsets[k] = (uint64_t)k * bytes;
        sizes[k] = bytes;
    }
    memcpy((char *)all + offsets[g->rank], mine, bytes);
    const tutti_parts parts = {
        .struct_size = sizeof parts, .data = all, .offsets = offsets, .bytes = sizes};
    return shared_memory_all_gather(self, &parts, &request, err);
}

static tutti_status shared_memory_broadcast(void *self, void *data, uint64_t bytes,
                                            int32_t root, tutti_error *err)
{
    segment *g = &((shared_memory *)self)->segment;
    uint64_t offsets[SEGMENT_RANKS] = {0}, sizes[SEGMENT_RANKS] = {0}, request;
    if (root < 0 || root >= g->size)
        return tutti_fail(err, TUTTI_E_ARG, "shared_memory: there is no rank %d", root);
    sizes[root] = bytes;
    const tutti_parts parts = {
        .struct_size = sizeof parts, .data = data, .offsets = offsets, .bytes = sizes};
    return shared_memory_all_gather(self, &parts, &request, err);
}

/* All is done when an operation returns. */
static tutti_status shared_memory_wait(void *self, uint64_t request, tutti_error *err)
{
    (void)self;
    (void)request;
    (void)err;
    return TUTTI_OK;
}

static void shared_memory_tell(void *self, const tutti_progress *now)
{
    segment *g = &((shared_memory *)self)->segment;
    g->shared->ranks[g->rank].progress = *now;
}

static const void *shared_memory_query(void *self, const char *interface_id)
{
    static const tutti_collectives_v1 table = {.struct_size = sizeof table,
                                               .join = shared_memory_join,
                                               .leave = shared_memory_leave,
                                               .set_timeout = shared_memory_set_timeout,
                                               .exchange = shared_memory_exchange,
                                               .broadcast = shared_memory_broadcast,
                                               .all_to_all = shared_memory_all_to_all,
                                               .all_gather = shared_memory_all_gather,
                                               .wait = shared_memory_wait,
                                               .tell = shared_memory_tell};
    (void)self;
    return strcmp(interface_id, TUTTI_COLLECTIVES_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = shared_memory_open,
                                  .close = shared_memory_close,
                                  .query = shared_memory_query};
static const tutti_object object = TUTTI_OBJECT_INIT("shared_memory", TUTTI_KIND_COMM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.shared_memory", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
