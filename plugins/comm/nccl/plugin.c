/* plugin.c - nccl: connects the GPUs of a run's ranks by NVIDIA's NCCL, loaded when a run needs it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What ranks tell each other before NCCL connects them: rank 0's id, and why a rank cannot. */
typedef struct greeting {
    int32_t status;
    int32_t version;
    nccl_id id; /* rank 0's */
    char text[400];
} greeting;

static tutti_status nccl_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    nccl *n = calloc(1, sizeof *n);
    (void)host;
    if (!n)
        return tutti_fail(err, TUTTI_E_NOMEM, "nccl: no memory");
    (void)snprintf(n->file, sizeof n->file, "%s", tutti_param_str(params, "library"));
    *ret_self = n;
    return TUTTI_OK;
}

/* NCCL's library stays: it keeps threads, and what they run must not go. */
static tutti_status nccl_close(void *self, tutti_error *err)
{
    nccl *n = self;
    (void)err;
    free(n->requests);
    free(n);
    return TUTTI_OK;
}

/* ---- joining ---- */

static tutti_status take_device(nccl *n, const tutti_device_join *how, tutti_error *err)
{
    const tutti_device_v1 *t = how->table;
    if (!t->cuda || !t->cuda(how->device))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "nccl: moves memory of NVIDIA's GPUs, the run's device is another");
    n->table = t;
    n->device = how->device;
    n->followed = how->stream;
    const tutti_status s = t->stream_create(n->device, &n->stream, err);
    return s ? s : t->event_create(n->device, &n->before, err);
}

static tutti_status prepare_rank(nccl *n, const tutti_device_join *how, greeting *mine,
                                 tutti_error *err)
{
    tutti_status s = take_device(n, how, err);
    if (s || (s = nccl_load(n, &mine->version, err)) || n->rank != 0)
        return s;
    const unsigned int code = n->api.ncclGetUniqueId(&mine->id);
    return code ? tutti_fail(err, TUTTI_E_STATE, "nccl: ncclGetUniqueId: %s",
                             n->api.ncclGetErrorString(code))
                : TUTTI_OK;
}

static tutti_status read_greetings(const nccl *n, const greeting *all, tutti_error *err)
{
    for (int32_t r = 0; r < n->size; r++) {
        if (all[r].status)
            return r == n->rank
                       ? tutti_fail(err, all[r].status, "%.390s", all[r].text)
                       : tutti_fail(err, all[r].status, "[rank %d] %.390s", r, all[r].text);
        if (all[r].version != all[0].version)
            return tutti_fail(err, TUTTI_E_VERSION,
                              "nccl: rank %d has NCCL %d, rank 0 has %d, want the same", r,
                              all[r].version, all[0].version);
    }
    return TUTTI_OK;
}

/* All ranks know of each other that they can, or why not: no one waits in NCCL for one that has given up. */
static tutti_status greet_ranks(nccl *n, const tutti_device_join *how, nccl_id *ret_id,
                                tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    greeting mine, *all = calloc((size_t)n->size, sizeof *all);
    memset(&mine, 0, sizeof mine);
    mine.status = prepare_rank(n, how, &mine, &why);
    (void)snprintf(mine.text, sizeof mine.text, "%.390s", mine.status ? why.text : "");
    tutti_status s = all ? how->exchange(how->ctx, &mine, all, sizeof mine, err)
                         : tutti_fail(err, TUTTI_E_NOMEM, "nccl: no memory");
    if (!s)
        s = read_greetings(n, all, err);
    if (!s)
        *ret_id = all[0].id;
    free(all);
    return s;
}

static tutti_status nccl_join(void *self, const tutti_device_join *how, tutti_error *err)
{
    nccl *n = self;
    nccl_id id;
    n->rank = how->rank;
    n->size = how->size;
    n->timeout_ms = how->timeout_ms;
    (void)snprintf(n->progress.phase, sizeof n->progress.phase, "joining");
    const tutti_status s = greet_ranks(n, how, &id, err);
    if (s)
        return s;
    nccl_config config = {
        .size = sizeof config, .magic = NCCL_MAGIC, .version = NCCL_OLDEST, .blocking = 0};
    const unsigned int code =
        n->api.ncclCommInitRankConfig(&n->comm, n->size, id, n->rank, &config);
    return nccl_settle(n, "ncclCommInitRankConfig", code, err);
}

/* ---- leaving ---- */

static void end_comm(nccl *n, int32_t failed)
{
    tutti_error unheard = TUTTI_ERROR_INIT;
    if (!n->comm)
        return;
    if (failed || nccl_finish(n, &unheard) ||
        nccl_settle(n, "ncclCommFinalize", n->api.ncclCommFinalize(n->comm), &unheard)) {
        if (n->comm)
            (void)n->api.ncclCommAbort(n->comm);
    } else {
        (void)n->api.ncclCommDestroy(n->comm);
    }
    n->comm = NULL;
}

static void nccl_leave(void *self, int32_t failed)
{
    nccl *n = self;
    end_comm(n, failed);
    for (uint32_t k = 0; k < n->capacity; k++)
        n->table->event_destroy(n->device, n->requests[k].done);
    if (n->table) {
        n->table->event_destroy(n->device, n->before);
        n->table->stream_destroy(n->device, n->stream);
    }
    n->count = n->capacity = 0;
    n->table = NULL;
}

static void nccl_set_timeout(void *self, uint32_t timeout_ms)
{
    ((nccl *)self)->timeout_ms = timeout_ms;
}

static void nccl_tell(void *self, const tutti_progress *now)
{
    ((nccl *)self)->progress = *now;
}

static const void *nccl_query(void *self, const char *interface_id)
{
    static const tutti_device_collectives_v1 table = {.struct_size = sizeof table,
                                                      .join = nccl_join,
                                                      .leave = nccl_leave,
                                                      .set_timeout = nccl_set_timeout,
                                                      .all_to_all = nccl_all_to_all,
                                                      .all_gather = nccl_all_gather,
                                                      .order = nccl_order,
                                                      .finish = nccl_finish,
                                                      .tell = nccl_tell};
    (void)self;
    return strcmp(interface_id, TUTTI_DEVICE_COLLECTIVES_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = nccl_open, .close = nccl_close, .query = nccl_query};
static const tutti_object object = TUTTI_OBJECT_INIT("nccl", TUTTI_KIND_COMM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.nccl", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
