/* turns_test.c - processes that want the same file: one request, whoever dies; without locks; a wait that ends. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_check.h"
#include "server_check.h"

#include "remote_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { BYTES = 40000, SLOW_MS = 300 };

static char folder[FOLDER_SIZE], path[FOLDER_SIZE + 32], address[64];
static uint32_t busy; /* so many first requests are put off for long */
static bool no_locks; /* of the file system */

/* In the place of libc's. */
int flock(int fd, int operation)
{
    if (!no_locks)
        return (int)syscall(SYS_flock, fd, operation);
    errno = ENOLCK;
    return -1;
}

static char byte_at(size_t k)
{
    return (char)(k * 7919 >> 8 & 255);
}

static size_t answer(server *s, const server_request *r, char *out, size_t room)
{
    (void)r;
    if (s->requests < busy)
        return server_reply(out, room, 503, "Retry-After: 30\r\n", "");
    (void)usleep(1000 * SLOW_MS);
    size_t n = (size_t)snprintf(
        out, room, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", BYTES);
    for (size_t k = 0; k < BYTES; k++)
        out[n++] = byte_at(k);
    return n;
}

static void setup(void)
{
    server_init(&there, answer);
    ck_assert_int_eq(listen(there.fd, 16), 0); /* the thread comes after the processes */
    folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/a/file", folder);
    (void)snprintf(address, sizeof address, "http://127.0.0.1:%d/x", there.port);
}

static void teardown(void)
{
    server_fini(&there);
    folder_remove(folder);
}

static remote *opened(const tutti_log_v1 *log)
{
    const remote_options options = {
        .who = "test", .url = address, .retries = 4, .silence_s = 20, .log = log};
    remote *r = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(remote_open(&options, &r, &err), err);
    return r;
}

static tutti_status check_size(void *ctx, const char *at, uint64_t size, const char *from,
                               tutti_error *err)
{
    (void)ctx, (void)at;
    return size == BYTES ? TUTTI_OK
                         : tutti_fail(err, TUTTI_E_FORMAT, "%s: is %llu bytes", from,
                                      (unsigned long long)size);
}

static tutti_status fetch(remote *r, const char *to, tutti_error *err)
{
    const remote_check check = {.most = BYTES, .check = check_size, .shared = true};
    return remote_fetch(r, "file", to, &check, err);
}

static bool is_whole(const char *name)
{
    static char bytes[BYTES + 1];
    FILE *f = fopen(name, "rb");
    const size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        (void)fclose(f);
    for (size_t k = 0; k < n; k++)
        if (bytes[k] != byte_at(k))
            return false;
    return n == BYTES;
}

/* A process that fetches the file once it reads a byte of `go`, or at once: -1.  Ends with 0 where the file is whole. */
static pid_t start_process(int go)
{
    char byte;
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid)
        return pid;
    tutti_error err = TUTTI_ERROR_INIT;
    if (go >= 0 && read(go, &byte, 1) != 1)
        _exit(2);
    _exit(fetch(opened(NULL), path, &err) || !is_whole(path));
}

static uint32_t requests(void)
{
    (void)pthread_mutex_lock(&there.lock);
    const uint32_t n = there.requests;
    (void)pthread_mutex_unlock(&there.lock);
    return n;
}

static void assert_ends(pid_t pid, int status)
{
    int ended = -1;
    ck_assert_int_eq(waitpid(pid, &ended, 0), pid);
    ck_assert_int_eq(ended, status);
}

static int entries(const char *where)
{
    int n = 0;
    DIR *d = opendir(where);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    (void)closedir(d);
    return n;
}

static int files(void)
{
    char where[FOLDER_SIZE + 4];
    (void)snprintf(where, sizeof where, "%s/a", folder);
    return entries(where);
}

START_TEST(one_of_many_processes_fetches)
{
    pid_t pids[4];
    for (int k = 0; k < 4; k++)
        pids[k] = start_process(-1);
    server_start(&there);
    for (int k = 0; k < 4; k++)
        assert_ends(pids[k], 0);
    ck_assert_uint_eq(requests(), 1);
    ck_assert_int_eq(files(), 1); /* no lock stays */
}
END_TEST

/* The first one is to try again in 30 s, and dies in between. */
START_TEST(the_death_of_the_first_is_the_turn_of_the_second)
{
    int go[2], status;
    ck_assert_int_eq(pipe(go), 0);
    busy = 1;
    const pid_t first = start_process(-1), second = start_process(go[0]);
    server_start(&there);
    server_wait(&there, 1);
    ck_assert_int_eq(write(go[1], "x", 1), 1);
    (void)usleep(1000 * SLOW_MS);
    ck_assert_int_eq(waitpid(second, &status, WNOHANG), 0); /* it waits */
    ck_assert_uint_eq(requests(), 1);
    ck_assert_int_eq(kill(first, SIGKILL), 0);
    assert_ends(first, SIGKILL);
    assert_ends(second, 0);
    ck_assert_uint_eq(requests(), 2);
}
END_TEST

static void *fetch_to_the_end(void *ctx)
{
    static tutti_error err = TUTTI_ERROR_INIT;
    (void)fetch(ctx, path, &err);
    return &err;
}

START_TEST(a_wait_is_interrupted)
{
    char want[200];
    void *ended = NULL;
    pthread_t thread;
    busy = 1;
    const pid_t first = start_process(-1);
    server_start(&there);
    server_wait(&there, 1);
    remote *r = opened(NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, fetch_to_the_end, r), 0);
    (void)usleep(1000 * SLOW_MS);
    remote_stop(r);
    ck_assert_int_eq(pthread_join(thread, &ended), 0);
    const tutti_error err = *(const tutti_error *)ended;
    (void)snprintf(want, sizeof want, "%s: not fetched, it is being closed", path);
    ck_assert_error(err, TUTTI_E_INTERRUPTED, want);
    ck_assert_uint_eq(requests(), 1);
    ck_assert_int_eq(kill(first, SIGKILL), 0);
    assert_ends(first, SIGKILL);
    remote_close(r);
}
END_TEST

/* ---- what is said ---- */

static int said;
static char sentence[600];

static void hear(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    ck_assert_int_eq(level, TUTTI_LOG_WARNING);
    said++;
    (void)snprintf(sentence, sizeof sentence, "%s", text);
}

static const tutti_log_v1 hears = {.struct_size = sizeof hears, .write = hear};

START_TEST(without_locks_each_fetches_and_one_sentence_says_so)
{
    char other[FOLDER_SIZE + 32], want[200];
    tutti_error err = TUTTI_ERROR_INIT;
    no_locks = true;
    const pid_t pid = start_process(-1);
    server_start(&there);
    assert_ends(pid, 0);
    ck_assert_int_eq(remove(path), 0);
    remote *r = opened(&hears);
    ck_assert_ok(fetch(r, path, &err), err);
    (void)snprintf(other, sizeof other, "%s/a/other", folder);
    ck_assert_ok(fetch(r, other, &err), err);
    ck_assert(is_whole(path) && is_whole(other));
    ck_assert_uint_eq(requests(), 3);
    ck_assert_int_eq(said, 1);
    (void)snprintf(want, sizeof want,
                   "%s: the file system has no locks (flock), so each process fetches it",
                   path);
    ck_assert_str_eq(sentence, want);
    ck_assert_int_eq(files(), 2);
    remote_close(r);
}
END_TEST

/* Waits are shortened by a silence below 0: see the limit of remote_turn_take. */
START_TEST(who_stands_still_is_not_waited_for)
{
    const remote_check check = {.most = BYTES, .shared = true};
    char lock[FOLDER_SIZE + 40], part[FOLDER_SIZE + 40];
    remote_turn turn;
    remote r = {.silence_s = 0.2 - REMOTE_LONGEST_WAIT_MS / 1000.0, .log = &hears};
    server_start(&there);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    (void)snprintf(lock, sizeof lock, "%s.lock", path);
    (void)snprintf(part, sizeof part, "%s.part", path);
    const int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert(remote_turn_take(&r, &check, path, part, &turn));
    ck_assert_int_eq(turn.fd, -1);
    ck_assert_int_eq(said, 1);
    ck_assert_ptr_nonnull(strstr(
        sentence, ": the process that fetches it stands still, so it is fetched here too"));
    remote_turn_end(&turn);
    ck_assert_int_eq(entries(folder), 1); /* the lock is not its own */
    (void)close(fd);
    ck_assert(remote_turn_take(&r, &check, path, part, &turn));
    ck_assert_int_ge(turn.fd, 0); /* of a process that has died */
    remote_turn_end(&turn);
    ck_assert_int_eq(entries(folder), 0);
}
END_TEST

/* Others look at the part that the lock's file names, whatever one who died has left there. */
START_TEST(the_lock_names_the_part_of_who_has_it)
{
    const remote_check check = {.most = BYTES, .shared = true};
    char lock[FOLDER_SIZE + 40], part[FOLDER_SIZE + 64], named[FOLDER_SIZE + 96] = "";
    char dead[FOLDER_SIZE + 64];
    remote_turn turn;
    remote r = {.silence_s = 20};
    (void)snprintf(path, sizeof path, "%s/file", folder);
    (void)snprintf(lock, sizeof lock, "%s.lock", path);
    (void)snprintf(part, sizeof part, "%s.part-9-1", path);
    FILE *f = fopen(lock, "wb");
    ck_assert_ptr_nonnull(f);
    (void)snprintf(dead, sizeof dead, "%s.part-4194303-12", path);
    (void)fputs(dead, f);
    (void)fclose(f);
    f = fopen(dead, "wb");
    ck_assert_ptr_nonnull(f);
    (void)fclose(f);
    ck_assert(remote_turn_take(&r, &check, path, part, &turn));
    ck_assert_int_gt(pread(turn.fd, named, sizeof named - 1, 0), 0);
    ck_assert_str_eq(named, part);
    ck_assert_int_ne(access(dead, F_OK), 0); /* nobody else removes it */
    remote_turn_end(&turn);
}
END_TEST

/* What is there and is not the right one is fetched. */
START_TEST(a_wrong_file_is_replaced)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char where[FOLDER_SIZE + 4];
    (void)snprintf(where, sizeof where, "%s/a", folder);
    ck_assert_int_eq(mkdir(where, 0700), 0);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    (void)fputs("half", f);
    (void)fclose(f);
    server_start(&there);
    remote *r = opened(NULL);
    ck_assert_ok(fetch(r, path, &err), err);
    ck_assert(is_whole(path));
    ck_assert_ok(fetch(r, path, &err), err);
    ck_assert_uint_eq(requests(), 1);
    remote_close(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("remote_turns");
    TCase *c = tcase_create("remote_turns");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, one_of_many_processes_fetches);
    tcase_add_test(c, the_death_of_the_first_is_the_turn_of_the_second);
    tcase_add_test(c, a_wait_is_interrupted);
    tcase_add_test(c, without_locks_each_fetches_and_one_sentence_says_so);
    tcase_add_test(c, who_stands_still_is_not_waited_for);
    tcase_add_test(c, the_lock_names_the_part_of_who_has_it);
    tcase_add_test(c, a_wrong_file_is_replaced);
    suite_add_tcase(s, c);
    return tutti_run(s);
}
