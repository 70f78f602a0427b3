/* checkpoint_saver_test.c - the callback through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "files_check.h"
#include "tutti/stateful.h"

#include <stdio.h>
#include <unistd.h>

static stage run;
static subject it;
static test_settings g;

static void settings(int64_t count, int32_t unit, int64_t keep)
{
    test_settings_init(&g);
    test_settings_null(&g, "folder");
    test_settings_string(&g, "filename", "ep{epoch}-ba{batch}.safetensors");
    test_settings_string(&g, "latest_filename", "latest.safetensors");
    test_settings_string(&g, "remote_file_name", "{run_name}/ep{epoch}-ba{batch}");
    test_settings_string(&g, "latest_remote_file_name", "{run_name}/latest");
    test_settings_time(&g, "interval", count, unit);
    test_settings_int(&g, "keep", keep);
    test_settings_bool(&g, "overwrite", 0);
    test_settings_bool(&g, "weights_only", 0);
    (void)test_settings_list(&g, "ignore_keys", TUTTI_PARAM_STRING, 0);
    test_settings_bool(&g, "async", 0);
}

static void open_it(void)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "checkpoint_saver", &g,
                              run.services, &err),
                 err);
}

static int there(const char *name)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/checkpoints/%s", run.run_folder, name);
    return access(path, F_OK) == 0;
}

static const char *latest(char *text, size_t size)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/checkpoints/latest.safetensors", run.run_folder);
    const ssize_t n = readlink(path, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void batch(void)
{
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    stage_next_batch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_CHECKPOINT);
}

static void epoch(void)
{
    for (int64_t k = 0; k < run.len; k++)
        batch();
    stage_next_epoch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_CHECKPOINT);
}

START_TEST(every_epoch_is_saved_once_and_the_latest_is_linked)
{
    char text[512];
    stage_init(&run);
    settings(1, TUTTI_UNIT_EPOCH, -1);
    open_it();
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    for (int k = 0; k < 3; k++)
        epoch();
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    ck_assert_int_eq(run.saves, 3);
    ck_assert(there("ep1-ba4.safetensors") && there("ep2-ba8.safetensors") &&
              there("ep3-ba12.safetensors"));
    ck_assert_str_eq(latest(text, sizeof text), "ep3-ba12.safetensors");
    (void)snprintf(text, sizeof text, "saved %s/checkpoints/ep3-ba12.safetensors",
                   run.run_folder);
    ck_assert_str_eq(run.noted, text);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(only_the_newest_are_kept)
{
    stage_init(&run);
    settings(3, TUTTI_UNIT_BATCH, 2);
    open_it();
    epoch();
    epoch();
    epoch(); /* saved after batches 3, 6, 9 and, being the last, 12 */
    ck_assert_int_eq(run.saves, 4);
    ck_assert(!there("ep0-ba3.safetensors") && !there("ep1-ba6.safetensors"));
    ck_assert(there("ep2-ba9.safetensors") && there("ep2-ba12.safetensors"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(due_says_beforehand_what_will_be_saved)
{
    stage_init(&run);
    settings(2, TUTTI_UNIT_BATCH, -1);
    open_it();
    const tutti_saver_v1 *table = subject_query(&it, TUTTI_SAVER_V1);
    for (int k = 1; k <= 4; k++) {
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
        stage_next_batch(&run);
        ck_assert_int_eq(table->due(it.self, TUTTI_EVENT_BATCH_END), 0);
        ck_assert_int_eq(table->due(it.self, TUTTI_EVENT_EPOCH_CHECKPOINT), 0);
        ck_assert_int_eq(table->due(it.self, TUTTI_EVENT_BATCH_CHECKPOINT), k % 2 == 0);
        ck_assert_int_eq(table->due(it.self, TUTTI_EVENT_BATCH_CHECKPOINT), k % 2 == 0);
        ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_CHECKPOINT);
        ck_assert_int_eq(run.saves, k / 2);
        ck_assert_int_eq(table->due(it.self, TUTTI_EVENT_BATCH_CHECKPOINT), 0);
    }
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(fractions_of_the_run_count_in_batches)
{
    stage_init(&run);
    settings(0, TUTTI_UNIT_BATCH, -1);
    test_settings_dur(&g, "interval", 0.5);
    open_it();
    for (int k = 1; k <= 6; k++) {
        batch();
        ck_assert_int_eq(run.saves, k == 6);
    }
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_run_that_was_stopped_early_is_saved_at_its_end)
{
    stage_init(&run);
    settings(1, TUTTI_UNIT_EPOCH, -1);
    open_it();
    batch();
    ck_assert_int_eq(run.saves, 0);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    ck_assert(there("ep0-ba1.safetensors"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(saving_on_demand_saves_what_is_not_saved_yet)
{
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    settings(1, TUTTI_UNIT_EPOCH, -1);
    open_it();
    const tutti_saver_v1 *table = subject_query(&it, TUTTI_SAVER_V1);
    batch();
    ck_assert_ok(table->save(it.self, &err), err);
    ck_assert_ok(table->save(it.self, &err), err);
    ck_assert_int_eq(run.saves, 1);
    ck_assert(there("ep0-ba1.safetensors") && there("latest.safetensors"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(what_comes_after_a_save_on_demand_is_saved_too)
{
    tutti_error err = TUTTI_ERROR_INIT;
    char path[400];
    stage_init(&run);
    settings(1, TUTTI_UNIT_EPOCH, -1);
    open_it();
    const tutti_saver_v1 *table = subject_query(&it, TUTTI_SAVER_V1);
    for (int64_t k = 0; k < run.len; k++)
        batch();
    ck_assert_ok(table->save(it.self, &err), err);
    ck_assert_int_eq(table->due(it.self, TUTTI_EVENT_FIT_END), 1);
    stage_next_epoch(&run);
    ck_assert_int_eq(table->due(it.self, TUTTI_EVENT_EPOCH_CHECKPOINT), 1);
    ck_assert_hears(&run, &it, TUTTI_EVENT_EPOCH_CHECKPOINT);
    ck_assert(there("ep0-ba4.safetensors") && there("ep1-ba4.safetensors"));
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    ck_assert_int_eq(run.saves, 2);
    (void)snprintf(path, sizeof path, "%s/checkpoints/ep1-ba4.safetensors", run.run_folder);
    ck_assert_str_eq(table->latest(it.self), path);
    ck_assert_str_eq(table->older(it.self, 0), path);
    (void)snprintf(path, sizeof path, "%s/checkpoints/ep0-ba4.safetensors", run.run_folder);
    ck_assert_str_eq(table->older(it.self, 1), path);
    ck_assert_ptr_null(table->older(it.self, 2));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(the_latest_is_the_newest_file_also_when_the_link_is_older)
{
    char path[400];
    stage_init(&run);
    settings(1, TUTTI_UNIT_BATCH, -1);
    open_it();
    const tutti_saver_v1 *table = subject_query(&it, TUTTI_SAVER_V1);
    (void)snprintf(path, sizeof path, "%s/checkpoints/latest.safetensors", run.run_folder);
    ck_assert_str_eq(table->latest(it.self), path); /* nothing there yet */
    for (int k = 0; k < 10; k++)
        batch();
    (void)unlink(path);
    ck_assert_int_eq(symlink("ep0-ba4.safetensors", path), 0);
    (void)snprintf(path, sizeof path, "%s/checkpoints/ep0-ba10.safetensors", run.run_folder);
    ck_assert_str_eq(table->latest(it.self), path);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_failed_save_is_told_and_changes_nothing)
{
    char text[600];
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    settings(1, TUTTI_UNIT_BATCH, 1);
    open_it();
    batch();
    run.save_fails = 1;
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_START);
    stage_next_batch(&run);
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_BATCH_CHECKPOINT, &err), TUTTI_E_IO);
    (void)snprintf(text, sizeof text,
                   "%s/checkpoints/ep0-ba2.safetensors: No space left on device",
                   run.run_folder);
    ck_assert_error(err, TUTTI_E_IO, text);
    ck_assert(there("ep0-ba1.safetensors"));
    ck_assert_str_eq(latest(text, sizeof text), "ep0-ba1.safetensors");
    run.save_fails = 0;
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_CHECKPOINT); /* still due */
    ck_assert(there("ep0-ba2.safetensors") && !there("ep0-ba1.safetensors"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(files_of_an_earlier_run_are_not_written_over)
{
    char text[600];
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    settings(1, TUTTI_UNIT_EPOCH, -1);
    open_it();
    epoch();
    subject_close(&it);
    memset(&run.time.iteration, 0, sizeof run.time - 8);
    open_it();
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_FIT_START, &err), TUTTI_E_EXISTS);
    (void)snprintf(
        text, sizeof text,
        "checkpoint_saver: %s/checkpoints/ep1-ba4.safetensors is there already and "
        "this run would write over it; resume from it, choose another folder, or set "
        "overwrite",
        run.run_folder);
    ck_assert_error(err, TUTTI_E_EXISTS, text);
    run.time.batch = 4; /* resumed from it */
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    subject_close(&it);
    test_settings_bool(&g, "overwrite", 1);
    run.time.batch = 0;
    open_it();
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(a_resumed_run_removes_the_files_of_before)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_state_item items[2];
    static char saved[65 * 128];
    int64_t last;
    uint32_t n = 0;
    stage_init(&run);
    settings(2, TUTTI_UNIT_BATCH, 1);
    open_it();
    batch();
    batch();
    const tutti_stateful_v1 *table = subject_query(&it, TUTTI_STATEFUL_V1);
    ck_assert_ok(table->items(it.self, items, 2, &n, &err), err);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(tutti_nbytes(&items[1].tensor.desc), sizeof saved);
    memcpy(&last, items[0].tensor.data, sizeof last);
    memcpy(saved, items[1].tensor.data, sizeof saved);
    ck_assert_int_eq(last, 2);
    subject_close(&it);
    open_it();
    ck_assert_ok(table->items(it.self, items, 2, &n, &err), err);
    memcpy(items[0].tensor.data, &last, sizeof last);
    memcpy(items[1].tensor.data, saved, sizeof saved);
    ck_assert_ok(table->restored(it.self, &err), err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    batch();
    batch();
    ck_assert(there("ep0-ba4.safetensors") && !there("ep0-ba2.safetensors"));
    /* As of a run that was killed between a save and the removal of what is older. */
    memcpy(saved, items[1].tensor.data, sizeof saved);
    (void)snprintf(saved + 128, 128, "ep0-ba6.safetensors");
    subject_close(&it);
    open_it();
    ck_assert_ok(table->items(it.self, items, 2, &n, &err), err);
    memcpy(items[1].tensor.data, saved, sizeof saved);
    ck_assert_ok(table->restored(it.self, &err), err);
    ck_assert(there("ep0-ba4.safetensors"));
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    ck_assert(!there("ep0-ba4.safetensors"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(files_that_are_whole_are_sent_elsewhere)
{
    char text[64];
    settings(1, TUTTI_UNIT_EPOCH, 1);
    stage_init(&run);
    files_check_init(&run, 6);
    open_it();
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    epoch();
    ck_assert_str_eq(files_given, "trial/ep1-ba4 of 2 bytes\n"
                                  "trial/latest.symlink of 13 bytes, over\n");
    ck_assert_str_eq(
        stage_file(&run, "checkpoints/latest.safetensors.symlink", text, sizeof text),
        "trial/ep1-ba4");
    files_fail = TUTTI_E_STATE; /* it is told, and ends nothing */
    epoch();
    ck_assert_str_eq(run.noted, "trial/ep2-ba8 is not sent: no logger of the run takes files");
    files_fail = TUTTI_E_NOTFOUND; /* a run without such a logger */
    run.noted[0] = '\0';
    epoch();
    ck_assert(there("ep3-ba12.safetensors"));
    ck_assert_ptr_null(strstr(run.noted, "not sent"));
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

static tutti_status save_part(void *ctx, const char *path, const tutti_save_part *part,
                              tutti_error *err)
{
    ck_assert_uint_eq(part->flags, TUTTI_SAVE_WEIGHTS);
    ck_assert_str_eq(part->ignore_keys[0], "model.head");
    ck_assert_ptr_null(part->ignore_keys[1]);
    return stage_save(ctx, path, err);
}

START_TEST(a_part_of_the_run_can_be_saved)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const char *const keys[] = {"model.head"};
    settings(1, TUTTI_UNIT_EPOCH, -1);
    test_settings_bool(&g, "weights_only", 1);
    test_settings_strings(&g, "ignore_keys", keys, 1);
    stage_init(&run);
    ck_assert_int_eq(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "checkpoint_saver", &g,
                                  run.services, &err),
                     TUTTI_E_UNSUPPORTED); /* a host of 1.0 */
    run.tables.checkpoint.save_part = save_part;
    open_it();
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    epoch();
    ck_assert(there("ep1-ba4.safetensors"));
    ck_assert_int_eq(run.saves, 1);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(shards_are_sent_beside_their_index)
{
    char command[700];
    settings(1, TUTTI_UNIT_EPOCH, -1);
    test_settings_string(&g, "filename", "ep{epoch}.safetensors.index.json");
    test_settings_string(&g, "remote_file_name", "far/ep{epoch}.safetensors.index.json");
    test_settings_null(&g, "latest_remote_file_name");
    stage_init(&run);
    files_check_init(&run, 6);
    open_it();
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    (void)snprintf(command, sizeof command,
                   "cd '%s' && mkdir -p checkpoints && cd checkpoints && "
                   "echo one >ep1-1a2b3c4d-00001-of-00001.safetensors && "
                   "echo other >ep2-1a2b3c4d-00001-of-00001.safetensors",
                   run.run_folder);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) our own folder */
    epoch();
    ck_assert_str_eq(files_given, "far/ep1-1a2b3c4d-00001-of-00001.safetensors of 4 bytes\n"
                                  "far/ep1.safetensors.index.json of 2 bytes\n");
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

START_TEST(folders_and_names_may_hold_variables)
{
    char folder[400], path[600];
    stage_init(&run);
    settings(1, TUTTI_UNIT_BATCH, -1);
    (void)snprintf(folder, sizeof folder, "%s/{run_name}/keep", run.run_folder);
    test_settings_path(&g, "folder", folder);
    test_settings_string(&g, "filename", "{run_name}-{sample}-{rank}.safetensors");
    open_it();
    batch();
    (void)snprintf(path, sizeof path, "%s/trial/keep/trial-10-0.safetensors", run.run_folder);
    ck_assert_int_eq(access(path, F_OK), 0);
    subject_close(&it);
    stage_fini(&run);
}
END_TEST

static void refuse(const char *filename, const char *text)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_string(&g, "filename", filename);
    ck_assert_int_eq(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "checkpoint_saver", &g,
                                  run.services, &err),
                     TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, text);
}

START_TEST(names_that_cannot_be_are_refused)
{
    stage_init(&run);
    settings(1, TUTTI_UNIT_EPOCH, -1);
    refuse("ep{epok}.safetensors",
           "checkpoint_saver: ep{epok}.safetensors has the unknown variable {epok}, want "
           "run_name, epoch, batch, sample or another counter");
    refuse("a/b.safetensors", "checkpoint_saver: filename is a/b.safetensors, want a name "
                              "without / (the setting folder says where)");
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint_saver");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, every_epoch_is_saved_once_and_the_latest_is_linked);
    tcase_add_test(tc, only_the_newest_are_kept);
    tcase_add_test(tc, due_says_beforehand_what_will_be_saved);
    tcase_add_test(tc, fractions_of_the_run_count_in_batches);
    tcase_add_test(tc, a_run_that_was_stopped_early_is_saved_at_its_end);
    tcase_add_test(tc, saving_on_demand_saves_what_is_not_saved_yet);
    tcase_add_test(tc, what_comes_after_a_save_on_demand_is_saved_too);
    tcase_add_test(tc, the_latest_is_the_newest_file_also_when_the_link_is_older);
    tcase_add_test(tc, a_failed_save_is_told_and_changes_nothing);
    tcase_add_test(tc, files_of_an_earlier_run_are_not_written_over);
    tcase_add_test(tc, a_resumed_run_removes_the_files_of_before);
    tcase_add_test(tc, files_that_are_whole_are_sent_elsewhere);
    tcase_add_test(tc, a_part_of_the_run_can_be_saved);
    tcase_add_test(tc, shards_are_sent_beside_their_index);
    tcase_add_test(tc, folders_and_names_may_hold_variables);
    tcase_add_test(tc, names_that_cannot_be_are_refused);
    return tutti_run(suite);
}
