/* checkpoint_test.c - files are whole or absent, and damage is noticed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint_file/checkpoint.h"
#include "train/checkpoint_file/checkpoint_index.h"
#include "tutti_check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static char path[96];
static float weights[6] = {1, 2, 3, 4, 5, 6};
static int64_t clock_[2] = {7, 8};

static void setup(void)
{
    strcpy(folder, "/tmp/tutti_checkpoint_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/deep/er/a.safetensors", folder);
}

static void teardown(void)
{
    char command[160];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) */
}

static tutti_status save(float first, tutti_error *err)
{
    weights[0] = first;
    const checkpoint_item items[] = {
        {"model.a \"quoted\"", {weights, {{2, 3}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0}},
        {"run.clock", {clock_, {{2}, 1, TUTTI_I64}, TUTTI_DEVICE_CPU, 0}},
        {"empty", {weights, {{0, 4}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0}}};
    const checkpoint_text texts[] = {{"run", "{\"a\": \"line\\n\"}"}};
    return checkpoint_write(path, items, 3, texts, 1, err);
}

static long file_size(void)
{
    struct stat st;
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void check_refused(const char *sentence)
{
    tutti_error err = TUTTI_ERROR_INIT;
    checkpoint *c = NULL;
    char want[400];
    (void)snprintf(want, sizeof want, "%s: the checkpoint is damaged: %s", path, sentence);
    ck_assert_int_ne(checkpoint_open(path, &c, &err), TUTTI_OK);
    ck_assert_error(err, TUTTI_E_FORMAT, want);
    ck_assert_ptr_null(c);
}

START_TEST(what_is_written_is_read_back)
{
    tutti_error err = TUTTI_ERROR_INIT;
    checkpoint *c;
    tutti_tensor t;
    ck_assert_ok(save(1.5f, &err), err);
    ck_assert_ok(checkpoint_open(path, &c, &err), err);
    ck_assert_uint_eq(checkpoint_count(c), 3);
    ck_assert_ok(checkpoint_find(c, "model.a \"quoted\"", &t, &err), err);
    ck_assert_int_eq(t.desc.rank, 2);
    ck_assert_int_eq(t.desc.dim[1], 3);
    ck_assert_mem_eq(t.data, weights, sizeof weights);
    ck_assert_ok(checkpoint_find(c, "run.clock", &t, &err), err);
    ck_assert_int_eq(((const int64_t *)t.data)[1], 8);
    ck_assert_str_eq(checkpoint_value(c, "run"), "{\"a\": \"line\\n\"}");
    checkpoint_close(c);
}
END_TEST

START_TEST(an_unknown_tensor_is_named_with_the_nearest)
{
    tutti_error err = TUTTI_ERROR_INIT;
    checkpoint *c;
    tutti_tensor t;
    char want[200];
    ck_assert_ok(save(1, &err), err);
    ck_assert_ok(checkpoint_open(path, &c, &err), err);
    ck_assert_int_eq(checkpoint_find(c, "run.clok", &t, &err), TUTTI_E_NOTFOUND);
    (void)snprintf(want, sizeof want, "%s: has no tensor run.clok (the nearest is run.clock)",
                   path);
    ck_assert_str_eq(err.text, want);
    checkpoint_close(c);
}
END_TEST

/* A plugin's thread that goes on counting while its state is saved. */
static _Atomic int64_t moving[1 << 12];
static _Atomic bool moves;

static void *move(void *unused)
{
    (void)unused;
    for (int64_t k = 0; moves; k++)
        moving[k % (1 << 12)]++;
    return NULL;
}

START_TEST(state_that_changes_while_it_is_saved_damages_no_file)
{
#ifdef __SANITIZE_THREAD__
    tutti_skip("the race that it makes is what the thread sanitizer looks for");
    return;
#endif
    pthread_t thread;
    tutti_error err = TUTTI_ERROR_INIT;
    checkpoint_item item;
    memset(&item, 0, sizeof item);
    item.name = "callback.moving";
    item.tensor.data = (void *)moving;
    item.tensor.device = TUTTI_DEVICE_CPU;
    item.tensor.desc = (tutti_desc){.dtype = TUTTI_I64, .rank = 1, .dim = {1 << 12}};
    moves = true;
    ck_assert_int_eq(pthread_create(&thread, NULL, move, NULL), 0);
    for (int k = 0; k < 20; k++) {
        checkpoint *c = NULL;
        ck_assert_ok(checkpoint_write(path, &item, 1, NULL, 0, &err), err);
        ck_assert_ok(checkpoint_open(path, &c, &err), err);
        checkpoint_close(c);
    }
    moves = false;
    (void)pthread_join(thread, NULL);
}
END_TEST

START_TEST(truncation_is_noticed_anywhere)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(save(1, &err), err);
    ck_assert_int_eq(truncate(path, file_size() - 1), 0);
    check_refused("it is shorter than its tensors");
    ck_assert_int_eq(truncate(path, 100), 0);
    check_refused("it ends within the header");
    ck_assert_int_eq(truncate(path, 3), 0);
    check_refused("it ends within the header");
    ck_assert_int_eq(truncate(path, 0), 0);
    check_refused("it is empty");
}
END_TEST

START_TEST(a_flipped_bit_is_noticed)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(save(1, &err), err);
    FILE *f = fopen(path, "r+b");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, -5, SEEK_END), 0);
    const int byte = fgetc(f);
    ck_assert_int_eq(fseek(f, -5, SEEK_END), 0);
    ck_assert_int_eq(fputc(byte ^ 4, f), byte ^ 4);
    ck_assert_int_eq(fclose(f), 0);
    check_refused("its bytes do not match the checksum");
}
END_TEST

START_TEST(every_flipped_bit_is_noticed)
{
    static unsigned char data[4096];
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(save(1, &err), err);
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    const size_t size = fread(data, 1, sizeof data, f);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_uint_lt(size, sizeof data);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        checkpoint *c = NULL;
        const unsigned char flipped = data[bit / 8] ^ (unsigned char)(1 << bit % 8);
        ck_assert_int_eq(pwrite(fd, &flipped, 1, (off_t)(bit / 8)), 1);
        err = (tutti_error)TUTTI_ERROR_INIT;
        const tutti_status s = checkpoint_open(path, &c, &err);
        ck_assert_msg(s == TUTTI_E_FORMAT, "bit %zu of byte %zu: status %d, %s", bit % 8,
                      bit / 8, s, err.text);
        ck_assert_ptr_nonnull(strstr(err.text, "the checkpoint is damaged"));
        ck_assert_int_eq(pwrite(fd, &data[bit / 8], 1, (off_t)(bit / 8)), 1);
    }
    (void)close(fd);
}
END_TEST

START_TEST(a_name_given_twice_is_not_written)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const checkpoint_item items[] = {{"a", {clock_, {{2}, 1, TUTTI_I64}, -1, 0}},
                                     {"b", {clock_, {{2}, 1, TUTTI_I64}, -1, 0}},
                                     {"a", {clock_, {{2}, 1, TUTTI_I64}, -1, 0}}};
    char want[200];
    ck_assert_int_eq(checkpoint_write(path, items, 3, NULL, 0, &err), TUTTI_E_EXISTS);
    (void)snprintf(want, sizeof want, "%s: two tensors are called a", path);
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* A file as others write it: no checksum, tensors named in another order than they lie. */
static void write_foreign(const char *header)
{
    const float data[3] = {1, 2, 3};
    const uint64_t length = strlen(header);
    (void)snprintf(path, sizeof path, "%s/foreign.safetensors", folder);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    for (int k = 0; k < 8; k++)
        ck_assert_int_ne(fputc((int)(length >> 8 * k & 255), f), EOF);
    ck_assert_uint_eq(fwrite(header, 1, length, f), length);
    ck_assert_uint_eq(fwrite(data, 1, sizeof data, f), sizeof data);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(tensors_may_be_named_in_any_order)
{
    tutti_error err = TUTTI_ERROR_INIT;
    checkpoint *c;
    tutti_tensor t;
    write_foreign("{\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},"
                  "\"none\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]},"
                  "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}");
    ck_assert_ok(checkpoint_open(path, &c, &err), err);
    ck_assert_ok(checkpoint_find(c, "b", &t, &err), err);
    float b[2]; /* the file's header may put it anywhere */
    memcpy(b, t.data, sizeof b);
    ck_assert_close(b[1], 3, 0);
    checkpoint_close(c);
    write_foreign("{\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},"
                  "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}");
    check_refused("tensors overlap or leave gaps");
    write_foreign("{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},"
                  "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}");
    check_refused("bytes follow the last tensor");
}
END_TEST

START_TEST(files_of_version_1_are_read_and_known_as_not_sealed)
{
    static const char header[] = "{\"__metadata__\":{\"xxh3_64\":\"%s\",\"tutti\":\"1\"},"
                                 "\"a\":{\"dtype\":\"F32\",\"shape\":[3],"
                                 "\"data_offsets\":[0,12]}}";
    tutti_error err = TUTTI_ERROR_INIT;
    checkpoint *c;
    char text[300];
    (void)snprintf(text, sizeof text, header, "7977fbb9ac817d62");
    write_foreign(text);
    const tutti_status s = checkpoint_open(path, &c, &err);
    ck_assert_ok(s, err);
    ck_assert(!checkpoint_is_sealed(c));
    checkpoint_close(c);
    (void)snprintf(text, sizeof text, header, "0123456789abcdef");
    write_foreign(text);
    check_refused("its bytes do not match the checksum");
}
END_TEST

START_TEST(version_2_without_its_checksum_is_damaged)
{
    write_foreign("{\"__metadata__\":{\"xxh3_64_fild\":\"0123456789abcdef\",\"tutti\":\"2\"},"
                  "\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}");
    check_refused("it lacks its checksum");
}
END_TEST

START_TEST(shapes_of_more_elements_than_can_be_counted_are_damage)
{
    write_foreign("{\"a\":{\"dtype\":\"F32\",\"shape\":[1099511627776,1099511627776],"
                  "\"data_offsets\":[0,0]},"
                  "\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}");
    check_refused("a tensor's shape is impossible");
}
END_TEST

START_TEST(a_full_disk_leaves_the_checkpoint_that_was_there)
{
    tutti_error err = TUTTI_ERROR_INIT;
    checkpoint *c;
    tutti_tensor t;
    char want[200], command[200];
    ck_assert_ok(save(42, &err), err);
    (void)signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {64, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(save(43, &err), TUTTI_E_IO);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    (void)snprintf(want, sizeof want, "%s: cannot write the checkpoint: File too large", path);
    ck_assert_str_eq(err.text, want);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(checkpoint_open(path, &c, &err), err);
    ck_assert_ok(checkpoint_find(c, "model.a \"quoted\"", &t, &err), err);
    ck_assert_float_eq(((const float *)t.data)[0], 42);
    checkpoint_close(c);
    (void)snprintf(command, sizeof command, "test $(ls %s/deep/er | wc -l) = 1", folder);
    /* no temporary file stays */
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) */
}
END_TEST

/* A file of the kind that a save writes, as a killed process leaves it. */
static void leave(const char *name, char *ret_path, size_t size)
{
    (void)snprintf(ret_path, size, "%s/deep/er/%s", folder, name);
    const int fd = open(ret_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
}

START_TEST(what_killed_saves_left_is_removed_unless_somebody_writes_it)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char left[128], held[128], other[128], longer[128], fifo[128];
    ck_assert_ok(save(1, &err), err);
    leave("a.safetensors.tmp-tutti-aB3dEf", left, sizeof left);
    leave("a.safetensors.tmp-tutti-held00", held, sizeof held);
    leave("b.safetensors.tmp-tutti-aB3dEf", other, sizeof other);
    leave("a.safetensors.tmp-tutti-aB3dEfg", longer, sizeof longer);
    (void)snprintf(fifo, sizeof fifo, "%s/deep/er/a.safetensors.tmp-tutti-fifo00", folder);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    const int fd = open(held, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_ok(save(2, &err), err);
    ck_assert_int_ne(access(left, F_OK), 0);
    ck_assert_int_eq(access(held, F_OK), 0);
    ck_assert_int_eq(access(other, F_OK), 0);
    ck_assert_int_eq(access(longer, F_OK), 0);
    ck_assert_int_eq(access(fifo, F_OK), 0);
    ck_assert_int_eq(close(fd), 0);
    ck_assert_ok(save(3, &err), err);
    ck_assert_int_ne(access(held, F_OK), 0);
}
END_TEST

/* Saves of one path by several processes at once: each succeeds, and none takes another's file for a leftover. */
START_TEST(processes_that_save_one_path_do_not_remove_each_others_files)
{
    enum { PROCESSES = 3, SAVES = 100 };
    pid_t children[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        if ((children[p] = fork()) != 0)
            continue;
        tutti_error err = TUTTI_ERROR_INIT;
        int failed = 0;
        for (int k = 0; k < SAVES; k++)
            failed += save((float)k, &err) != TUTTI_OK;
        _exit(failed > 100 ? 100 : failed);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = -1;
        ck_assert_int_eq(waitpid(children[p], &status, 0), children[p]);
        ck_assert_int_eq(status, 0);
    }
}
END_TEST

START_TEST(a_file_that_a_user_has_named_stays)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char kept[128];
    ck_assert_ok(save(1, &err), err);
    leave("a.safetensors.tmp-backup", kept, sizeof kept);
    ck_assert_ok(save(2, &err), err);
    ck_assert_int_eq(access(kept, F_OK), 0);
}
END_TEST

/* The shard at `path`, some time later. */
static void *save_later(void *first)
{
    const struct timespec pause = {.tv_nsec = 200 * 1000000L};
    tutti_error err = TUTTI_ERROR_INIT;
    (void)nanosleep(&pause, NULL);
    ck_assert_ok(save(*(float *)first, &err), err);
    return NULL;
}

START_TEST(an_index_is_written_once_its_files_are_there)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char index[128], want[400];
    float first = 1.0F;
    pthread_t thread;
    (void)snprintf(index, sizeof index, "%s/deep/er/a.safetensors.index.json", folder);
    (void)snprintf(want, sizeof want,
                   "%s: a file of the checkpoint is not there, though it is written: "
                   "a.safetensors; want a folder that all ranks share",
                   index);
    const char text[] = "{\"weight_map\": {\"empty\": \"a.safetensors\"}}";
    ck_assert_int_eq(index_write(index, text, 100, &err), TUTTI_E_NOTFOUND);
    ck_assert_str_eq(err.text, want);
    ck_assert_int_ne(access(index, F_OK), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, save_later, &first), 0);
    ck_assert_ok(index_write(index, text, 10000, &err), err);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    checkpoint *c = NULL;
    ck_assert_ok(checkpoint_open(index, &c, &err), err);
    checkpoint_close(c);
}
END_TEST

START_TEST(the_link_follows_the_last_file)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char link[128];
    checkpoint *c;
    ck_assert_ok(save(1, &err), err);
    (void)snprintf(link, sizeof link, "%s/deep/er/latest", folder);
    ck_assert_ok(checkpoint_link(link, path, &err), err);
    ck_assert_ok(checkpoint_link(link, path, &err), err);
    ck_assert_ok(checkpoint_open(link, &c, &err), err);
    checkpoint_close(c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("checkpoint");
    TCase *t = tcase_create("files");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_is_written_is_read_back);
    tcase_add_test(t, an_unknown_tensor_is_named_with_the_nearest);
    tcase_add_test(t, state_that_changes_while_it_is_saved_damages_no_file);
    tcase_add_test(t, truncation_is_noticed_anywhere);
    tcase_add_test(t, a_flipped_bit_is_noticed);
    tcase_add_test(t, every_flipped_bit_is_noticed);
    tcase_add_test(t, a_name_given_twice_is_not_written);
    tcase_add_test(t, files_of_version_1_are_read_and_known_as_not_sealed);
    tcase_add_test(t, version_2_without_its_checksum_is_damaged);
    tcase_add_test(t, shapes_of_more_elements_than_can_be_counted_are_damage);
    tcase_add_test(t, tensors_may_be_named_in_any_order);
    tcase_add_test(t, a_full_disk_leaves_the_checkpoint_that_was_there);
    tcase_add_test(t, what_killed_saves_left_is_removed_unless_somebody_writes_it);
    tcase_add_test(t, processes_that_save_one_path_do_not_remove_each_others_files);
    tcase_add_test(t, a_file_that_a_user_has_named_stays);
    tcase_add_test(t, an_index_is_written_once_its_files_are_there);
    tcase_add_test(t, the_link_follows_the_last_file);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
