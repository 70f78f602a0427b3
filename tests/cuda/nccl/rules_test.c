/* rules_test.c - the stand-in for NCCL refuses what NCCL refuses, or would hang on. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#include "nccl_ranks.h"

#include "nccl_api.h"

#include <dlfcn.h>

/* A rank that calls NCCL by itself. */
typedef struct caller {
    nccl_api api;
    struct ncclComm *comm;
    member member; /* its device */
    void *stream;
    char *data; /* 256 bytes of the device's */
} caller;

static void load(nccl_api *api)
{
    void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL), *symbol;
    want(handle != NULL, "the stand-in is not there");
#define FIND(type, name, args)                                                                 \
    symbol = dlsym(handle, #name);                                                             \
    memcpy(&api->name, &symbol, sizeof symbol);
    NCCL_CALLS(FIND)
}

static void enter_world(caller *c, int rank, int size)
{
    nccl_id id, all[SIZE];
    nccl_config config = {sizeof config, NCCL_MAGIC, NCCL_OLDEST, 0, 0};
    unsigned int code = NCCL_IN_PROGRESS;
    tutti_error err = TUTTI_ERROR_INIT;
    memset(c, 0, sizeof *c);
    memset(&id, 0, sizeof id);
    load(&c->api);
    c->member.rank = rank;
    c->member.size = size;
    want_ok(
        tutti_device_open(tutti_device_cuda(), NULL, (uint32_t)rank, &c->member.device, &err),
        &err);
    c->data = take(&c->member, 256);
    want_ok(c->member.device.table->stream_create(c->member.device.device, &c->stream, &err),
            &err);
    want(rank || c->api.ncclGetUniqueId(&id) == NCCL_SUCCESS, "an id");
    want_ok(exchange(&c->member, &id, all, sizeof id, &err), &err);
    want(c->api.ncclCommInitRankConfig(&c->comm, size, all[0], rank, &config) ==
             NCCL_IN_PROGRESS,
         "a communicator");
    while (code == NCCL_IN_PROGRESS)
        want(c->api.ncclCommGetAsyncError(c->comm, &code) == NCCL_SUCCESS, "asking");
    want(code == NCCL_SUCCESS, "joining");
}

/* The device has failed with this sentence. */
static void want_sentence(caller *c, const char *sentence)
{
    tutti_error err = TUTTI_ERROR_INIT;
    want(c->member.device.table->synchronise(c->member.device.device, NULL, &err) != TUTTI_OK,
         "nothing was found");
    want(strstr(err.text, sentence) != NULL, err.text);
}

static void end(caller *c)
{
    if (c->comm)
        want(c->api.ncclCommAbort(c->comm) == NCCL_SUCCESS, "abort");
    _exit(0); /* a device that has failed gives nothing back */
}

static void other_order(int rank, int size)
{
    caller c;
    enter_world(&c, rank, size);
    (void)(rank ? c.api.ncclBroadcast(c.data, c.data, 64, NCCL_INT8, 0, c.comm, c.stream)
                : c.api.ncclAllGather(c.data, c.data, 64, NCCL_INT8, c.comm, c.stream));
    if (rank) /* behind the other's call */
        (void)exchange(&c.member, &rank, (int[SIZE]){0}, sizeof rank, NULL);
    void *event;
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_device_v1 *t = c.member.device.table;
    want_ok(t->event_create(c.member.device.device, &event, &err), &err);
    want_ok(t->event_record(c.member.device.device, event, c.stream, &err), &err);
    (void)t->event_done(c.member.device.device, event);
    if (!rank)
        (void)exchange(&c.member, &rank, (int[SIZE]){0}, sizeof rank, NULL);
    if (rank)
        want_sentence(&c, "collective 1 is ncclAllGather of 64 bytes, root 0 on rank 0, "
                          "ncclBroadcast of 64 bytes, root 0 on rank 1");
    end(&c);
}

static void other_length(int rank, int size)
{
    caller c;
    enter_world(&c, rank, size);
    (void)(rank ? c.api.ncclRecv(c.data, 128, NCCL_INT8, 0, c.comm, c.stream)
                : c.api.ncclSend(c.data, 64, NCCL_INT8, 1, c.comm, c.stream));
    if (rank)
        want_sentence(&c, "rank 0 sends 64 bytes to rank 1, which receives 128");
    else
        want_ok(c.member.device.table->synchronise(c.member.device.device, c.stream,
                                                   &(tutti_error)TUTTI_ERROR_INIT),
                &(tutti_error)TUTTI_ERROR_INIT);
    end(&c);
}

static void use_after_abort(int rank, int size)
{
    caller c;
    enter_world(&c, rank, size);
    want(c.api.ncclCommAbort(c.comm) == NCCL_SUCCESS, "abort");
    struct ncclComm *gone = c.comm;
    c.comm = NULL;
    want(c.api.ncclBroadcast(c.data, c.data, 64, NCCL_INT8, 0, gone, c.stream) ==
             NCCL_INVALID_USAGE,
         "a call behind abort");
    want_sentence(&c, "ncclBroadcast of a communicator that is gone");
    end(&c);
}

static void captured(int rank, int size)
{
    caller c;
    tutti_error err = TUTTI_ERROR_INIT;
    enter_world(&c, rank, size);
    want_ok(c.member.device.table->capture_begin(c.member.device.device, c.stream, &err), &err);
    want(c.api.ncclBroadcast(c.data, c.data, 64, NCCL_INT8, 0, c.comm, c.stream) ==
             NCCL_INVALID_USAGE,
         "a call that is gathered");
    (void)!c.member.device.table->capture_end(c.member.device.device, c.stream, NULL, &err);
    want_sentence(&c, "ncclBroadcast on a stream that is captured");
    end(&c);
}

/* Two ranks that first send to each other, each without its receive in the same group, wait for ever. */
static void ungrouped(int rank, int size)
{
    caller c;
    void *event;
    tutti_error err = TUTTI_ERROR_INIT;
    enter_world(&c, rank, size);
    const tutti_device_v1 *t = c.member.device.table;
    want(c.api.ncclSend(c.data, 64, NCCL_INT8, 1 - rank, c.comm, c.stream) == NCCL_SUCCESS &&
             c.api.ncclRecv(c.data, 64, NCCL_INT8, 1 - rank, c.comm, c.stream) == NCCL_SUCCESS,
         "calls");
    want_ok(t->event_create(c.member.device.device, &event, &err), &err);
    want_ok(t->event_record(c.member.device.device, event, c.stream, &err), &err);
    for (int k = 0; k < 100; k++, (void)usleep(1000))
        want(t->event_done(c.member.device.device, event) == 0, "it has ended");
    want(c.api.ncclCommAbort(c.comm) == NCCL_SUCCESS, "abort");
    c.comm = NULL;
    want_ok(t->synchronise(c.member.device.device, c.stream, &err), &err);
    end(&c);
}

static void other_stream(int rank, int size)
{
    caller c;
    void *second;
    tutti_error err = TUTTI_ERROR_INIT;
    enter_world(&c, rank, size);
    want_ok(c.member.device.table->stream_create(c.member.device.device, &second, &err), &err);
    (void)c.api.ncclBroadcast(c.data, c.data, 64, NCCL_INT8, 0, c.comm, c.stream);
    (void)c.api.ncclBroadcast(c.data, c.data, 64, NCCL_INT8, 0, c.comm, second);
    want_sentence(&c, "ncclBroadcast on another stream than the communicator's");
    end(&c);
}

static void host_memory(int rank, int size)
{
    caller c;
    char here[64];
    enter_world(&c, rank, size);
    (void)c.api.ncclSend(here, sizeof here, NCCL_INT8, 0, c.comm, c.stream);
    want_sentence(&c, "ncclSend of 64 bytes that are not the device's");
    end(&c);
}

static const struct {
    void (*body)(int rank, int size);
    int size;
} rules[] = {{other_order, 2}, {other_length, 2}, {use_after_abort, 1}, {captured, 1},
             {ungrouped, 2},   {other_stream, 1}, {host_memory, 1}};

START_TEST(what_nccl_forbids_is_told)
{
    world(rules[_i].size, rules[_i].body, "devices=2", "");
    clean_up(rules[_i].size);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *c = tcase_create("rules");
    suite_add_tcase(suite, c);
    tcase_add_loop_test(c, what_nccl_forbids_is_told, 0, sizeof rules / sizeof *rules);
    return tutti_run(suite);
}
