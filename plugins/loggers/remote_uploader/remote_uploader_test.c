/* remote_uploader_test.c - the logger through its entry function, against a server of S3 that takes, refuses, fails,
 * stalls, is down, and knows which parts it has. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#if REMOTE_HAS_CURL

#include "tutti/files.h"

#include "server_check.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, PARTS = 3, STORED = 4, MOST_TEXT = 1 << 14 };

typedef struct stored {
    char name[256];
    char *data;
    size_t size;
} stored;

/* What the server has; guarded by there.lock. */
static stored objects[STORED];
static stored parts[PARTS];
static char said[MOST_TEXT]; /* a line for each request that did what it asked for */
static char signed_by[512];  /* the last Authorization */
static int troubles;         /* answers that are none, before the good ones */
static const char *trouble;
static int stalls_at; /* the request, from 1, that gets no answer while `stalled` */
static bool stalled;
static bool forgets; /* the upload of parts, once */

static stored *find_stored(stored *all, int n, const char *name)
{
    for (int k = 0; k < n; k++)
        if (!all[k].name[0] || strcmp(all[k].name, name) == 0)
            return &all[k];
    ck_abort_msg("the server is full");
}

static void keep_bytes(stored *to, const char *name, const char *data, size_t size)
{
    (void)snprintf(to->name, sizeof to->name, "%s", name);
    free(to->data);
    to->data = malloc(size + 1);
    memcpy(to->data, data, size);
    to->size = size;
}

static size_t join_parts(const char *name, char *out, size_t room)
{
    size_t size = 0;
    static char whole[PARTS * 5 * MIB];
    for (int k = 0; k < PARTS && parts[k].data; k++) {
        memcpy(whole + size, parts[k].data, parts[k].size);
        size += parts[k].size;
    }
    keep_bytes(find_stored(objects, STORED, name), name, whole, size);
    return server_reply(out, room, 200, "", "<CompleteMultipartUploadResult/>");
}

/* Two pages of names. */
static size_t send_list(const char *query, char *out, size_t room)
{
    static const char of_all[] =
        "delimiter=%2F&list-type=2&prefix=deep%2Fof%2Ftrial%2Fa%26b%2F";
    char second[256];
    (void)snprintf(second, sizeof second, "?continuation-token=t%%2B1%%2F2%%3D&%s", of_all);
    if (strcmp(query, second) == 0)
        return server_reply(
            out, room, 200, "",
            "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>"
            "deep/of/trial/a&amp;b/2 &lt; 3</Key></Contents></ListBucketResult>");
    ck_assert_str_eq(query + 1, of_all);
    return server_reply(
        out, room, 200, "",
        "<ListBucketResult><NextContinuationToken>t+1/2=</NextContinuationToken>"
        "<Contents><Key>deep/of/trial/a&amp;b/</Key></Contents><Contents><Key>"
        "deep/of/trial/a&amp;b/one</Key></Contents></ListBucketResult>");
}

static size_t send_stored(const char *name, char *out, size_t room)
{
    const stored *o = find_stored(objects, STORED, name);
    if (!o->data)
        return server_reply(out, room, 404, "", "<Error><Code>NoSuchKey</Code></Error>");
    const size_t n = (size_t)snprintf(
        out, room, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
        o->size);
    memcpy(out + n, o->data, o->size);
    return n + o->size;
}

static size_t serve_s3(const server_request *r, char *out, size_t room)
{
    char name[256], number[16], etag[64];
    const char *query = strchr(r->path, '?');
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(r->path, "?"), r->path);
    if (strcmp(r->method, "HEAD") == 0) {
        const stored *o = find_stored(objects, STORED, name);
        return o->data ? (size_t)snprintf(out, room,
                                          "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n"
                                          "Connection: close\r\n\r\n",
                                          o->size)
                       : server_reply(out, room, 404, "", "");
    }
    if (strcmp(r->method, "GET") == 0)
        return query ? send_list(query, out, room) : send_stored(name, out, room);
    if (!query) {
        keep_bytes(find_stored(objects, STORED, name), name, r->body, r->size);
        return server_reply(out, room, 200, "ETag: \"whole\"\r\n", "");
    }
    if (strcmp(query, "?uploads=") == 0)
        return server_reply(out, room, 200, "", "<X><UploadId>an+id/of=parts</UploadId></X>");
    if (forgets) {
        forgets = false;
        return server_reply(out, room, 404, "", "<Error><Code>NoSuchUpload</Code></Error>");
    }
    ck_assert_ptr_nonnull(strstr(query, "uploadId=an%2Bid%2Fof%3Dparts"));
    if (strcmp(r->method, "POST") == 0) {
        ck_assert_ptr_nonnull(
            strstr(r->body, "<PartNumber>3</PartNumber><ETag>\"part3\"</ETag>"));
        return join_parts(name, out, room);
    }
    (void)sscanf(query, "?partNumber=%15[0-9]", number);
    const int k = atoi(number) - 1;
    ck_assert(k >= 0 && k < PARTS);
    keep_bytes(&parts[k], number, r->body, r->size);
    (void)snprintf(etag, sizeof etag, "ETag: \"part%s\"\r\n", number);
    return server_reply(out, room, 200, etag, "");
}

static size_t answer(server *s, const server_request *r, char *out, size_t room)
{
    while (stalled && (int)s->requests + 1 == stalls_at)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    if (s->requests < (uint32_t)troubles)
        return (size_t)snprintf(out, room, "%s", trouble);
    const size_t used = strlen(said);
    (void)snprintf(said + used, sizeof said - used, "%s %s\n", r->method, r->path);
    (void)server_header(r, "Authorization", signed_by, sizeof signed_by);
    return serve_s3(r, out, room);
}

/* ---- the run's side ---- */

static double silence = 100;
static char endpoint[64], bucket[300], path[300];

static const tutti_files_v1 *open_at(const char *uri, double flush_timeout)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d/", there.port);
    test_settings_string(&g, "bucket_uri", uri);
    test_settings_string(&g, "endpoint", endpoint);
    test_settings_string(&g, "file_path_format_string", "of/{run_name}/{remote_file_name}");
    test_settings_int(&g, "num_concurrent_uploads", 2);
    test_settings_int(&g, "part_size", 5);
    test_settings_int(&g, "queue_size", 6);
    test_settings_null(&g, "upload_staging_folder");
    test_settings_float(&g, "silence_timeout", silence);
    test_settings_float(&g, "flush_timeout", flush_timeout);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "remote_uploader", &g,
                              run.services, &err),
                 err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    return subject_query(&it, TUTTI_FILES_V1);
}

/* A file of the run, `size` bytes that follow from their place. */
static const char *make_file(const char *name, size_t size)
{
    (void)snprintf(path, sizeof path, "%s/%s", run.run_folder, name);
    FILE *f = fopen(path, "w");
    for (size_t k = 0; f && k < size; k++)
        (void)putc((int)(k * 7919 >> 8 & 255), f);
    ck_assert(f && fclose(f) == 0);
    return path;
}

static void assert_bytes(const char *data, size_t size)
{
    for (size_t k = 0; k < size; k++)
        if ((unsigned char)data[k] != (k * 7919 >> 8 & 255))
            ck_abort_msg("byte %zu is wrong", k);
}

/* The file gets there, after the last request. */
static void assert_stored(const char *name, size_t size)
{
    const stored *o = find_stored(objects, STORED, name);
    ck_assert_msg(o->data && o->size == size, "%s has %zu bytes", name, o->size);
    assert_bytes(o->data, size);
}

static tutti_status try_upload(const tutti_files_v1 *f, const char *name, const char *from,
                               uint32_t over, tutti_error *err)
{
    const tutti_upload what = {
        .struct_size = sizeof what, .overwrite = over, .remote_name = name, .path = from};
    return f->upload(f->ctx, &what, err);
}

static void upload(const tutti_files_v1 *f, const char *name, const char *from, uint32_t over)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(try_upload(f, name, from, over, &err), err);
}

/* Nothing waits any more. */
static void assert_empty(void)
{
    (void)snprintf(path, sizeof path, "%s/uploads", run.run_folder);
    ck_assert_msg(access(path, F_OK) != 0, "%s is still there", path);
}

static void setup(void)
{
    (void)setenv("AWS_ACCESS_KEY_ID", "key", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    (void)setenv("AWS_REGION", "eu-west-3", 1);
    server_setup();
}

START_TEST(a_file_arrives_as_it_was_when_it_was_given)
{
    server_start(&there);
    const tutti_files_v1 *f = open_at("s3://models/deep", 100);
    const char *from = make_file("a b.txt", 1000);
    upload(f, "logs/a b.txt", from, 1);
    FILE *more = fopen(from, "a"); /* the file grows, and is rotated away */
    ck_assert(more && fputs("more", more) >= 0 && fclose(more) == 0 && unlink(from) == 0);
    subject_close(&it);
    ck_assert_str_eq(said, "PUT /models/deep/of/trial/logs/a%20b.txt\n");
    assert_stored("/models/deep/of/trial/logs/a%20b.txt", 1000);
    ck_assert_int_eq(strncmp(signed_by, "AWS4-HMAC-SHA256 Credential=key/", 32), 0);
    ck_assert_ptr_nonnull(strstr(signed_by, "/eu-west-3/s3/aws4_request"));
    ck_assert_ptr_nonnull(strstr(signed_by, "x-amz-content-sha256"));
    ck_assert_str_eq(run.noted, "");
    assert_empty();
}
END_TEST

static char names[512];

/* *asker names, and no more. */
static tutti_status take_name(void *asker, const char *name, tutti_error *err)
{
    int *room = asker;
    if ((*room)-- == 0)
        return tutti_fail(err, TUTTI_E_RANGE, "no room for %s", name);
    (void)strcat(strcat(names, name), "\n");
    return TUTTI_OK;
}

static tutti_status list(const tutti_files_v1 *f, const char *prefix, int room,
                         tutti_error *err)
{
    const tutti_listing what = {
        .struct_size = sizeof what, .prefix = prefix, .each = take_name, .asker = &room};
    names[0] = '\0';
    return f->list(f->ctx, &what, err);
}

static tutti_status download(const tutti_files_v1 *f, const char *name, const char *to,
                             tutti_error *err)
{
    const tutti_download what = {.struct_size = sizeof what, .name = name, .path = to};
    return f->download(f->ctx, &what, err);
}

START_TEST(files_come_back_by_their_names)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char to[400], line[16] = "";
    server_start(&there);
    keep_bytes(&objects[0], "/models/deep/of/trial/a%26b/one", "bytes", 5);
    const tutti_files_v1 *f = open_at("s3://models/deep/", 100);
    ck_assert_ok(list(f, "a&b/", 3, &err), err);
    ck_assert_str_eq(names, "a&b/\na&b/one\na&b/2 < 3\n");
    ck_assert_int_eq(list(f, "a&b/", 1, &err), TUTTI_E_RANGE); /* whoever asks has enough */
    ck_assert_error(err, TUTTI_E_RANGE, "no room for a&b/one");
    ck_assert_str_eq(names, "a&b/\n");
    err = (tutti_error)TUTTI_ERROR_INIT;
    (void)snprintf(to, sizeof to, "%s/back", run.run_folder);
    ck_assert_ok(download(f, "a&b/one", to, &err), err);
    FILE *in = fopen(to, "r");
    ck_assert(in && fgets(line, sizeof line, in) && fclose(in) == 0);
    ck_assert_str_eq(line, "bytes");
    ck_assert_int_eq(download(f, "none", to, &err), TUTTI_E_NOTFOUND);
    ck_assert_ptr_nonnull(
        strstr(err.text, "/none: the server answers with status 404: NoSuchKey"));
    subject_close(&it);
}
END_TEST

START_TEST(a_large_file_goes_in_parts)
{
    server_start(&there);
    const tutti_files_v1 *f = open_at("s3://models", 100);
    upload(f, "big", make_file("big", 11 * MIB), 1);
    subject_close(&it);
    ck_assert_str_eq(said,
                     "POST /models/of/trial/big?uploads=\n"
                     "PUT /models/of/trial/big?partNumber=1&uploadId=an%2Bid%2Fof%3Dparts\n"
                     "PUT /models/of/trial/big?partNumber=2&uploadId=an%2Bid%2Fof%3Dparts\n"
                     "PUT /models/of/trial/big?partNumber=3&uploadId=an%2Bid%2Fof%3Dparts\n"
                     "POST /models/of/trial/big?uploadId=an%2Bid%2Fof%3Dparts\n");
    assert_stored("/models/of/trial/big", 11 * MIB);
    assert_empty();
    ck_assert_ptr_null(strstr(signed_by, "expect")); /* a header that is signed and not sent */
}
END_TEST

/* The child is killed while the server holds back its answer to part 2. */
START_TEST(a_run_that_was_killed_goes_on_with_the_parts_that_are_missing)
{
    stalls_at = 3;
    stalled = true;
    (void)make_file("big", 11 * MIB);
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        const tutti_files_v1 *f = open_at("s3://models", 100);
        upload(f, "big", path, 1);
        for (;;)
            (void)pause();
    }
    server_start(&there);
    server_wait(&there, 2); /* the upload is begun, part 1 has arrived */
    char job[400], line[64] = "";
    (void)snprintf(job, sizeof job, "%s/uploads/0000000000.job", run.run_folder);
    while (!strstr(line, "part 0")) { /* and is noted */
        FILE *in = fopen(job, "r");
        while (in && fgets(line, sizeof line, in) && !strstr(line, "part 0"))
            ;
        if (in)
            (void)fclose(in);
        (void)usleep(10000);
    }
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    (void)pthread_mutex_lock(&there.lock);
    stalled = false;
    said[0] = '\0';
    (void)pthread_cond_broadcast(&there.changed);
    (void)pthread_mutex_unlock(&there.lock);
    (void)open_at("s3://models", 100);
    subject_close(&it);
    ck_assert_ptr_null(strstr(said, "uploads="));
    ck_assert_ptr_null(strstr(said, "partNumber=1"));
    ck_assert_ptr_nonnull(strstr(said, "partNumber=3"));
    assert_stored("/models/of/trial/big", 11 * MIB);
    assert_empty();
}
END_TEST

START_TEST(an_upload_that_the_server_has_forgotten_begins_again)
{
    forgets = true;
    server_start(&there);
    const tutti_files_v1 *f = open_at("s3://models", 100);
    upload(f, "big", make_file("big", 11 * MIB), 1);
    subject_close(&it);
    assert_stored("/models/of/trial/big", 11 * MIB);
}
END_TEST

static const struct {
    const char *answer, *told;
} not_good[] = {
    {"nonsense from a printer\r\n\r\n", "cannot be sent: "},
    {"", "cannot be sent: "},
    {"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
     "the server answers with status 503; the file is kept and sent when it can be"},
    {"HTTP/1.1 403 No\r\nContent-Length: 48\r\nConnection: "
     "close\r\n\r\n<Error><Code>ExpiredToken"
     "</Code></Error>        ",
     "the server answers with status 403: ExpiredToken; the file is kept"},
    {"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n",
     "the server answers with status 429"},
};

START_TEST(an_answer_that_is_not_good_is_told_and_the_file_sent_again)
{
    troubles = 2;
    trouble = not_good[_i].answer;
    server_start(&there);
    const tutti_files_v1 *f = open_at("s3://models", 100);
    upload(f, "a", make_file("a", 10), 1);
    server_wait_note();
    ck_assert_msg(strstr(run.noted, not_good[_i].told), "%s", run.noted);
    subject_close(&it);
    assert_stored("/models/of/trial/a", 10);
}
END_TEST

START_TEST(a_server_that_stalls_is_left_and_asked_again)
{
    stalls_at = 1;
    stalled = true;
    silence = 1;
    server_start(&there);
    const tutti_files_v1 *f = open_at("s3://models", 100);
    upload(f, "a", make_file("a", 10), 1);
    server_wait_note(); /* after a second of silence */
    ck_assert_msg(strstr(run.noted,
                         "/models/of/trial/a: the server is silent for 1 s; the file "
                         "is kept and sent when it can be"),
                  "%s", run.noted);
    (void)pthread_mutex_lock(&there.lock);
    stalled = false;
    (void)pthread_cond_broadcast(&there.changed);
    (void)pthread_mutex_unlock(&there.lock);
    subject_close(&it);
    assert_stored("/models/of/trial/a", 10);
}
END_TEST

START_TEST(a_server_that_is_down_holds_up_nothing_and_gets_the_file_later)
{
    const tutti_files_v1 *f = open_at("s3://models", 0);
    upload(f, "a", make_file("b", 10), 1); /* which the next one replaces */
    upload(f, "a", make_file("a", 20), 1);
    ck_assert_int_eq(unlink(path), 0);
    subject_close(&it); /* does not wait */
    ck_assert_msg(strstr(run.noted, "2 records were not sent within 0 s; they wait in "), "%s",
                  run.noted);
    server_start(&there);
    (void)open_at("s3://models", 100);
    subject_close(&it);
    ck_assert_str_eq(said, "PUT /models/of/trial/a\n");
    assert_stored("/models/of/trial/a", 20);
    assert_empty();
}
END_TEST

START_TEST(what_is_refused_for_good_holds_up_no_other_file)
{
    troubles = 1;
    trouble = "HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    server_start(&there);
    const tutti_files_v1 *f = open_at("s3://models", 100);
    upload(f, "a", make_file("a", 10), 1);
    server_wait_note();
    ck_assert_msg(strstr(run.noted, "answers with status 400; that record is left out"), "%s",
                  run.noted);
    upload(f, "b", make_file("b", 10), 1);
    subject_close(&it);
    assert_stored("/models/of/trial/b", 10);
    (void)open_at("s3://models", 100); /* the next run of the folder tries it again */
    subject_close(&it);
    assert_stored("/models/of/trial/a", 10);
    assert_empty();
}
END_TEST

START_TEST(a_name_that_is_taken_is_left_alone_unless_it_may_be_written_over)
{
    server_start(&there);
    const tutti_files_v1 *f = open_at("s3://models", 100);
    upload(f, "a", make_file("a", 10), 0);
    server_wait(&there, 2); /* HEAD and PUT */
    upload(f, "a", make_file("other", 20), 0);
    server_wait_note();
    ck_assert_msg(strstr(run.noted, "remote_uploader: of/trial/a is there already"), "%s",
                  run.noted);
    upload(f, "b", path, 1);
    upload(f, "b", make_file("third", 30), 1);
    subject_close(&it);
    assert_stored("/models/of/trial/a", 10);
    assert_stored("/models/of/trial/b", 30); /* the later one stays */
    assert_empty();
}
END_TEST

START_TEST(no_more_files_wait_than_may)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_files_v1 *f = open_at("s3://models", 0);
    (void)make_file("a", 10);
    for (int k = 0; k < 6; k++)
        upload(f, (const char *[]){"a", "b", "c", "d", "e", "f"}[k], path, 1);
    ck_assert_int_eq(try_upload(f, "b", path, 1, &err), TUTTI_E_STATE);
    ck_assert_ptr_nonnull(strstr(err.text, "remote_uploader: 6 files wait already, /tmp/"));
    subject_close(&it);
}
END_TEST

START_TEST(a_folder_gets_whole_files)
{
    char got[400];
    struct stat st;
    (void)snprintf(bucket, sizeof bucket, "file://%s/to", run.run_folder);
    const tutti_files_v1 *f = open_at(bucket, 100);
    upload(f, "deep/a", make_file("a", 3 * MIB), 1);
    upload(f, "deep/a", make_file("b", 10), 0); /* is there by then */
    const tutti_logger_v1 *table = subject_query(&it, TUTTI_LOGGER_V1);
    ck_assert_str_eq(table->location(it.self), bucket);
    subject_close(&it);
    ck_assert_msg(strstr(run.noted, "/to/of/trial/deep/a is there already; that record"), "%s",
                  run.noted);
    (void)snprintf(got, sizeof got, "%s/to/of/trial/deep/a", run.run_folder);
    ck_assert_int_eq(stat(got, &st), 0);
    ck_assert_int_eq(st.st_size, 3 * MIB);
    (void)strcat(got, ".part");
    ck_assert_int_ne(access(got, F_OK), 0);
    assert_empty();
}
END_TEST

START_TEST(what_cannot_be_sent_is_refused_at_once)
{
    static const struct {
        const char *uri, *told;
    } bad[] = {
        {"models", "remote_uploader: bucket_uri is models, want s3://bucket/folder or "
                   "file:///folder"},
        {"file://here", "remote_uploader: bucket_uri is file://here, want s3://bucket/folder "
                        "or file:///folder"},
    };
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    const tutti_files_v1 *f = open_at("s3://models", 0);
    ck_assert_int_eq(try_upload(f, "a", "/no/such/file", 1, &err), TUTTI_E_IO);
    ck_assert_error(err, TUTTI_E_IO,
                    "remote_uploader: cannot read /no/such/file: No such file or directory");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(try_upload(f, "a", "/tmp", 1, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "remote_uploader: /tmp is no regular file");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(try_upload(f, "a\nb", make_file("a", 1), 1, &err), TUTTI_E_ARG);
    subject_close(&it);
    test_settings_init(&g);
    test_settings_null(&g, "endpoint");
    test_settings_null(&g, "upload_staging_folder");
    test_settings_string(&g, "file_path_format_string", "{remote_file_name}");
    test_settings_int(&g, "num_concurrent_uploads", 1);
    test_settings_int(&g, "part_size", 5);
    test_settings_int(&g, "queue_size", 6);
    test_settings_float(&g, "silence_timeout", 1);
    test_settings_float(&g, "flush_timeout", 0);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        err = (tutti_error)TUTTI_ERROR_INIT;
        test_settings_string(&g, "bucket_uri", bad[k].uri);
        ck_assert_int_eq(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "remote_uploader",
                                      &g, run.services, &err),
                         TUTTI_E_ARG);
        ck_assert_error(err, TUTTI_E_ARG, bad[k].told);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("remote_uploader");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, server_teardown);
    tcase_add_test(tc, a_file_arrives_as_it_was_when_it_was_given);
    tcase_add_test(tc, files_come_back_by_their_names);
    tcase_add_test(tc, a_large_file_goes_in_parts);
    tcase_add_test(tc, a_run_that_was_killed_goes_on_with_the_parts_that_are_missing);
    tcase_add_test(tc, an_upload_that_the_server_has_forgotten_begins_again);
    tcase_add_loop_test(tc, an_answer_that_is_not_good_is_told_and_the_file_sent_again, 0,
                        sizeof not_good / sizeof *not_good);
    tcase_add_test(tc, a_server_that_stalls_is_left_and_asked_again);
    tcase_add_test(tc, a_server_that_is_down_holds_up_nothing_and_gets_the_file_later);
    tcase_add_test(tc, what_is_refused_for_good_holds_up_no_other_file);
    tcase_add_test(tc, a_name_that_is_taken_is_left_alone_unless_it_may_be_written_over);
    tcase_add_test(tc, no_more_files_wait_than_may);
    tcase_add_test(tc, a_folder_gets_whole_files);
    tcase_add_test(tc, what_cannot_be_sent_is_refused_at_once);
    return tutti_run(suite);
}

#else

#include <stdio.h>

int main(void)
{
    (void)puts("skipped: this build is without libcurl 7.88 or newer");
    return 77;
}

#endif
