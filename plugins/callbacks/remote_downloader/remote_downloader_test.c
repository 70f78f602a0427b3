/* remote_downloader_test.c - the object through its entry function, against a server that sends files whole, cut, in
 * ranges, refuses, stalls, talks nonsense, is down. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#if REMOTE_HAS_CURL

#include "tutti/files.h"

#include "folder_check.h"
#include "server_check.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { BYTES = 40000, CUT = 15000, MOST_SAID = 4096 };

/* What the server does; guarded by there.lock. */
static const char *trouble; /* its answer to everything; NULL: the file */
static int cuts;            /* answers that end too early, before the good ones */
static const char *etag, *etag_later;
static bool has_ranges;      /* else it sends all of the file whatever is asked for */
static int astray;           /* bytes behind what was asked for at which it begins */
static bool stalled;         /* no answer comes */
static char said[MOST_SAID]; /* a line for each request: path, range, condition */
static char signed_by[512];

static char folder[FOLDER_SIZE], path[FOLDER_SIZE + 32], address[300];
static bool ends;

static char byte_at(size_t k)
{
    return (char)(k * 7919 >> 8 & 255);
}

static size_t send_file(char *out, size_t room, size_t from, bool partial, const char *tag,
                        size_t stop)
{
    char range[64] = "", tags[64] = "";
    if (partial)
        (void)snprintf(range, sizeof range, "Content-Range: bytes %zu-%d/%d\r\n", from,
                       BYTES - 1, BYTES);
    if (tag)
        (void)snprintf(tags, sizeof tags, "ETag: %s\r\n", tag);
    size_t n = (size_t)snprintf(out, room,
                                "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s%sConnection: "
                                "close\r\n\r\n",
                                partial ? "206 Part" : "200 OK", BYTES - from, range, tags);
    for (size_t k = from; k < stop; k++)
        out[n++] = byte_at(k);
    return n;
}

static size_t answer(server *s, const server_request *r, char *out, size_t room)
{
    char range[64], only[64];
    const size_t used = strlen(said);
    while (stalled)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    (void)server_header(r, "Range", range, sizeof range);
    (void)server_header(r, "If-Range", only, sizeof only);
    (void)server_header(r, "Authorization", signed_by, sizeof signed_by);
    (void)snprintf(said + used, sizeof said - used, "%s %s%s%s%s%s\n", r->method, r->path,
                   *range ? " " : "", range, *only ? " if " : "", only);
    if (trouble)
        return (size_t)snprintf(out, room, "%s", trouble);
    const bool cut = cuts-- > 0;
    const char *tag = cut || !etag_later ? etag : etag_later;
    const bool same = !*only || (tag && strcmp(only, tag) == 0);
    const bool partial = *range && has_ranges && same;
    const size_t from = partial ? strtoul(range + strlen("bytes="), NULL, 10) : 0;
    return send_file(out, room, from + (partial ? (size_t)astray : 0), partial, tag,
                     cut ? from + CUT : BYTES);
}

static int32_t must_end(void *asker)
{
    return *(const bool *)asker;
}

static void setup(void)
{
    (void)setenv("AWS_ACCESS_KEY_ID", "key", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    server_setup();
    folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    (void)snprintf(address, sizeof address, "http://127.0.0.1:%d/deep/a b.safetensors",
                   there.port);
    etag = "\"one\"";
    has_ranges = true;
}

static void teardown(void)
{
    (void)pthread_mutex_lock(&there.lock);
    stalled = false;
    (void)pthread_cond_broadcast(&there.changed);
    (void)pthread_mutex_unlock(&there.lock);
    server_teardown();
    folder_remove(folder);
}

static tutti_status download(const char *name, int64_t attempts, double silence,
                             tutti_error *err)
{
    test_settings g;
    char endpoint[64];
    test_settings_init(&g);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", there.port);
    test_settings_string(&g, "endpoint", endpoint);
    test_settings_int(&g, "num_attempts", attempts);
    test_settings_float(&g, "silence_timeout", silence);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "remote_downloader", &g,
                              run.services, err),
                 *err);
    const tutti_files_v1 *f = subject_query(&it, TUTTI_FILES_V1);
    const tutti_download what = {.struct_size = sizeof what,
                                 .name = name,
                                 .path = path,
                                 .must_end = must_end,
                                 .asker = &ends};
    const tutti_status s = f->download(f->ctx, &what, err);
    subject_close(&it);
    return s;
}

static int count_files(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        n += e->d_name[0] != '.';
    ck_assert_ptr_nonnull(d);
    (void)closedir(d);
    return n;
}

/* All of it, and nothing beside it. */
static void assert_arrives(const char *name, int64_t attempts)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(download(name, attempts, 100, &err), err);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    for (size_t k = 0; k < BYTES; k++)
        if ((char)getc(f) != byte_at(k))
            ck_abort_msg("byte %zu is wrong", k);
    ck_assert_int_eq(getc(f), EOF);
    (void)fclose(f);
    ck_assert_int_eq(count_files(), 1);
}

/* "$" of `sentence` is the server.  Nothing is left in the folder. */
static void assert_fails(const char *name, int64_t attempts, tutti_status want,
                         const char *sentence)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char text[512] = "", *to = text;
    ck_assert_int_eq(download(name, attempts, 1, &err), want);
    for (const char *c = sentence; *c; c++)
        to += *c == '$' ? snprintf(to, 64, "http://127.0.0.1:%d", there.port)
                        : snprintf(to, 2, "%c", *c);
    ck_assert_msg(strncmp(err.text, text, strlen(text)) == 0, "\"%s\", want \"%s\"", err.text,
                  text);
    ck_assert_int_eq(count_files(), 0);
}

START_TEST(a_file_comes_whole)
{
    server_start(&there);
    assert_arrives(address, 1);
    ck_assert_str_eq(said, "GET /deep/a%20b.safetensors\n");
    ck_assert_str_eq(signed_by, "");
}
END_TEST

START_TEST(a_bucket_is_asked_with_a_signature)
{
    server_start(&there);
    assert_arrives("s3://models/deep/a b.safetensors", 1);
    ck_assert_str_eq(said, "GET /models/deep/a%20b.safetensors\n");
    ck_assert_int_eq(strncmp(signed_by, "AWS4-HMAC-SHA256 Credential=key/", 32), 0);
}
END_TEST

START_TEST(what_was_cut_goes_on_where_it_ended)
{
    cuts = 2;
    server_start(&there);
    assert_arrives("s3://models/a", 3);
    ck_assert_str_eq(said, "GET /models/a\n"
                           "GET /models/a bytes=15000- if \"one\"\n"
                           "GET /models/a bytes=30000- if \"one\"\n");
}
END_TEST

static const struct {
    const char *etag, *later;
    bool ranges;
    int astray;
    const char *said; /* after the first request */
} anew[] = {
    {"\"one\"", NULL, false, 0, "GET /models/a bytes=15000- if \"one\"\n"},
    {"\"one\"", "\"two\"", true, 0, "GET /models/a bytes=15000- if \"one\"\n"},
    {NULL, NULL, true, 0, "GET /models/a\n"},
    {"W/\"weak\"", NULL, true, 0, "GET /models/a\n"},
    {"\"one\"", NULL, true, 7, "GET /models/a bytes=15000- if \"one\"\nGET /models/a\n"},
};

/* A server without ranges, another file by now, no name for this one, bytes of elsewhere. */
START_TEST(what_cannot_go_on_comes_anew)
{
    char want[256];
    cuts = 1;
    etag = anew[_i].etag;
    etag_later = anew[_i].later;
    has_ranges = anew[_i].ranges;
    astray = anew[_i].astray;
    server_start(&there);
    assert_arrives("s3://models/a", 3);
    (void)snprintf(want, sizeof want, "GET /models/a\n%s", anew[_i].said);
    ck_assert_str_eq(said, want);
}
END_TEST

static const struct {
    const char *answer;
    tutti_status status;
    const char *told;
} not_good[] = {
    {"HTTP/1.1 404 No\r\nContent-Length: 36\r\nConnection: "
     "close\r\n\r\n<Error><Code>NoSuchKey</Code></Error>",
     TUTTI_E_NOTFOUND, "$/models/a: the server answers with status 404: NoSuchKey"},
    {"HTTP/1.1 403 No\r\nContent-Length: 39\r\nConnection: "
     "close\r\n\r\n<Error><Code>AccessDenied</Code></Error>",
     TUTTI_E_IO, "$/models/a: the server answers with status 403: AccessDenied"},
    {"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", TUTTI_E_IO,
     "$/models/a: the server answers with status 503; tried 2 times"},
    {"nonsense from a printer\r\n\r\n", TUTTI_E_IO, "$/models/a: cannot be fetched: "},
    {"", TUTTI_E_IO, "$/models/a: cannot be fetched: "},
    {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\ncut", TUTTI_E_IO,
     "$/models/a: cannot be fetched: "},
};

START_TEST(an_answer_that_is_not_good_is_one_sentence)
{
    trouble = not_good[_i].answer;
    server_start(&there);
    assert_fails("s3://models/a", 2, not_good[_i].status, not_good[_i].told);
}
END_TEST

START_TEST(a_server_that_is_down_is_told)
{
    assert_fails("s3://models/a", 2, TUTTI_E_IO, "$/models/a: cannot be fetched: ");
}
END_TEST

START_TEST(a_server_that_is_silent_is_left)
{
    stalled = true;
    server_start(&there);
    assert_fails("s3://models/a", 1, TUTTI_E_IO, "$/models/a: the server is silent for 1 s");
}
END_TEST

START_TEST(whoever_asks_can_end_it)
{
    stalled = ends = true;
    server_start(&there);
    assert_fails("s3://models/a", 5, TUTTI_E_INTERRUPTED,
                 "$/models/a: not fetched, it is being closed");
    ends = false;
}
END_TEST

START_TEST(a_disk_that_is_full_is_told)
{
    struct rlimit was, small = {.rlim_cur = CUT};
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    small.rlim_max = was.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    server_start(&there);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_fails("s3://models/a", 5, TUTTI_E_IO, "$/models/a: cannot be kept: File too large");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
}
END_TEST

static const struct {
    const char *address, *told;
} no_addresses[] = {
    {"http://example.com/a",
     "http://example.com/a: http is for servers on this machine, whoever is between could "
     "change the file; want https"},
    {"http://localhost.example.com/a", "http://localhost.example.com/a: http is for servers"},
    {"s3://", "s3://: is no address of a file, such as s3://bucket/name or https://host/name"},
    {"s3://models/", "s3://models/: is no address of a file"},
    {"https://host", "https://host: is no address of a file"},
    {"https://me:word@host/a", "https://me:word@host/a is no address like https://"},
};

START_TEST(what_is_no_address_is_refused)
{
    assert_fails(no_addresses[_i].address, 1, TUTTI_E_ARG, no_addresses[_i].told);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("remote_downloader");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, a_file_comes_whole);
    tcase_add_test(tc, a_bucket_is_asked_with_a_signature);
    tcase_add_test(tc, what_was_cut_goes_on_where_it_ended);
    tcase_add_loop_test(tc, what_cannot_go_on_comes_anew, 0, sizeof anew / sizeof *anew);
    tcase_add_loop_test(tc, an_answer_that_is_not_good_is_one_sentence, 0,
                        sizeof not_good / sizeof *not_good);
    tcase_add_test(tc, a_server_that_is_down_is_told);
    tcase_add_test(tc, a_server_that_is_silent_is_left);
    tcase_add_test(tc, whoever_asks_can_end_it);
    tcase_add_test(tc, a_disk_that_is_full_is_told);
    tcase_add_loop_test(tc, what_is_no_address_is_refused, 0,
                        sizeof no_addresses / sizeof *no_addresses);
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
