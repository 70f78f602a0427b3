/* plugin.c - alone: the collectives of a world of one process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/collectives.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

static tutti_status alone_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    (void)host;
    (void)params;
    char *self = malloc(1); /* a connection would be here */
    if (!self)
        return tutti_fail(err, TUTTI_E_NOMEM, "alone: no memory");
    *ret_self = self;
    return TUTTI_OK;
}

static tutti_status alone_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* Waits for all ranks; `how` has the time that it may take. */
static tutti_status alone_join(void *self, const tutti_join *how, tutti_world_info *ret_world,
                               tutti_error *err)
{
    (void)self;
    (void)how;
    (void)err;
    ret_world->rank = ret_world->local_rank = 0;
    ret_world->size = ret_world->local_size = 1;
    return TUTTI_OK;
}

static void alone_leave(void *self, int32_t failed)
{
    (void)self;
    (void)failed;
}

static void alone_set_timeout(void *self, uint32_t timeout_ms)
{
    (void)self;
    (void)timeout_ms;
}

static tutti_status alone_exchange(void *self, const void *mine, void *all, uint64_t bytes,
                                   tutti_error *err)
{
    (void)self;
    (void)err;
    memmove(all, mine, bytes);
    return TUTTI_OK;
}

static tutti_status alone_broadcast(void *self, void *data, uint64_t bytes, int32_t root,
                                    tutti_error *err)
{
    (void)self;
    (void)data;
    (void)bytes;
    return root == 0 ? TUTTI_OK
                     : tutti_fail(err, TUTTI_E_ARG, "alone: there is no rank %d", (int)root);
}

static tutti_status alone_all_to_all(void *self, const tutti_parts *send,
                                     const tutti_parts *receive, uint64_t *ret_request,
                                     tutti_error *err)
{
    (void)self;
    *ret_request = 0;
    if (send->bytes[0] != receive->bytes[0])
        return tutti_fail(err, TUTTI_E_ARG,
                          "alone: what is sent is not as long as what is received");
    memmove((char *)receive->data + receive->offsets[0],
            (const char *)send->data + send->offsets[0], send->bytes[0]);
    return TUTTI_OK;
}

static tutti_status alone_all_gather(void *self, const tutti_parts *parts,
                                     uint64_t *ret_request, tutti_error *err)
{
    (void)self;
    (void)parts;
    (void)err;
    *ret_request = 0;
    return TUTTI_OK;
}

/* Operations that are done when they return have nothing to wait for. */
static tutti_status alone_finish(void *self, uint64_t request, tutti_error *err)
{
    (void)self;
    (void)request;
    (void)err;
    return TUTTI_OK;
}

static void alone_tell(void *self, const tutti_progress *now)
{
    (void)self;
    (void)now;
}

static const void *alone_query(void *self, const char *interface_id)
{
    static const tutti_collectives_v1 table = {.struct_size = sizeof table,
                                               .join = alone_join,
                                               .leave = alone_leave,
                                               .set_timeout = alone_set_timeout,
                                               .exchange = alone_exchange,
                                               .broadcast = alone_broadcast,
                                               .all_to_all = alone_all_to_all,
                                               .all_gather = alone_all_gather,
                                               .wait = alone_finish,
                                               .tell = alone_tell};
    (void)self;
    return strcmp(interface_id, TUTTI_COLLECTIVES_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = alone_open,
                                  .close = alone_close,
                                  .query = alone_query};
static const tutti_object object = TUTTI_OBJECT_INIT("alone", TUTTI_KIND_COMM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.example.alone", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
