/* remote_test.c - sets behind a server that answers, fails and is gone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_check.h"
#include "server_check.h"
#include "set_check.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>

#if REMOTE_HAS_CURL

enum { SHARDS = 24, SAMPLES = 4, VALUES = 14000, HEAD = 4 + 4 * (SAMPLES + 1), FAULTS = 4 };
enum { SHARD_BYTES = HEAD + SAMPLES * (4 + VALUES), NAME_SIZE = 64 };

/* How the server fails; in the order of the files' numbers. */
enum { FAULT_BUSY, FAULT_HANGS_UP, FAULT_WRONG_BYTES, FAULT_CUT_OFF };

static char folder[FOLDER_SIZE], url[96];
static int nshards = 6;
static uint8_t shard[SHARD_BYTES];
static uint32_t asked[SHARDS + 1]; /* requests for each file; the last one is the index */
static bool fails_first;           /* the first attempt at each file fails */
static const char *always;         /* this answer to everything */
static int wrong_shard = -1;       /* its bytes are always wrong */
static int taken; /* atomic: so many shards another process removes once they are here */
static char path_seen[1024], signature_seen[256];

/* In the place of libc's, for the plugin too. */
__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
    const int s = renameat(AT_FDCWD, from, AT_FDCWD, to);
    if (s == 0 && strstr(to, ".mds") && __atomic_load_n(&taken, __ATOMIC_RELAXED) > 0 &&
        __atomic_fetch_sub(&taken, 1, __ATOMIC_RELAXED) > 0)
        (void)unlink(to);
    return s;
}

static void make_shard(int number)
{
    const uint32_t n = SAMPLES, size = VALUES;
    memcpy(shard, &n, sizeof n);
    for (uint32_t k = 0; k <= n; k++) {
        const uint32_t at = HEAD + k * (4 + size);
        memcpy(shard + 4 + 4 * k, &at, sizeof at);
        if (k < n) {
            memcpy(shard + at, &size, sizeof size);
            memset(shard + at + 4, 10 * number + (int)k, size);
        }
    }
}

static size_t make_index(char *to, size_t room)
{
    size_t n = (size_t)snprintf(to, room, "{\"version\": 2, \"shards\": [");
    for (int k = 0; k < nshards; k++) {
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned bytes = 0;
        make_shard(k);
        ck_assert(EVP_Digest(shard, sizeof shard, digest, &bytes, EVP_sha1(), NULL) == 1);
        n += (size_t)snprintf(
            to + n, room - n,
            "%s{\"format\": \"mds\", \"version\": 2, \"column_names\": [\"x\"], "
            "\"column_encodings\": [\"bytes\"], \"column_sizes\": [null], \"samples\": %d, "
            "\"compression\": null, \"zip_data\": null, \"raw_data\": {\"basename\": "
            "\"s %d.mds\", \"bytes\": %d, \"hashes\": {\"sha1\": \"",
            k ? ", " : "", SAMPLES, k, SHARD_BYTES);
        for (unsigned b = 0; b < bytes; b++)
            n += (size_t)snprintf(to + n, room - n, "%02x", digest[b]);
        n += (size_t)snprintf(to + n, room - n, "\"}}}");
    }
    return n + (size_t)snprintf(to + n, room - n, "]}");
}

static size_t reply(char *out, size_t room, const void *body, size_t size, size_t claim)
{
    const size_t head = (size_t)snprintf(
        out, room, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
        claim);
    ck_assert_uint_le(head + size, room);
    memcpy(out + head, body, size);
    return head + size;
}

static size_t fail_by(int fault, char *out, size_t room, size_t size)
{
    switch (fault) {
    case FAULT_BUSY:
        return server_reply(out, room, 503, "", "busy");
    case FAULT_WRONG_BYTES:
        shard[SHARD_BYTES - 1] ^= 1;
        return reply(out, room, shard, size, size);
    case FAULT_CUT_OFF:
        return reply(out, room, shard, size / 2, size);
    default:
        return 0;
    }
}

static size_t answer(server *s, const server_request *r, char *out, size_t room)
{
    static char index[1 << 15];
    const char *at = strstr(r->path, "/s%20");
    const int number = at ? (int)strtol(at + 5, NULL, 10) : SHARDS;
    (void)s;
    (void)snprintf(path_seen, sizeof path_seen, "%s", r->path);
    (void)server_header(r, "Authorization", signature_seen, sizeof signature_seen);
    if (always)
        return (size_t)snprintf(out, room, "%s", always);
    const bool first = asked[number]++ == 0;
    if (!at)
        return fails_first && first ? server_reply(out, room, 429, "Retry-After: 0\r\n", "")
                                    : reply(out, room, index, make_index(index, sizeof index),
                                            make_index(index, sizeof index));
    make_shard(number);
    if (number == wrong_shard)
        return fail_by(FAULT_WRONG_BYTES, out, room, sizeof shard);
    return fails_first && first ? fail_by(number % FAULTS, out, room, sizeof shard)
                                : reply(out, room, shard, sizeof shard, sizeof shard);
}

static void setup(void)
{
    server_init(&there, answer);
    folder_make(folder);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d/my/set/", there.port);
    remote_url = url;
}

static void teardown(void)
{
    server_fini(&there);
    folder_remove(folder);
}

/* "$" in the sentence is where the set is. */
static void assert_fails(const char *sentence)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char want[512] = "", *to = want;
    tutti_status s = open_path(folder, "x", 0, 0, &err);
    if (s == TUTTI_OK) {
        static uint8_t x[VALUES];
        void *const data[2] = {x, NULL};
        tutti_tensor t[2];
        for (int64_t k = 0; s == TUTTI_OK && k < info.samples; k++)
            s = read_into(k, t, data, sizeof x, &err);
        subject_close(&it);
    }
    url[strlen(url) - 1] = '\0';
    for (const char *c = sentence; *c; c++)
        to += snprintf(to, 96, "%.*s", *c == '$' ? 96 : 1, *c == '$' ? url : c);
    url[strlen(url)] = '/';
    ck_assert_int_ne(s, TUTTI_OK);
    ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0, "%s", err.text);
}

static void read_sample(int64_t k)
{
    static uint8_t x[VALUES];
    (void)read_one(k, x, sizeof x);
    ck_assert_int_eq(x[0], 10 * (k / SAMPLES) + k % SAMPLES);
    ck_assert_int_eq(x[VALUES - 1], x[0]);
}

static void open_remote(void)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(open_path(folder, "x", 0, 0, &err), err);
    ck_assert_int_eq(info.samples, (int64_t)nshards * SAMPLES);
}

static void read_everything(void)
{
    for (int64_t k = 0; k < info.samples; k++)
        read_sample(k);
}

/* Bytes of the shards that are here; fails where a part was left. */
static uint64_t kept_bytes(void)
{
    uint64_t bytes = 0;
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d));) {
        ck_assert_ptr_null(strstr(e->d_name, ".part"));
        bytes += strstr(e->d_name, ".mds") ? SHARD_BYTES : 0;
    }
    (void)closedir(d);
    return bytes;
}

START_TEST(shards_are_fetched_once_and_when_they_are_needed)
{
    server_start(&there);
    open_remote();
    read_sample(0);
    ck_assert_uint_eq(there.requests, 2); /* the index, a shard */
    read_everything();
    ck_assert_uint_eq(there.requests, 1 + (uint32_t)nshards);
    ck_assert_str_eq(path_seen, "/my/set/s%205.mds");
    ck_assert_str_eq(signature_seen, "");
    subject_close(&it);
    open_remote();
    read_everything();
    ck_assert_uint_eq(there.requests, 1 + (uint32_t)nshards);
    subject_close(&it);
}
END_TEST

START_TEST(failures_that_pass_are_survived)
{
    server_start(&there);
    fails_first = true;
    retries = 1;
    open_remote();
    read_everything();
    ck_assert_uint_eq(there.requests, 2 + 2 * (uint32_t)nshards);
    ck_assert_uint_eq(kept_bytes(), (uint64_t)nshards * SHARD_BYTES);
    subject_close(&it);
}
END_TEST

START_TEST(failures_that_stay_are_told)
{
    static const char *const answers[] = {
        "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n<html></>"};
    static const char *const sentences[] = {
        "$/index.json: the server answers with status 404",
        "$/index.json: the server answers with status 500; tried 2 times"};
    server_start(&there);
    retries = 1;
    for (int k = 0; k < 2; k++) {
        always = answers[k];
        assert_fails(sentences[k]);
    }
    always = answers[2];
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_path(folder, "x", 0, 0, &err), TUTTI_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "/index.json:1: "));
    always = NULL; /* that answer was not kept */
    wrong_shard = 2;
    assert_fails("$/s%202.mds: its sha1 is ");
    ck_assert_uint_eq(asked[2], 2);
    ck_assert_uint_eq(kept_bytes(), 2 * SHARD_BYTES);
}
END_TEST

START_TEST(a_server_that_is_gone_or_silent_holds_nothing_up)
{
    retries = 1;
    assert_fails("$/index.json: cannot be fetched: Failed to connect to 127.0.0.1");
    timeout_s = 1;
    ck_assert_int_eq(listen(there.fd, 16), 0); /* nobody accepts */
    assert_fails("$/index.json: the server is silent for 1 s");
    ck_assert_uint_eq(kept_bytes(), 0);
}
END_TEST

START_TEST(addresses_of_other_kinds_are_refused)
{
    static const char *const addresses[] = {
        "ftp://host/x",     "https://", "s3://", "https://me:secret@host/x",
        "https://host/x?y", ""};
    for (size_t k = 0; k < sizeof addresses / sizeof *addresses; k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        remote_url = addresses[k];
        ck_assert_int_eq(open_path(folder, "x", 0, 0, &err), TUTTI_E_ARG);
        ck_assert_str_eq(err.text, "mds: remote is no address like https://host/folder or "
                                   "s3://bucket/folder, without user, \"?\" and \"#\"");
    }
}
END_TEST

START_TEST(a_damaged_copy_is_fetched_again)
{
    char path[128];
    server_start(&there);
    open_remote();
    read_everything();
    subject_close(&it);
    (void)snprintf(path, sizeof path, "%s/s 1.mds", folder);
    FILE *f = fopen(path, "r+b");
    ck_assert_ptr_nonnull(f);
    (void)fputc('?', f);
    (void)fclose(f);
    (void)snprintf(path, sizeof path, "%s/s 2.mds", folder);
    ck_assert_int_eq(truncate(path, 100), 0);
    open_remote();
    read_everything();
    ck_assert_uint_eq(asked[1], 2);
    ck_assert_uint_eq(asked[2], 2);
    ck_assert_uint_eq(asked[3], 1);
    subject_close(&it);
}
END_TEST

START_TEST(the_disk_is_bounded)
{
    const uint64_t limit = 1 << 20;
    nshards = SHARDS;
    disk_mib = 1;
    ck_assert_uint_gt((uint64_t)SHARDS * SHARD_BYTES, limit);
    server_start(&there);
    open_remote();
    for (int turn = 0; turn < 2; turn++)
        for (int64_t k = 0; k < info.samples; k++) {
            read_sample(k);
            ck_assert_uint_le(kept_bytes(), limit);
        }
    ck_assert_uint_gt(kept_bytes(), limit / 2);
    for (int k = 0; k < SHARDS; k++)
        ck_assert_uint_eq(asked[k], 2); /* the order is the worst for the least recently used */
    subject_close(&it);
}
END_TEST

/* Another process with the same folder makes room between a shard's fetching and its opening. */
START_TEST(shards_that_others_remove_are_fetched_again)
{
    server_start(&there);
    taken = 2;
    open_remote();
    read_everything();
    ck_assert_uint_eq(asked[0], 3); /* for its shape */
    ck_assert_int_le(taken, 0);
    subject_close(&it);
}
END_TEST

START_TEST(but_not_without_an_end)
{
    char want[FOLDER_SIZE + 64];
    tutti_error err = TUTTI_ERROR_INIT;
    server_start(&there);
    taken = 1000;
    ck_assert_int_eq(open_path(folder, "x", 0, 0, &err), TUTTI_E_IO);
    (void)snprintf(want, sizeof want, "%s/s 0.mds: No such file or directory", folder);
    ck_assert_str_eq(err.text, want);
    ck_assert_uint_eq(asked[0], 8);
}
END_TEST

START_TEST(shards_are_fetched_ahead)
{
    predownload = 3;
    server_start(&there);
    open_remote();
    read_sample(0);
    server_wait(&there, 1 + 1 + 3);
    ck_assert_uint_eq(there.requests, 5);
    for (int k = 0; k < 4; k++)
        read_sample((int64_t)k * SAMPLES);
    subject_close(&it);
    for (int k = 0; k < 4; k++)
        ck_assert_uint_eq(asked[k], 1);
}
END_TEST

/* The order of an epoch says which shards are next. */
START_TEST(shards_of_a_shuffle_are_fetched_ahead)
{
    enum { ALL = SHARDS * SAMPLES };
    int64_t order[ALL], seen[SHARDS];
    tutti_error err = TUTTI_ERROR_INIT;
    int n = 0;
    nshards = SHARDS;
    predownload = 3;
    shuffle_algo = 3; /* py1s */
    shuffle_seed = 7;
    nodes = 1;
    server_start(&there);
    open_remote();
    const tutti_epoch epoch = {
        .struct_size = sizeof epoch, .shuffle = 1, .seed = 5, .epoch = 1, .batch_size = 4};
    const tutti_sample_order_v1 *of = subject_query(&it, TUTTI_SAMPLE_ORDER_V1);
    ck_assert_int_eq(of->places(it.self), ALL);
    ck_assert_ok(of->order(it.self, &epoch, order, sizeof order / sizeof *order, &err), err);
    for (int k = 0; k < ALL; k += SAMPLES) /* shard by shard */
        seen[n++] = order[k] / SAMPLES;
    const uint32_t before = there.requests; /* the index, and the first shard for its shape */
    uint32_t wanted = 0;
    for (int k = 8; k < 12; k++)
        wanted += seen[k] != 0;
    read_sample(order[8 * SAMPLES]); /* as a run that is resumed there */
    server_wait(&there, before + wanted);
    subject_close(&it);
    for (int k = 0; k < SHARDS; k++)
        ck_assert_uint_eq(asked[seen[k]], seen[k] == 0 || (k >= 8 && k < 12));
}
END_TEST

/* A run in lanes tells which samples are read here: their shards alone are fetched ahead. */
START_TEST(shards_that_are_expected_are_fetched_ahead)
{
    static const int64_t expected[] = {20, 21, 40, 41, 22, 42, 60, 80, 81, 61};
    static const uint32_t want[SHARDS] = {
        [0] = 1, [1] = 1, [2] = 1, [5] = 1, [10] = 1, [15] = 1};
    nshards = SHARDS;
    predownload = 2;
    server_start(&there);
    open_remote();
    server_wait(&there, 4); /* the index, shard 0 for its shape, and two ahead */
    const tutti_sample_groups_v1 *of = subject_query(&it, TUTTI_SAMPLE_GROUPS_V1);
    ck_assert_int_eq(of->count(it.self), SHARDS);
    for (int k = 0; k < SHARDS; k++)
        ck_assert_int_eq(of->first(it.self, k), (int64_t)k * SAMPLES);
    of->expect(it.self, expected, sizeof expected / sizeof *expected);
    read_sample(20);
    server_wait(&there, 7);
    read_sample(21);
    read_sample(22);
    subject_close(&it);
    for (int k = 0; k < SHARDS; k++)
        ck_assert_uint_eq(asked[k], want[k]);
}
END_TEST

/* Opens a set and waits for what that fetches: the index, shard 0 for its shape, and two ahead. */
static void open_with_three(void)
{
    predownload = 2;
    server_start(&there);
    open_remote();
    server_wait(&there, 4);
}

/* A shuffle of the run does not: whatever is missing, two with each sample. */
START_TEST(missing_shards_are_fetched_under_any_other_order)
{
    static const struct {
        int read;
        uint32_t requests; /* by then */
        int here[3];       /* those that have come */
    } steps[] = {
        {6, 7, {6, 7, 8}}, {4, 10, {4, 9, 10}}, {8, 12, {11, 3, 3}}, {2, 13, {5, 5, 5}}};
    nshards = 12;
    open_with_three();
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        read_sample((int64_t)steps[k].read * SAMPLES);
        server_wait(&there, steps[k].requests);
        ck_assert_uint_eq(there.requests, steps[k].requests);
        for (int j = 0; j < 3; j++)
            ck_assert_uint_eq(asked[steps[k].here[j]], 1);
    }
    read_everything();
    subject_close(&it);
    for (int k = 0; k < nshards; k++)
        ck_assert_uint_eq(asked[k], 1);
}
END_TEST

START_TEST(but_not_where_others_had_to_leave_for_them)
{
    nshards = SHARDS;
    disk_mib = 1;
    open_with_three();
    read_sample(7 * SAMPLES);
    read_sample(3 * SAMPLES);
    read_sample(12 * SAMPLES);
    subject_close(&it);
    for (int k = 0; k < SHARDS; k++)
        ck_assert_uint_eq(asked[k], k <= 3 || k == 7 || k == 12);
}
END_TEST

static void *read_anywhere(void *failed)
{
    uint32_t turn = (uint32_t) * (int *)failed;
    *(int *)failed = 0;
    uint8_t *x = malloc(VALUES);
    for (int k = 0; x && k < 200; k++) {
        turn = turn * 1664525 + 1013904223;
        const int64_t index = turn % (uint32_t)info.samples;
        tutti_error err = TUTTI_ERROR_INIT;
        tutti_tensor t[2];
        void *const data[2] = {x, NULL};
        if (read_into(index, t, data, VALUES, &err) ||
            x[VALUES - 1] != 10 * (index / SAMPLES) + index % SAMPLES)
            *(int *)failed = 1;
    }
    free(x);
    return NULL;
}

START_TEST(threads_share_the_disk)
{
    pthread_t threads[4];
    int failed[4] = {1, 2, 3, 4};
    nshards = SHARDS;
    disk_mib = 1;
    predownload = 2;
    server_start(&there);
    open_remote();
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(pthread_create(&threads[k], NULL, read_anywhere, &failed[k]), 0);
    for (int k = 0; k < 4; k++) {
        (void)pthread_join(threads[k], NULL);
        ck_assert_int_eq(failed[k], 0);
    }
    subject_close(&it);
    ck_assert_uint_le(kept_bytes(), 1 << 20);
}
END_TEST

START_TEST(requests_of_s3_are_signed)
{
    char address[64];
    (void)snprintf(address, sizeof address, "http://127.0.0.1:%d/", there.port);
    endpoint = address;
    remote_url = "s3://bucket/a set";
    ck_assert_int_eq(setenv("AWS_ACCESS_KEY_ID", "KEY", 1), 0);
    ck_assert_int_eq(setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1), 0);
    ck_assert_int_eq(setenv("AWS_REGION", "eu-west-9", 1), 0);
    server_start(&there);
    open_remote();
    read_sample(0);
    ck_assert_str_eq(path_seen, "/bucket/a%20set/s%200.mds");
    ck_assert_int_eq(strncmp(signature_seen, "AWS4-HMAC-SHA256 Credential=KEY/", 32), 0);
    ck_assert_ptr_nonnull(strstr(signature_seen, "/eu-west-9/s3/aws4_request"));
    subject_close(&it);
}
END_TEST

START_TEST(classes_are_not_counted_by_fetching_everything)
{
    tutti_error err = TUTTI_ERROR_INIT;
    server_start(&there);
    tokens_column = "x";
    ck_assert_int_eq(open_path(folder, NULL, 0, 0, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text,
                     "mds: to count the classes of column x the whole remote set would "
                     "be fetched; want classes");
    ck_assert_uint_eq(there.requests, 2);
}
END_TEST

#else

static char folder[FOLDER_SIZE];

static size_t answer(server *s, const server_request *r, char *out, size_t room)
{
    (void)s, (void)r, (void)out, (void)room;
    return 0;
}

static void setup(void)
{
    server_init(&there, answer);
    folder_make(folder);
}

static void teardown(void)
{
    server_fini(&there);
    folder_remove(folder);
}

START_TEST(a_build_without_libcurl_says_so)
{
    tutti_error err = TUTTI_ERROR_INIT;
    remote_url = "https://host/set";
    ck_assert_int_eq(open_path(folder, "x", 0, 0, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text,
                     "https://host/set cannot be reached, this build is without libcurl 7.88 "
                     "or newer (Debian's libcurl4-openssl-dev)");
    tutti_skip("all else: %s", err.text);
}
END_TEST

#endif

int main(void)
{
    Suite *s = suite_create("mds_remote");
    TCase *c = tcase_create("mds_remote");
    tcase_add_checked_fixture(c, setup, teardown);
#if REMOTE_HAS_CURL
    tcase_add_test(c, shards_are_fetched_once_and_when_they_are_needed);
    tcase_add_test(c, failures_that_pass_are_survived);
    tcase_add_test(c, failures_that_stay_are_told);
    tcase_add_test(c, a_server_that_is_gone_or_silent_holds_nothing_up);
    tcase_add_test(c, addresses_of_other_kinds_are_refused);
    tcase_add_test(c, a_damaged_copy_is_fetched_again);
    tcase_add_test(c, the_disk_is_bounded);
    tcase_add_test(c, shards_that_others_remove_are_fetched_again);
    tcase_add_test(c, but_not_without_an_end);
    tcase_add_test(c, shards_are_fetched_ahead);
    tcase_add_test(c, shards_of_a_shuffle_are_fetched_ahead);
    tcase_add_test(c, shards_that_are_expected_are_fetched_ahead);
    tcase_add_test(c, missing_shards_are_fetched_under_any_other_order);
    tcase_add_test(c, but_not_where_others_had_to_leave_for_them);
    tcase_add_test(c, threads_share_the_disk);
    tcase_add_test(c, requests_of_s3_are_signed);
    tcase_add_test(c, classes_are_not_counted_by_fetching_everything);
#else
    tcase_add_test(c, a_build_without_libcurl_says_so);
#endif
    suite_add_tcase(s, c);
    return tutti_run(s);
}
