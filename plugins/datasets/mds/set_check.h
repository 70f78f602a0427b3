/* set_check.h - an open data set of the plugin, for its tests: one at a time in each program. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MDS_SET_CHECK_H
#define MDS_SET_CHECK_H

#include "plugin_check.h"

#include "tutti/dataset.h"

static subject it;
static const tutti_dataset_v1 *table;
static tutti_dataset_info info;
/* Settings that few tests give; each test is a process of its own. */
static const char *target_column, *labels, *tokens_column, *token_type = "int64";
static int64_t length;
static int verify = 1;
static const char *remote_url, *endpoint;
static int64_t inflated_mib, disk_mib, predownload, retries;
static double timeout_s = 30;
static int shuffle_algo; /* its place in the manifest; 0: auto */
static int64_t shuffle_seed = -1, shuffle_block = -1, nodes = -1; /* -1: null */

/* Streams in the place of the path; lists are empty or have one of each. */
static const char *streams[4], *remotes[4];
static double repeat[4], proportion[4];
static int64_t choose[4], epoch_size;
static int64_t batching; /* 0: random; else per_stream, and above 1 the batch_size */
static uint32_t nstreams, nremotes, nproportion, nrepeat, nchoose;

static inline void give_or_null(test_settings *g, const char *name, int64_t value)
{
    value < 0 ? test_settings_null(g, name) : test_settings_int(g, name, value);
}

static inline tutti_status open_path(const char *path, const char *input, int64_t classes,
                                     int64_t cache_mib, tutti_error *err)
{
    test_settings g;
    test_settings_init(&g);
    path ? test_settings_path(&g, "path", path) : test_settings_null(&g, "path");
    test_settings_strings(&g, "streams", streams, nstreams);
    test_settings_strings(&g, "remotes", remotes, nremotes);
    test_settings_floats(&g, "proportion", proportion, nproportion);
    test_settings_floats(&g, "repeat", repeat, nrepeat);
    test_settings_ints(&g, "choose", choose, nchoose);
    test_settings_int(&g, "epoch_size", epoch_size);
    test_settings_enum(&g, "batching_method", batching ? "per_stream" : "random",
                       batching ? 2 : 0);
    test_settings_null(&g, "batch_size");
    if (batching > 1)
        test_settings_int(&g, "batch_size", batching);
    test_settings_int(&g, "batch_devices", 1);
    test_settings_enum(&g, "sampling_method", "balanced", 0);
    test_settings_int(&g, "sampling_granularity", 1);
    input ? test_settings_string(&g, "input_column", input)
          : test_settings_null(&g, "input_column");
    target_column ? test_settings_string(&g, "target_column", target_column)
                  : test_settings_null(&g, "target_column");
    labels ? test_settings_path(&g, "labels", labels) : test_settings_null(&g, "labels");
    tokens_column ? test_settings_string(&g, "tokens_column", tokens_column)
                  : test_settings_null(&g, "tokens_column");
    remote_url ? test_settings_string(&g, "remote", remote_url)
               : test_settings_null(&g, "remote");
    endpoint ? test_settings_string(&g, "endpoint", endpoint)
             : test_settings_null(&g, "endpoint");
    test_settings_int(&g, "inflated_mib", inflated_mib);
    test_settings_int(&g, "disk_mib", disk_mib);
    test_settings_int(&g, "predownload", predownload);
    test_settings_int(&g, "download_retry", retries);
    test_settings_float(&g, "download_timeout", timeout_s);
    test_settings_string(&g, "token_type", token_type);
    test_settings_int(&g, "length", length);
    test_settings_int(&g, "classes", classes);
    static const char *const algos[] = {"auto", "naive", "py1e", "py1s", "py1br", "py2s"};
    test_settings_enum(&g, "shuffle_algo", algos[shuffle_algo], shuffle_algo);
    give_or_null(&g, "shuffle_seed", shuffle_seed);
    give_or_null(&g, "shuffle_block_size", shuffle_block);
    give_or_null(&g, "num_canonical_nodes", nodes);
    test_settings_bool(&g, "verify", verify);
    test_settings_int(&g, "cache_mib", cache_mib);
    const tutti_status s =
        subject_open(&it, PLUGIN_PATH, TUTTI_KIND_DATASET, "mds", &g, NULL, err);
    if (s)
        return s;
    table = subject_query(&it, TUTTI_DATASET_V1);
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    return table->info(it.self, &info, err);
}

/* Reads a sample's columns into buffers of `room` bytes. */
static inline tutti_status read_into(int64_t index, tutti_tensor *t, void *const *data,
                                     uint64_t room, tutti_error *err)
{
    const uint64_t capacity[2] = {room, room};
    for (int k = 0; k < 2; k++)
        t[k] = (tutti_tensor){.data = data[k], .device = TUTTI_DEVICE_CPU};
    return table->read(it.self, index, t, capacity, info.ncolumns, err);
}

static inline tutti_tensor read_one(int64_t index, void *data, uint64_t room)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[2];
    int64_t target[8];
    void *const to[2] = {data, target};
    ck_assert_ok(read_into(index, t, to, room, &err), err);
    return t[0];
}

static inline void assert_shape(const tutti_desc *d, const char *want)
{
    char text[96];
    ck_assert_str_eq(tutti_desc_text(d, text, sizeof text), want);
}

#endif
