/* store_test.c - the logger with a folder: its files are read as texts, none of its own code reads them. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables, images */
#include "run_check.h"
#include "tutti_check.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static stage run;
static subject it;
static char root[400];

static void setup(void)
{
    stage_init(&run);
    (void)snprintf(root, sizeof root, "%s/mlruns", run.run_folder);
}

static void teardown(void)
{
    stage_fini(&run);
}

static void give(test_settings *g, const char *uri, const char *experiment,
                 double flush_timeout)
{
    test_settings_init(g);
    test_settings_string(g, "tracking_uri", uri);
    test_settings_string(g, "experiment_name", experiment);
    test_settings_null(g, "run_name");
    test_settings_null(g, "run_group");
    test_settings_list(g, "tags", TUTTI_PARAM_STRING, 1)->s = "who=me: 'a'";
    (void)test_settings_list(g, "ignore_metrics", TUTTI_PARAM_STRING, 0);
    (void)test_settings_list(g, "ignore_hyperparameters", TUTTI_PARAM_STRING, 0);
    test_settings_bool(g, "resume", 0);
    test_settings_int(g, "flush_interval", 2);
    test_settings_int(g, "log_duplicated_metric_every_n_steps", 100);
    test_settings_int(g, "queue_size", 64);
    test_settings_float(g, "flush_timeout", flush_timeout);
}

static const tutti_logger_v1 *open_at(const char *uri, const char *experiment,
                                      double flush_timeout)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    give(&g, uri, experiment, flush_timeout);
    ck_assert_ok(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "mlflow", &g, run.services, &err),
        err);
    ck_assert_hears(&run, &it, TUTTI_EVENT_INIT);
    return subject_query(&it, TUTTI_LOGGER_V1);
}

static void log_value(const tutti_logger_v1 *table, const char *name, double value)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_value v = {name, value};
    ck_assert_ok(table->metrics(it.self, &v, 1, (uint64_t)run.time.batch, &err), err);
}

static void train_batch(const tutti_logger_v1 *table, double loss)
{
    stage_next_batch(&run);
    log_value(table, "loss/train/total", loss);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BATCH_END);
}

static void wait_note(void)
{
    while (!run.noted[0]) {
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
        (void)usleep(10000);
    }
}

static void give_setting(const tutti_logger_v1 *table, const char *name, const char *json)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_named_text h = {name, json};
    ck_assert_ok(table->hyperparameters(it.self, &h, 1, &err), err);
}

/* ---- reading ---- */

/* The only folder below that has `size` characters in its name. */
static const char *only_folder(const char *below, size_t size, char *name, size_t room)
{
    struct dirent **list;
    size_t found = 0;
    const int n = scandir(below, &list, NULL, alphasort);
    for (int k = 0; k < n; k++) {
        if (strlen(list[k]->d_name) == size && ++found)
            (void)snprintf(name, room, "%s/%s", below, list[k]->d_name);
        free(list[k]);
    }
    if (n >= 0)
        free(list);
    ck_assert_msg(found == 1, "%zu folders of that kind in %s", found, below);
    return name;
}

/* ids are 18 digits of experiments, 32 of runs. */
static const char *run_folder(void)
{
    static char experiment[600], folder[800];
    (void)only_folder(root, 18, experiment, sizeof experiment);
    return only_folder(experiment, 32, folder, sizeof folder);
}

/* A file, times in it as 0 and the folders of the run and the store as RUN and ROOT. */
static const char *read_file(const char *folder, const char *name)
{
    static char text[16384], raw[16384];
    char path[1200];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(path, "r");
    ck_assert_msg(in, "there is no %s", path);
    raw[fread(raw, 1, sizeof raw - 1, in)] = '\0';
    (void)fclose(in);
    char *to = text;
    for (const char *at = raw; *at;) {
        const size_t digits = strspn(at, "0123456789");
        if (digits >= 13) {
            *to++ = digits == 13 ? '0' : '#';
            at += digits;
        } else if (strncmp(at, root, strlen(root)) == 0) {
            to = stpcpy(to, "ROOT");
            at += strlen(root);
        } else
            *to++ = *at++;
    }
    *to = '\0';
    return text;
}

static const char *of_run(const char *name)
{
    return read_file(run_folder(), name);
}

/* A run's id has letters, so texts with it are compared by what is around it. */
static void assert_meta(const char *status, const char *end)
{
    char want[2000];
    const char *meta = of_run("meta.yaml");
    char id_as_read[64] = "";
    const char *at = strstr(meta, "run_id: '");
    ck_assert_ptr_nonnull(at);
    (void)sscanf(at, "run_id: '%63[^']", id_as_read);
    (void)snprintf(want, sizeof want,
                   "artifact_uri: 'ROOT/#/%s/artifacts'\n"
                   "deleted_time: null\n"
                   "end_time: %s\n"
                   "entry_point_name: ''\n"
                   "experiment_id: '#'\n"
                   "lifecycle_stage: 'active'\n"
                   "run_id: '%s'\n"
                   "run_name: 'trial'\n"
                   "run_uuid: '%s'\n"
                   "source_name: ''\n"
                   "source_type: 4\n"
                   "source_version: ''\n"
                   "start_time: 0\n"
                   "status: %s\n"
                   "tags: []\n"
                   "user_id: ''\n",
                   id_as_read, end, id_as_read, id_as_read, status);
    ck_assert_str_eq(meta, want);
}

/* ---- tests ---- */

START_TEST(a_run_lies_as_file_store_has_it)
{
    char experiment[600], id[64];
    const tutti_logger_v1 *table = open_at(root, "it's: trial #1 \"\xc3\xa9\"", 100);
    ck_assert_str_eq(table->location(it.self), root);
    give_setting(table, "seed", "17");
    give_setting(table, "model/name", "\"cnn\"");
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 0.5);
    train_batch(table, NAN);
    train_batch(table, -INFINITY);
    train_batch(table, 0.1);
    train_batch(table, 1e-9);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_str_eq(run.noted, "");
    ck_assert_str_eq(read_file(root, "0/meta.yaml"),
                     "artifact_location: 'ROOT/0'\ncreation_time: 0\nexperiment_id: '0'\n"
                     "last_update_time: 0\nlifecycle_stage: 'active'\nname: 'Default'\n");
    ck_assert_str_eq(
        read_file(only_folder(root, 18, experiment, sizeof experiment), "meta.yaml"),
        "artifact_location: 'ROOT/#'\ncreation_time: 0\nexperiment_id: '#'\n"
        "last_update_time: 0\nlifecycle_stage: 'active'\n"
        "name: 'it''s: trial #1 \"\xc3\xa9\"'\n");
    assert_meta("3", "0");
    ck_assert_str_eq(of_run("metrics/loss/train/total"),
                     "0 0.5 1\n0 nan 2\n0 -inf 3\n0 0.1 4\n0 1e-09 5\n");
    ck_assert_str_eq(of_run("params/seed"), "17");
    ck_assert_str_eq(of_run("params/model/name"), "cnn");
    ck_assert_str_eq(of_run("tags/mlflow.runName"), "trial");
    ck_assert_str_eq(of_run("tags/run_name"), "trial");
    ck_assert_str_eq(of_run("tags/who"), "me: 'a'");
    ck_assert_int_eq(access(strcat(root, "/.trash"), F_OK), 0);
    *strrchr(root, '/') = '\0';
    (void)stage_file(&run, "mlflow.run", id, sizeof id);
    ck_assert_int_eq(strncmp(id, strrchr(run_folder(), '/') + 1, 32), 0);
}
END_TEST

START_TEST(tables_and_images_are_artifacts)
{
    tutti_error err = TUTTI_ERROR_INIT;
    uint8_t bytes[1] = {255};
    const tutti_tensor pixels = {bytes, {{1, 1, 1, 1}, 4, TUTTI_U8}, TUTTI_DEVICE_CPU, 0};
    const tutti_images images = {
        .struct_size = sizeof images, .name = "Images/Train", .pixels = &pixels};
    const tutti_table answers = stage_a_table("all answers");
    const tutti_logger_v1 *table = open_at(root, "e", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    ck_assert_ok(table->table(it.self, &answers, 3, &err), err);
    ck_assert_ok(table->table(it.self, &answers, 4, &err), err);
    ck_assert_ok(table->images(it.self, &images, 4, &err), err);
    subject_close(&it);
    ck_assert_str_eq(
        of_run("artifacts/all answers.json"),
        "{\"columns\":[\"sample\",\"said\"],\"data\":[[0,\"a \\\"b\\\"\"],[1,[1,2.5]]]}");
    ck_assert_int_eq(
        strncmp(of_run("artifacts/images/Images/Train_0/step_4.png"), "\x89PNG", 4), 0);
    ck_assert_str_eq(of_run("tags/mlflow.loggedArtifacts"),
                     "[{\"path\": \"all answers.json\", \"type\": \"table\"}]");
    assert_meta("5", "0"); /* killed: training did not end */
}
END_TEST

/* MLflow before 2.17 takes 5,000 characters; each name is seen once, so that the list would grow with the run. */
START_TEST(the_list_of_tables_keeps_the_newest_that_a_tag_has_room_for)
{
    enum { TABLES = 300 };
    char name[40];
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_logger_v1 *table = open_at(root, "e", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    for (int k = 0; k < TABLES; k++) {
        (void)snprintf(name, sizeof name, "answers %d", k);
        const tutti_table answers = stage_a_table(name);
        ck_assert_ok(table->table(it.self, &answers, (uint64_t)k, &err), err);
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
    }
    subject_close(&it);
    const char *tag = of_run("tags/mlflow.loggedArtifacts");
    ck_assert_uint_le(strlen(tag), 5000);
    ck_assert_uint_gt(strlen(tag), 4900);
    ck_assert_ptr_nonnull(strstr(tag, "answers 299.json"));
    ck_assert_ptr_null(strstr(tag, "answers 0.json"));
}
END_TEST

START_TEST(a_run_that_goes_on_is_the_same_in_the_folder)
{
    const tutti_logger_v1 *table = open_at(root, "e", 100);
    give_setting(table, "seed", "17");
    give_setting(table, "lr", "0.1");
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    subject_close(&it);
    assert_meta("5", "0");
    table = open_at(root, "e", 100);
    give_setting(table, "seed", "18");
    give_setting(table, "lr", "0.1");
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 2);
    wait_note();
    ck_assert_ptr_nonnull(strstr(run.noted,
                                 "is 17, and MLflow lets no parameter become another "
                                 "(18); that record is left out"));
    assert_meta("1", "null");
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    assert_meta("3", "0");
    ck_assert_str_eq(of_run("metrics/loss/train/total"), "0 1 1\n0 2 2\n");
    ck_assert_str_eq(of_run("params/seed"), "17");
}
END_TEST

START_TEST(a_run_whose_folder_is_gone_begins_anew)
{
    char aside[500], told[1000];
    const tutti_logger_v1 *table = open_at(root, "e", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    subject_close(&it);
    (void)snprintf(told, sizeof told,
                   "mlflow: %s has no run %s, which %s/mlflow.run names; this "
                   "one goes to the run ",
                   root, strrchr(run_folder(), '/') + 1, run.run_folder);
    (void)snprintf(aside, sizeof aside, "%s/aside", run.run_folder);
    ck_assert_int_eq(rename(root, aside), 0);
    table = open_at(root, "e", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 2);
    subject_close(&it);
    ck_assert_msg(strncmp(run.noted, told, strlen(told)) == 0, "%s", run.noted);
    ck_assert_str_eq(run.noted + strlen(told), strrchr(run_folder(), '/') + 1);
    ck_assert_str_eq(of_run("metrics/loss/train/total"), "0 2 2\n");
}
END_TEST

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[1200];
    (void)mkdir(root, 0777);
    (void)mkdir(folder, 0777);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    ck_assert(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

static size_t count_unfinished(const char *folder)
{
    char command[900], text[32] = "";
    (void)snprintf(command, sizeof command, "find %s -name '*.tmp' -o -name '*.next' | wc -l",
                   folder);
    FILE *out = popen(command, "r"); /* NOLINT(cert-env33-c) */
    ck_assert(out && fgets(text, sizeof text, out));
    (void)pclose(out);
    return strtoul(text, NULL, 10);
}

/* It had chosen ids and begun experiment 0, its own experiment and the run: none of them whole. */
START_TEST(what_a_killed_process_began_is_made_whole)
{
    static const char id[] = "123456789012345678",
                      run_id[] = "0123456789abcdef0123456789abcdef";
    char folder[700];
    const tutti_logger_v1 *table;
    (void)snprintf(folder, sizeof folder, "%s/0", root);
    write_file(folder, "meta.yaml.tmp", "artifact_lo");
    (void)snprintf(folder, sizeof folder, "%s/%s", root, id);
    write_file(folder, "meta.yaml.tmp", "");
    (void)snprintf(folder, sizeof folder, "%s/%s/%s", root, id, run_id);
    write_file(folder, "meta.yaml.tmp", "x");
    write_file(run.run_folder, "mlflow.run.next",
               "123456789012345678 0123456789abcdef0123456789abcdef\n");
    table = open_at(root, "e", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_str_eq(run.noted, "");
    ck_assert_str_eq(run_folder(), folder);
    ck_assert_str_eq(of_run("metrics/loss/train/total"), "0 1 1\n");
    assert_meta("3", "0");
    (void)snprintf(folder, sizeof folder, "%s/0/meta.yaml", root);
    ck_assert_int_eq(access(folder, F_OK), 0);
    ck_assert_uint_eq(count_unfinished(run.run_folder), 0);
}
END_TEST

/* Whatever the file says, a run has ids of its own. */
START_TEST(ids_that_are_none_are_not_taken)
{
    char folder[700];
    write_file(run.run_folder, "mlflow.run.next",
               "../345678901234567 0123456789abcdef0123456789abcdef\n");
    const tutti_logger_v1 *table = open_at(root, "e", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    subject_close(&it);
    ck_assert_str_eq(of_run("metrics/loss/train/total"), "0 1 1\n");
    ck_assert_ptr_null(strstr(run_folder(), ".."));
    (void)snprintf(folder, sizeof folder, "%s/mlflow.run.next", run.run_folder);
    ck_assert_int_ne(access(folder, F_OK), 0);
}
END_TEST

/* meta.yaml of an experiment as MLflow 3.17.2 writes it: a name without quotes, in quotes, and over two lines. */
static const struct {
    const char *name, *line;
} experiments[] = {
    {"my trials", "name: my trials"},
    {"it's: a #1", "name: 'it''s: a #1'"},
    {"tab\there", "name: \"tab\\there\""},
    {"a long name that goes on and on, so that the package PyYAML breaks it after some eighty "
     "characters",
     "name: a long name that goes on and on, so that the package PyYAML breaks it after some\n"
     "  eighty characters"},
};

static void write_experiment(const char *folder, const char *line, const char *stays)
{
    char text[1000];
    (void)snprintf(
        text, sizeof text,
        "artifact_location: %s/123456789012345678\ncreation_time: 1795451400518\n"
        "effective_trace_archival_retention: null\nexperiment_id: "
        "'123456789012345678'\nlast_update_time: 1795451400518\nlifecycle_stage: %s\n"
        "%s\ntrace_location: null\nworkspace: default\n",
        root, stays, line);
    write_file(folder, "meta.yaml", text);
}

static void keep_ids(const char *run_id)
{
    char line[100];
    (void)snprintf(line, sizeof line, "123456789012345678 %s\n", run_id);
    write_file(run.run_folder, "mlflow.run.next", line);
}

/* A process was killed behind its experiment, which then was called otherwise and has another's runs. */
START_TEST(an_experiment_that_is_whole_is_not_made_again)
{
    char folder[700], other[800];
    (void)snprintf(folder, sizeof folder, "%s/123456789012345678", root);
    write_experiment(folder, "name: old", "active");
    (void)snprintf(other, sizeof other, "%s/0123456789abcdef0123456789abcdef", folder);
    write_file(other, "meta.yaml", "run_id: 0123456789abcdef0123456789abcdef\n");
    keep_ids("0123456789abcdef0123456789abcdef");
    const tutti_logger_v1 *table = open_at(root, "new", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    subject_close(&it);
    ck_assert_ptr_nonnull(strstr(read_file(folder, "meta.yaml"), "\nname: old\n"));
    ck_assert_str_eq(read_file(other, "meta.yaml"),
                     "run_id: 0123456789abcdef0123456789abcdef\n");
    (void)stage_file(&run, "mlflow.run", other, sizeof other);
    ck_assert_ptr_null(strstr(other, "0123456789abcdef"));
    ck_assert_int_eq((int)strlen(other), 33);
}
END_TEST

/* A process was killed between the run's last file and the note of its id. */
START_TEST(a_run_that_is_whole_goes_on_where_it_was_begun)
{
    char id[64], path[700];
    const tutti_logger_v1 *table = open_at(root, "e", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    subject_close(&it);
    (void)stage_file(&run, "mlflow.run", id, sizeof id);
    id[strcspn(id, "\n")] = '\0';
    (void)snprintf(path, sizeof path, "%s/mlflow.run", run.run_folder);
    ck_assert_int_eq(unlink(path), 0);
    keep_ids(id);
    table = open_at(root, "e", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 2);
    subject_close(&it);
    ck_assert_str_eq(of_run("metrics/loss/train/total"), "0 1 1\n0 2 2\n");
    ck_assert_uint_eq(count_unfinished(run.run_folder), 0);
}
END_TEST

START_TEST(an_experiment_of_the_package_is_taken)
{
    char folder[600];
    (void)snprintf(folder, sizeof folder, "%s/123456789012345678", root);
    write_experiment(folder, experiments[_i].line, "active");
    const tutti_logger_v1 *table = open_at(root, experiments[_i].name, 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    subject_close(&it);
    ck_assert_str_eq(run.noted, "");
    ck_assert_int_eq(strncmp(run_folder(), folder, strlen(folder)),
                     0); /* the only experiment */
    ck_assert_str_eq(of_run("metrics/loss/train/total"), "0 1 1\n");
}
END_TEST

START_TEST(a_deleted_experiment_is_told_and_what_is_logged_waits_for_it)
{
    char trash[500], gone[600], back[600];
    (void)snprintf(trash, sizeof trash, "%s/.trash", root);
    (void)snprintf(gone, sizeof gone, "%s/123456789012345678", trash);
    (void)snprintf(back, sizeof back, "%s/123456789012345678", root);
    write_file(trash, "note", "");
    write_experiment(gone, "name: e", "deleted");
    const tutti_logger_v1 *table = open_at(root, "e", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    wait_note();
    ck_assert_msg(strstr(run.noted, "mlflow: the experiment e of ") &&
                      strstr(run.noted,
                             " is deleted, want it restored, or its folder "
                             "123456789012345678 removed from .trash; what is logged "
                             "is kept and sent when it can be"),
                  "%s", run.noted);
    ck_assert_int_eq(rename(gone, back), 0);
    subject_close(&it);
    ck_assert_str_eq(of_run("metrics/loss/train/total"), "0 1 1\n");
}
END_TEST

START_TEST(a_folder_that_cannot_be_made_costs_nothing_but_a_sentence)
{
    char told[600];
    FILE *f = fopen(root, "we"); /* a file where the folder is to be */
    ck_assert(f && fclose(f) == 0);
    const tutti_logger_v1 *table = open_at(root, "e", 0);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    train_batch(table, 1);
    wait_note();
    (void)snprintf(told, sizeof told, "mlflow: cannot write %s: Not a directory; what is",
                   root);
    ck_assert_msg(strncmp(run.noted, told, strlen(told)) == 0, "%s", run.noted);
    subject_close(&it);
    ck_assert_ptr_nonnull(strstr(run.noted, "they wait in "));
    ck_assert_int_eq(unlink(root), 0);
    (void)open_at(root, "e", 100); /* the next run in the folder sends it */
    subject_close(&it);
    ck_assert_str_eq(of_run("metrics/loss/train/total"), "0 1 1\n");
    assert_meta("5", "0");
}
END_TEST

START_TEST(nothing_is_lost_over_a_full_disk_and_it_is_told_once)
{
    enum { BATCHES = 80 };
    char want[4000] = "", line[64];
    struct rlimit limit, small;
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){1003, limit.rlim_max}; /* in the middle of a line */
    const tutti_logger_v1 *table = open_at(root, "e", 100);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    for (int k = 0; k < BATCHES; k++) {
        train_batch(table, k);
        (void)snprintf(line, sizeof line, "0 %d %d\n", k, k + 1);
        (void)strcat(want, line);
    }
    wait_note();
    ck_assert_ptr_nonnull(strstr(run.noted,
                                 "/metrics/loss/train/total: File too large; what is "
                                 "logged is kept and sent when it can be"));
    const char *part = of_run("metrics/loss/train/total");
    ck_assert_int_eq(strncmp(part, want, strlen(part)), 0); /* no half a line */
    ck_assert_int_eq(part[strlen(part) - 1], '\n');
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    subject_close(&it);
    ck_assert_str_eq(of_run("metrics/loss/train/total"), want);
    ck_assert_str_eq(run.noted, "mlflow: can send again");
}
END_TEST

static const struct {
    const char *name, *told;
} no_names[] = {
    {"../../../evil", "mlflow: the metric ../../../evil is no name for a file of "},
    {"a//b", "mlflow: the metric a//b is no name for a file of "},
    {"50%", "mlflow: the metric 50% is no name for a file of "},
    {"loss/train", "/metrics/loss/train: Is a directory; it is left out"},
    {"loss/train/total/more", "/metrics/loss/train/total: Not a directory; it is left out"},
};

START_TEST(a_name_that_is_no_file_is_left_out_alone)
{
    const tutti_logger_v1 *table = open_at(root, "e", 100);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_START);
    stage_next_batch(&run);
    log_value(table, "loss/train/total", 1);
    log_value(table, no_names[_i].name, 2);
    log_value(table, "after", 3);
    ck_assert_hears(&run, &it, TUTTI_EVENT_FIT_END);
    subject_close(&it);
    ck_assert_msg(strstr(run.noted, no_names[_i].told), "%s", run.noted);
    ck_assert_str_eq(of_run("metrics/loss/train/total"), "0 1 1\n");
    ck_assert_str_eq(of_run("metrics/after"), "0 3 1\n");
    assert_meta("3", "0");
}
END_TEST

static const struct {
    const char *before, *after; /* of the folder */
} addresses[] = {{"file://", ""}, {"file:", "/"}, {"file://localhost", "//"}, {"file:", "%2F"}};

START_TEST(an_address_of_a_folder_is_the_folder)
{
    char uri[600];
    (void)snprintf(uri, sizeof uri, "%s%s%s", addresses[_i].before, root, addresses[_i].after);
    const tutti_logger_v1 *table = open_at(uri, "e", 100);
    ck_assert_str_eq(table->location(it.self), root);
    subject_close(&it);
}
END_TEST

static const char *const no_folders[] = {"sqlite:///mlflow.db", "file://host/mlruns",
                                         "databricks", "file:"};

START_TEST(another_address_is_refused)
{
    test_settings g;
    char told[600];
    tutti_error err = TUTTI_ERROR_INIT;
    give(&g, no_folders[_i], "e", 0);
    ck_assert_int_eq(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "mlflow", &g, run.services, &err),
        TUTTI_E_ARG);
    (void)snprintf(told, sizeof told,
                   "mlflow: tracking_uri is %s, want the address of a tracking server, as "
                   "http://localhost:5000, or a folder, as mlruns or file:///data/mlruns",
                   no_folders[_i]);
    ck_assert_error(err, TUTTI_E_ARG, told);
}
END_TEST

START_TEST(without_an_address_it_is_mlruns)
{
    test_settings g;
    char folder[400];
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(unsetenv("MLFLOW_TRACKING_URI"), 0);
    ck_assert_int_eq(chdir(run.run_folder), 0);
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder - 8));
    give(&g, "", "e", 100);
    ck_assert_ok(
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_LOGGER, "mlflow", &g, run.services, &err),
        err);
    const tutti_logger_v1 *table = subject_query(&it, TUTTI_LOGGER_V1);
    ck_assert_str_eq(table->location(it.self), strcat(folder, "/mlruns"));
    subject_close(&it);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

#define LOOP(test, cases) tcase_add_loop_test(tc, test, 0, sizeof(cases) / sizeof *(cases))

int main(void)
{
    Suite *suite = suite_create("mlflow_store");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_run_lies_as_file_store_has_it);
    tcase_add_test(tc, tables_and_images_are_artifacts);
    tcase_add_test(tc, the_list_of_tables_keeps_the_newest_that_a_tag_has_room_for);
    tcase_add_test(tc, a_run_that_goes_on_is_the_same_in_the_folder);
    tcase_add_test(tc, a_run_whose_folder_is_gone_begins_anew);
    tcase_add_test(tc, what_a_killed_process_began_is_made_whole);
    tcase_add_test(tc, ids_that_are_none_are_not_taken);
    tcase_add_test(tc, an_experiment_that_is_whole_is_not_made_again);
    tcase_add_test(tc, a_run_that_is_whole_goes_on_where_it_was_begun);
    LOOP(an_experiment_of_the_package_is_taken, experiments);
    tcase_add_test(tc, a_deleted_experiment_is_told_and_what_is_logged_waits_for_it);
    tcase_add_test(tc, a_folder_that_cannot_be_made_costs_nothing_but_a_sentence);
    tcase_add_test(tc, nothing_is_lost_over_a_full_disk_and_it_is_told_once);
    LOOP(a_name_that_is_no_file_is_left_out_alone, no_names);
    LOOP(an_address_of_a_folder_is_the_folder, addresses);
    LOOP(another_address_is_refused, no_folders);
    tcase_add_test(tc, without_an_address_it_is_mlruns);
    return tutti_run(suite);
}
