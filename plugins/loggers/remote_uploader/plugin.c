/* plugin.c - remote_uploader: files of the run go to a bucket or folder while it trains. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "../common/outbox.h"
#include "../logger.h"
#include "job.h"
#include "place.h"
#include "tutti/checkpoint.h"
#include "tutti/files.h"
#include "tutti/log.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_UPLOADS = 16, NUMBER_SIZE = 24, MEMORY = 1 << 16 };

typedef struct uploader {
    tutti_files_v1 files;
    const tutti_checkpoint_v1 *checkpoint;
    outbox *outbox; /* of the numbers of jobs */
    place place;
    uint64_t next; /* number of the next job */
    const char *format, *uri;
    uint32_t uploads;   /* at a time */
    int64_t queue_size; /* jobs that may wait */
    int64_t waiting;    /* atomic: jobs of the folder */
    char folder[512];   /* of jobs */
} uploader;

/* One job under way. */
typedef struct upload {
    uploader *owner;
    job job;
    pthread_t thread;
    tutti_status status;
    tutti_error why;
    bool is_there; /* else it has arrived before */
    bool runs;     /* in a thread of its own */
} upload;

static bool remote_uploader_must_end(void *ctx)
{
    return outbox_must_end(((uploader *)ctx)->outbox);
}

static void remote_uploader_wait(void *ctx, int64_t seconds)
{
    (void)outbox_wait(((uploader *)ctx)->outbox, 1000 * (seconds < 120 ? seconds : 120));
}

/* ---- on the outbox's thread ---- */

static void *upload_run(void *ctx)
{
    upload *u = ctx;
    u->status = place_put(&u->owner->place, &u->job, &u->why);
    return NULL;
}

/* The job has ended: its files go, unless it is tried again, now or by a later run. */
static void upload_end(upload *u)
{
    uploader *up = u->owner;
    if (!u->is_there)
        return;
    if (u->status == TUTTI_OK || u->status == TUTTI_E_EXISTS) {
        job_remove(&u->job);
        (void)__atomic_sub_fetch(&up->waiting, 1, __ATOMIC_RELAXED);
    }
    if (u->status == TUTTI_E_EXISTS)
        u->status = TUTTI_E_ARG; /* for good */
    job_close(&u->job);
}

static uint64_t number_of(const outbox_record *r)
{
    char text[NUMBER_SIZE];
    (void)snprintf(text, sizeof text, "%.*s",
                   (int)(r->size < sizeof text ? r->size : sizeof text - 1), r->data);
    return strtoull(text, NULL, 10);
}

/* A file of this name that is written over by one of those that follow need not be sent. */
static bool is_replaced(const uploader *up, const job *j, const outbox_record *rest, uint32_t n)
{
    bool replaced = false;
    for (uint32_t k = 0; k < n && !replaced; k++) {
        job later;
        tutti_error none = TUTTI_ERROR_INIT;
        bool there;
        if (job_open(&later, up->folder, number_of(&rest[k]), &there, &none) || !there)
            continue;
        replaced = later.overwrite && strcmp(later.name, j->name) == 0;
        job_close(&later);
    }
    return replaced;
}

static void drop_upload(upload *u)
{
    u->is_there = false;
    job_remove(&u->job);
    job_close(&u->job);
    (void)__atomic_sub_fetch(&u->owner->waiting, 1, __ATOMIC_RELAXED);
}

/* Opens the jobs of records as long as no two have one name: the later file is to stay. */
static uint32_t open_group(uploader *up, const outbox_record *records, uint32_t n, upload *u)
{
    uint32_t count = 0;
    for (; count < n && count < up->uploads; count++) {
        upload *one = &u[count];
        *one = (upload){.owner = up, .why = TUTTI_ERROR_INIT};
        one->status = job_open(&one->job, up->folder, number_of(&records[count]),
                               &one->is_there, &one->why);
        for (uint32_t k = 0; one->is_there && !one->status && k < count; k++)
            if (u[k].is_there && strcmp(u[k].job.name, one->job.name) == 0) {
                job_close(&one->job);
                return count;
            }
        if (one->is_there && !one->status &&
            is_replaced(up, &one->job, records + count + 1, n - count - 1))
            drop_upload(one);
    }
    return count;
}

/* The first in this thread, each other in one of its own. */
static void run_group(upload *u, uint32_t n)
{
    for (uint32_t k = n; k-- > 0;) {
        if (!u[k].is_there || u[k].status)
            continue;
        u[k].runs = k > 0 && pthread_create(&u[k].thread, NULL, upload_run, &u[k]) == 0;
        if (!u[k].runs)
            (void)upload_run(&u[k]);
    }
    for (uint32_t k = 0; k < n; k++)
        if (u[k].runs)
            (void)pthread_join(u[k].thread, NULL);
    for (uint32_t k = 0; k < n; k++)
        upload_end(&u[k]);
}

static tutti_status remote_uploader_send(void *ctx, const outbox_record *records, uint32_t n,
                                         uint32_t *ret_sent, tutti_error *err)
{
    uploader *up = ctx;
    upload u[MOST_UPLOADS];
    while (*ret_sent < n && !outbox_must_end(up->outbox)) {
        const uint32_t count = open_group(up, records + *ret_sent, n - *ret_sent, u);
        run_group(u, count);
        for (uint32_t k = 0; k < count; k++, ++*ret_sent)
            if (u[k].status)
                return tutti_fail(err, u[k].status, "%s", u[k].why.text);
    }
    return TUTTI_OK;
}

/* ---- on the run's thread ---- */

/* The name at the destination. */
static tutti_status expand_name(const uploader *up, const char *remote_name, char *to,
                                size_t room, tutti_error *err)
{
    const char *run = up->checkpoint->run_name(up->checkpoint->ctx);
    const struct {
        const char *word, *value;
    } words[] = {{"{run_name}", run}, {"{remote_file_name}", remote_name}};
    size_t n = 0;
    for (const char *c = up->format; *c && n < room;) {
        size_t k = 0;
        while (k < 2 && strncmp(c, words[k].word, strlen(words[k].word)) != 0)
            k++;
        n += (size_t)snprintf(to + n, room - n, "%.*s", k < 2 ? (int)room : 1,
                              k < 2 ? words[k].value : c);
        c += k < 2 ? strlen(words[k].word) : 1;
    }
    return n < room ? TUTTI_OK
                    : tutti_fail(err, TUTTI_E_ARG,
                                 "remote_uploader: the remote name of %s is longer than %zu "
                                 "bytes",
                                 remote_name, room - 1);
}

static void put_number(void *ctx, uint64_t number)
{
    uploader *up = ctx;
    char text[NUMBER_SIZE];
    const int n = snprintf(text, sizeof text, "%" PRIu64, number);
    up->next = number >= up->next ? number + 1 : up->next;
    (void)__atomic_add_fetch(&up->waiting, 1, __ATOMIC_RELAXED);
    outbox_put(up->outbox, text, (size_t)n);
}

static tutti_status remote_uploader_upload(void *ctx, const tutti_upload *what,
                                           tutti_error *err)
{
    uploader *up = ctx;
    char name[JOB_NAME];
    if (__atomic_load_n(&up->waiting, __ATOMIC_RELAXED) >= up->queue_size)
        return tutti_fail(err, TUTTI_E_STATE,
                          "remote_uploader: %" PRId64 " files wait already, %s is not uploaded",
                          up->queue_size, what->path);
    tutti_status s = expand_name(up, what->remote_name, name, sizeof name, err);
    if (!s)
        s = job_make(up->folder, up->next, name, what->path, what->overwrite != 0, err);
    if (!s)
        put_number(up, up->next);
    return s;
}

/* ---- back ---- */

static tutti_status remote_uploader_download(void *ctx, const tutti_download *what,
                                             tutti_error *err)
{
    const uploader *up = ctx;
    char name[JOB_NAME];
    const tutti_status s = expand_name(up, what->name, name, sizeof name, err);
    return s ? s : place_get(&up->place, name, what, err);
}

/* Whoever asked has the names without what the format puts around them. */
typedef struct listing {
    char head[JOB_NAME], tail[JOB_NAME];
    const tutti_listing *what;
} listing;

static tutti_status remote_uploader_each(void *ctx, const char *name, tutti_error *err)
{
    const listing *l = ctx;
    char own[JOB_NAME];
    const size_t head = strlen(l->head), tail = strlen(l->tail), n = strlen(name);
    if (n <= head + tail || strncmp(name, l->head, head) != 0 ||
        strcmp(name + n - tail, l->tail) != 0)
        return TUTTI_OK;
    (void)snprintf(own, sizeof own, "%.*s", (int)(n - head - tail), name + head);
    return l->what->each(l->what->asker, own, err);
}

static int32_t remote_uploader_list_must_end(void *ctx)
{
    const listing *l = ctx;
    return l->what->must_end && l->what->must_end(l->what->asker);
}

static tutti_status remote_uploader_list(void *ctx, const tutti_listing *what, tutti_error *err)
{
    static const char mark[] = "\n"; /* which no name has */
    const uploader *up = ctx;
    listing l = {.what = what};
    char begin[2 * JOB_NAME];
    tutti_status s = expand_name(up, mark, l.head, sizeof l.head, err);
    char *at = s ? NULL : strchr(l.head, *mark);
    if (!at) /* a format without the name has one file */
        return s;
    (void)snprintf(l.tail, sizeof l.tail, "%s", at + 1);
    *at = '\0';
    (void)snprintf(begin, sizeof begin, "%s%s", l.head, what->prefix);
    const tutti_listing named = {.struct_size = sizeof named,
                                 .prefix = begin,
                                 .each = remote_uploader_each,
                                 .must_end = remote_uploader_list_must_end,
                                 .asker = &l};
    return place_list(&up->place, &named, err);
}

static void make_folder(char *path)
{
    for (char *c = strchr(path + 1, '/'); c; c = strchr(c + 1, '/')) {
        *c = '\0';
        (void)mkdir(path, 0777);
        *c = '/';
    }
    (void)mkdir(path, 0777); /* what fails is told when a file is taken */
}

static tutti_status remote_uploader_event(void *self, const tutti_event *event,
                                          tutti_error *err)
{
    uploader *up = self;
    tutti_status s = outbox_event(up->outbox, event, err);
    if (!s && event->id == TUTTI_EVENT_INIT) {
        make_folder(up->folder);
        s = job_list(up->folder, put_number, up, err); /* of a run that was killed */
    }
    return s;
}

static void uploader_free(uploader *up)
{
    place_close(&up->place);
    free(up);
}

static tutti_status remote_uploader_close(void *self, tutti_error *err)
{
    uploader *up = self;
    (void)err;
    outbox_destroy(up->outbox);
    (void)rmdir(up->folder); /* stays while files wait in it */
    uploader_free(up);
    return TUTTI_OK;
}

static tutti_status open_outbox(uploader *up, const tutti_host *host,
                                const tutti_params *params, tutti_error *err)
{
    char path[768];
    const char *run = up->checkpoint->run_folder(up->checkpoint->ctx);
    const char *staging = tutti_param_str(params, "upload_staging_folder");
    const int n = staging ? snprintf(up->folder, sizeof up->folder, "%s", staging)
                          : snprintf(up->folder, sizeof up->folder, "%s/uploads", run);
    if (n < 0 || (size_t)n >= sizeof up->folder)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "remote_uploader: the folder of what waits is longer than %zu "
                          "characters",
                          sizeof up->folder - 1);
    (void)snprintf(path, sizeof path, "%s/remote_uploader.waiting", run);
    return outbox_create(
        &(outbox_config){
            .who = "remote_uploader",
            .what = "the file",
            .path = path,
            .log = host->query(host->ctx, TUTTI_LOG_V1),
            .memory = MEMORY,
            .limit_ms = (int64_t)(tutti_param_f64(params, "flush_timeout") * 1000.0),
            .ctx = up,
            .send = remote_uploader_send,
        },
        &up->outbox, err);
}

static tutti_status remote_uploader_open(const tutti_host *host, const tutti_params *params,
                                         void **ret_self, tutti_error *err)
{
    uploader *up = calloc(1, sizeof *up);
    if (!up)
        return tutti_fail(err, TUTTI_E_NOMEM, "remote_uploader: no memory");
    up->checkpoint = logger_service(host, "remote_uploader", TUTTI_CHECKPOINT_V1, err);
    up->files = (tutti_files_v1){.struct_size = sizeof up->files,
                                 .ctx = up,
                                 .upload = remote_uploader_upload,
                                 .download = remote_uploader_download,
                                 .list = remote_uploader_list};
    up->format = tutti_param_str(params, "file_path_format_string");
    up->uri = tutti_param_str(params, "bucket_uri");
    up->uploads = (uint32_t)tutti_param_i64(params, "num_concurrent_uploads");
    up->queue_size = tutti_param_i64(params, "queue_size");
    up->place = (place){.part = (uint64_t)tutti_param_i64(params, "part_size") << 20,
                        .must_end = remote_uploader_must_end,
                        .wait = remote_uploader_wait,
                        .ctx = up};
    tutti_status s = up->checkpoint ? TUTTI_OK : TUTTI_E_UNSUPPORTED;
    if (!s)
        s = place_open(&up->place, up->uri, tutti_param_str(params, "endpoint"),
                       tutti_param_f64(params, "silence_timeout"), err);
    if (!s)
        s = open_outbox(up, host, params, err);
    if (s) {
        uploader_free(up);
        return s;
    }
    *ret_self = up;
    return TUTTI_OK;
}

static const char *remote_uploader_location(void *self)
{
    return ((uploader *)self)->uri;
}

static const void *remote_uploader_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table, /* files alone */
                                          .location = remote_uploader_location};
    if (strcmp(interface_id, TUTTI_LOGGER_V1) == 0)
        return &table;
    return strcmp(interface_id, TUTTI_FILES_V1) == 0 ? &((uploader *)self)->files : NULL;
}

LOGGER_PLUGIN("remote_uploader", .open = remote_uploader_open,
              .run_event = remote_uploader_event, .close = remote_uploader_close,
              .query = remote_uploader_query);
