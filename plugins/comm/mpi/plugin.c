/* plugin.c - mpi: collectives by the machine's MPI, over whatever networks it knows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi_comm.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A large message goes in pieces of some 32 KiB, and only while both sides ask: longer pauses take longer than it. */
enum { MPI_LEAST_PAUSE_US = 20, MPI_MOST_PAUSE_US = 50 };
enum { MPI_STOPPED_MS = 500 }; /* a process that has not looked for so long was stopped */

static tutti_status mpi_failed(const char *what, int code, tutti_error *err)
{
    char text[MPI_MAX_ERROR_STRING];
    int n = 0;
    (void)MPI_Error_string(code, text, &n);
    return tutti_fail(err, TUTTI_E_FAIL, "mpi: %s: %.*s", what, n, text);
}

/* ---- joining ---- */

static tutti_status mpi_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    mpi *m = calloc(1, sizeof *m);
    (void)host;
    (void)params;
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "mpi: no memory");
    *ret_self = m;
    return TUTTI_OK;
}

/* Over TCP Open MPI announces a message of more than 64 KiB and sends it when the receiver has asked for it.  Both wait
 * behind what is on its way on the same connection, other buckets of gradients, while the link has less and less to do.
 * Messages up to 4 MiB go at once.  Between processes of one machine a message goes in pieces, 32 KiB each, only
 * while both sides ask: larger ones want fewer turns of threads that share a processor. */
#ifdef OPEN_MPI
typedef struct mpi_parameter {
    const char *name, *value;
} mpi_parameter;

static const mpi_parameter mpi_parameters[] = {
    {"OMPI_MCA_btl_tcp_eager_limit", "4194304"},
    {"OMPI_MCA_btl_tcp_rndv_eager_limit", "4194304"},
    {"OMPI_MCA_btl_tcp_max_send_size", "4194304"},
    {"OMPI_MCA_btl_vader_max_send_size", "131072"}, /* Open MPI 4 */
    {"OMPI_MCA_btl_sm_max_send_size", "131072"}     /* and 5 */
};
enum { MPI_PARAMETERS = sizeof mpi_parameters / sizeof *mpi_parameters };

/* What the environment or the launcher has set stays; what stands in Open MPI's files does not. */
static int mpi_set_parameters(void)
{
    for (int k = 0; k < MPI_PARAMETERS; k++)
        if (getenv(mpi_parameters[k].name))
            return 0;
    for (int k = 0; k < MPI_PARAMETERS; k++)
        (void)setenv(mpi_parameters[k].name, mpi_parameters[k].value, 0);
    return 1;
}

static int mpi_init(int *ret_level)
{
    const int set = mpi_set_parameters();
    const int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, ret_level);
    for (int k = 0; k < MPI_PARAMETERS && set; k++)
        (void)unsetenv(mpi_parameters[k].name); /* of no use to programs that the run starts */
    return code;
}
#else
static int mpi_init(int *ret_level)
{
    return MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, ret_level);
}
#endif

/* An application that embeds the host may have begun MPI before. */
static tutti_status mpi_start(mpi *m, tutti_error *err)
{
    int begun = 0, ended = 0, level = 0;
    (void)MPI_Initialized(&begun);
    (void)MPI_Finalized(&ended);
    if (ended)
        return tutti_fail(err, TUTTI_E_STATE,
                          "mpi: MPI has ended in this process, where it begins once");
    const int code = begun ? MPI_Query_thread(&level) : mpi_init(&level);
    if (code != MPI_SUCCESS)
        return mpi_failed(begun ? "MPI_Query_thread" : "MPI_Init_thread", code, err);
    m->began = !begun;
    if (level < MPI_THREAD_SERIALIZED)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "mpi: %s, want MPI_THREAD_SERIALIZED",
                          begun ? "the program has begun MPI without threads"
                                : "this MPI serves no program with threads");
    return TUTTI_OK;
}

/* The communicator of the run, whose errors come back; those before it end the job, as MPI's do. */
static tutti_status mpi_open_comm(mpi *m, tutti_error *err)
{
    int code = MPI_Comm_dup(MPI_COMM_WORLD, &m->comm);
    if (code != MPI_SUCCESS)
        return mpi_failed("MPI_Comm_dup", code, err);
    m->joined = 1;
    if ((code = MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN)) != MPI_SUCCESS ||
        (code = MPI_Comm_rank(m->comm, &m->world.rank)) != MPI_SUCCESS ||
        (code = MPI_Comm_size(m->comm, &m->world.size)) != MPI_SUCCESS)
        return mpi_failed("the communicator of the run", code, err);
    return TUTTI_OK;
}

static tutti_status mpi_find_node(mpi *m, tutti_error *err)
{
    MPI_Comm node;
    int code = MPI_Comm_split_type(m->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (code != MPI_SUCCESS)
        return mpi_failed("MPI_Comm_split_type", code, err);
    if ((code = MPI_Comm_rank(node, &m->world.local_rank)) == MPI_SUCCESS)
        code = MPI_Comm_size(node, &m->world.local_size);
    (void)MPI_Comm_free(&node);
    return code == MPI_SUCCESS ? TUTTI_OK : mpi_failed("the ranks of this machine", code, err);
}

static tutti_status mpi_join(void *self, const tutti_join *how, tutti_world_info *ret_world,
                             tutti_error *err)
{
    mpi *m = self;
    tutti_status s = mpi_start(m, err);
    if (s)
        return s;
    m->timeout_ms = how->timeout_ms;
    if ((s = mpi_open_comm(m, err)) || (s = mpi_find_node(m, err)))
        return m->broken = s;
    const size_t size = (size_t)m->world.size;
    m->answers = calloc(size, sizeof *m->answers);
    m->waits = calloc(size, sizeof *m->waits);
    for (int k = 0; k < MPI_OPERATIONS; k++) {
        mpi_operation *o = &m->operations[k];
        if (!m->answers || !m->waits || !(o->counts[0] = calloc(4 * size, sizeof(int))))
            return m->broken = tutti_fail(err, TUTTI_E_NOMEM, "mpi: no memory for %d ranks",
                                          m->world.size);
        o->offsets[0] = o->counts[0] + size;
        o->counts[1] = o->counts[0] + 2 * size;
        o->offsets[1] = o->counts[0] + 3 * size;
    }
    ret_world->rank = m->world.rank;
    ret_world->size = m->world.size;
    ret_world->local_rank = m->world.local_rank;
    ret_world->local_size = m->world.local_size;
    return TUTTI_OK;
}

/* MPI_Finalize waits for all. */
static void mpi_leave(void *self, int32_t failed)
{
    mpi *m = self;
    if (failed && !m->broken)
        m->broken = TUTTI_E_STATE;
}

static void mpi_set_timeout(void *self, uint32_t timeout_ms)
{
    ((mpi *)self)->timeout_ms = timeout_ms;
}

static void mpi_tell(void *self, const tutti_progress *now)
{
    ((mpi *)self)->progress = *now;
}

/* ---- waiting ---- */

/* After an error of MPI the state of the operation is undefined: nothing follows. */
static tutti_status mpi_break(mpi *m, const char *what, int code, tutti_error *err)
{
    m->why = (tutti_error)TUTTI_ERROR_INIT;
    m->broken = mpi_failed(what, code, &m->why);
    return tutti_fail(err, m->broken, "%s", m->why.text);
}

/* Until the operation is done.  Pauses grow, so that ranks without a CPU of their own get on. */
static tutti_status mpi_finish(mpi *m, const char *what, int code, MPI_Request *request,
                               uint64_t number, tutti_error *err)
{
    int64_t waited = 0, last = mpi_now_ms();
    useconds_t pause = MPI_LEAST_PAUSE_US;
    int done = 0, asked = 0;
    if (code != MPI_SUCCESS)
        return mpi_break(m, what, code, err);
    for (int k = 0;; k++) {
        if ((code = MPI_Test(request, &done, MPI_STATUS_IGNORE)) != MPI_SUCCESS)
            return mpi_break(m, what, code, err);
        if (done)
            return TUTTI_OK;
        const int64_t now = mpi_now_ms();
        waited += now - last < MPI_STOPPED_MS ? now - last : MPI_STOPPED_MS;
        last = now;
        if (m->heard[0] || (m->timeout_ms && waited > m->timeout_ms)) {
            const tutti_status s = mpi_break_off(m, number, asked++ > 0, err);
            if (s)
                return s;
            waited = 0; /* all have come at last */
        }
        if (k < 100)
            continue;
        mpi_answer(m);
        (void)usleep(pause);
        pause = pause * 2 > MPI_MOST_PAUSE_US ? MPI_MOST_PAUSE_US : pause * 2;
    }
}

static tutti_status mpi_check(const mpi *m, tutti_error *err)
{
    return m->broken ? tutti_fail(err, m->broken, "%s", m->why.text) : TUTTI_OK;
}

/* ---- operations ---- */

/* MPI counts in int. */
static tutti_status mpi_parts(const mpi *m, mpi_operation *o, int side,
                              const tutti_parts *parts, tutti_error *err)
{
    for (int k = 0; k < m->world.size; k++) {
        if (parts->offsets[k] + parts->bytes[k] > INT_MAX)
            return tutti_fail(err, TUTTI_E_RANGE, "mpi: an operation on more than %d bytes",
                              INT_MAX);
        o->counts[side][k] = (int)parts->bytes[k];
        o->offsets[side][k] = (int)parts->offsets[k];
    }
    return TUTTI_OK;
}

/* That of this number; 0: one that is free.  NULL: none. */
static mpi_operation *mpi_find(mpi *m, uint64_t number)
{
    for (int k = 0; k < MPI_OPERATIONS; k++)
        if (m->operations[k].number == number)
            return &m->operations[k];
    return NULL;
}

static tutti_status mpi_begin(mpi *m, const char *what, mpi_operation **ret, tutti_error *err)
{
    const tutti_status s = mpi_check(m, err);
    mpi_operation *o = s ? NULL : mpi_find(m, 0);
    if (!o)
        return s ? s
                 : tutti_fail(err, TUTTI_E_STATE, "mpi: more than %d operations are under way",
                              MPI_OPERATIONS);
    o->what = what;
    *ret = o;
    return TUTTI_OK;
}

/* MPI has begun it, or could not. */
static tutti_status mpi_begun(mpi *m, mpi_operation *o, int code, uint64_t *ret_request,
                              tutti_error *err)
{
    if (code != MPI_SUCCESS)
        return mpi_break(m, o->what, code, err);
    *ret_request = o->number = ++m->begun;
    return TUTTI_OK;
}

static tutti_status mpi_all_to_all(void *self, const tutti_parts *send,
                                   const tutti_parts *receive, uint64_t *ret_request,
                                   tutti_error *err)
{
    mpi *m = self;
    mpi_operation *o = NULL;
    tutti_status s = mpi_begin(m, "MPI_Ialltoallv", &o, err);
    *ret_request = 0;
    if (s || (s = mpi_parts(m, o, 0, send, err)) || (s = mpi_parts(m, o, 1, receive, err)))
        return s;
    return mpi_begun(m, o,
                     MPI_Ialltoallv(send->data, o->counts[0], o->offsets[0], MPI_BYTE,
                                    receive->data, o->counts[1], o->offsets[1], MPI_BYTE,
                                    m->comm, &o->request),
                     ret_request, err);
}

static tutti_status mpi_all_gather(void *self, const tutti_parts *parts, uint64_t *ret_request,
                                   tutti_error *err)
{
    mpi *m = self;
    mpi_operation *o = NULL;
    tutti_status s = mpi_begin(m, "MPI_Iallgatherv", &o, err);
    *ret_request = 0;
    if (s || (s = mpi_parts(m, o, 0, parts, err)))
        return s;
    return mpi_begun(m, o,
                     MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, parts->data, o->counts[0],
                                     o->offsets[0], MPI_BYTE, m->comm, &o->request),
                     ret_request, err);
}

static tutti_status mpi_exchange(void *self, const void *mine, void *all, uint64_t bytes,
                                 tutti_error *err)
{
    mpi *m = self;
    MPI_Request request;
    const tutti_status s = mpi_check(m, err);
    if (s || bytes > INT_MAX)
        return s ? s
                 : tutti_fail(err, TUTTI_E_RANGE, "mpi: an operation on more than %d bytes",
                              INT_MAX);
    const uint64_t number = ++m->begun;
    const int code = MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                                    m->comm, &request);
    return mpi_finish(m, "MPI_Iallgather", code, &request, number, err);
}

static tutti_status mpi_broadcast(void *self, void *data, uint64_t bytes, int32_t root,
                                  tutti_error *err)
{
    mpi *m = self;
    MPI_Request request;
    const tutti_status s = mpi_check(m, err);
    if (s || bytes > INT_MAX)
        return s ? s
                 : tutti_fail(err, TUTTI_E_RANGE, "mpi: an operation on more than %d bytes",
                              INT_MAX);
    const uint64_t number = ++m->begun;
    const int code = MPI_Ibcast(data, (int)bytes, MPI_BYTE, root, m->comm, &request);
    return mpi_finish(m, "MPI_Ibcast", code, &request, number, err);
}

/* What is waited for already is done. */
static tutti_status mpi_wait(void *self, uint64_t request, tutti_error *err)
{
    mpi *m = self;
    mpi_operation *o = request ? mpi_find(m, request) : NULL;
    const tutti_status s = mpi_check(m, err);
    if (s || !o)
        return s;
    o->number = 0;
    return mpi_finish(m, o->what, MPI_SUCCESS, &o->request, request, err);
}

static tutti_status mpi_test(void *self, uint64_t request, int32_t *ret_done, tutti_error *err)
{
    mpi *m = self;
    mpi_operation *o = request ? mpi_find(m, request) : NULL;
    int done = 1;
    const tutti_status s = mpi_check(m, err);
    const int code = s || !o ? MPI_SUCCESS : MPI_Test(&o->request, &done, MPI_STATUS_IGNORE);
    if (!s && o)
        mpi_answer(m);
    *ret_done = done;
    return s || code == MPI_SUCCESS ? s : mpi_break(m, o->what, code, err);
}

/* After an operation that failed the others are ended: MPI cannot go on without a rank. */
static tutti_status mpi_close(void *self, tutti_error *err)
{
    mpi *m = self;
    int ended = 0;
    (void)err;
    (void)MPI_Finalized(&ended); /* by an application */
    if (m->broken && !ended)
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    if (m->joined && !ended)
        (void)MPI_Comm_free(&m->comm);
    if (m->began && !ended)
        (void)MPI_Finalize();
    for (int k = 0; k < MPI_OPERATIONS; k++)
        free(m->operations[k].counts[0]);
    free(m->answers);
    free(m->waits);
    free(m);
    return TUTTI_OK;
}

static const void *mpi_query(void *self, const char *interface_id)
{
    static const tutti_collectives_v1 table = {.struct_size = sizeof table,
                                               .flags = TUTTI_COLLECTIVES_CONCURRENT,
                                               .join = mpi_join,
                                               .leave = mpi_leave,
                                               .set_timeout = mpi_set_timeout,
                                               .exchange = mpi_exchange,
                                               .broadcast = mpi_broadcast,
                                               .all_to_all = mpi_all_to_all,
                                               .all_gather = mpi_all_gather,
                                               .wait = mpi_wait,
                                               .tell = mpi_tell,
                                               .test = mpi_test};
    (void)self;
    return strcmp(interface_id, TUTTI_COLLECTIVES_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = mpi_open, .close = mpi_close, .query = mpi_query};
static const tutti_object object = TUTTI_OBJECT_INIT("mpi", TUTTI_KIND_COMM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.mpi", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
