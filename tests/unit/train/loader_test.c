/* loader_test.c - batches are a function of seed, epoch and number, whoever makes them and when. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/faults.h"
#include "train/data/loader_internal.h"
#include "train/data/samples.h"
#include "tutti/ops.h"
#include "tutti_check.h"

#include <limits.h>
#include <stdio.h>

enum { SAMPLES = 50, BATCH = 8, PIXELS = 28 * 28 };

static registry *plugins;
static instance *glyphs, *crop, *scale;
static instance *transforms[2]; /* loaders borrow it */

static const void *no_service(void *ctx, instance *i, const char *interface_id)
{
    (void)ctx, (void)i, (void)interface_id;
    return NULL;
}

/* An instance of the shipped plugin `name` with the settings of a JSON object. */
static instance *opened(const char *kind, const char *name, const char *settings)
{
    const object *o;
    json_doc *doc;
    instance *i;
    tutti_error err = TUTTI_ERROR_INIT;
    faults *f = faults_create();
    ck_assert_ok(registry_find(plugins, kind, name, &o, &err), err);
    ck_assert_ok(json_parse("test", settings, strlen(settings), &doc, &err), err);
    tutti_params *p = params_from_json(o, json_root(doc), NULL, "/", f);
    ck_assert_msg(p != NULL, "%s", faults_count(f) ? faults_text(f, 0) : "no settings");
    ck_assert_ok(instance_open(o, name, p, no_service, NULL, &i, &err), err);
    json_free(doc);
    faults_destroy(f);
    return i;
}

static void start(void)
{
    char folder[PATH_MAX];
    const char *build = getenv("TUTTI_BUILD");
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ptr_nonnull(build);
    (void)snprintf(folder, sizeof folder, "%s/lib/tutti/plugins", build);
    const char *const paths[] = {folder, NULL};
    const registry_options options = {.plugin_paths = paths, .trust = TRUST_NONE};
    ck_assert_ok(registry_create(&options, &plugins, &err), err);
    glyphs = opened("dataset", "glyphs", "{\"samples\": 50}");
    crop = opened("transform", "random_crop", "{\"padding\": 2}");
    scale = opened("transform", "normalize", "{\"mean\": [0.5], \"std\": [0.5]}");
    transforms[0] = crop;
    transforms[1] = scale;
}

static void end(void)
{
    instance_free(scale);
    instance_free(crop);
    instance_free(glyphs);
    registry_destroy(plugins);
}

static loader *made(uint32_t workers, bool shuffle, bool drop_last, int64_t subset)
{
    const loader_options options = {.dataset = glyphs,
                                    .transforms = transforms,
                                    .ntransforms = 2,
                                    .workers = workers,
                                    .prefetch = 2,
                                    .shuffle = shuffle,
                                    .drop_last = drop_last,
                                    .batch_size = BATCH,
                                    .subset_num_batches = subset,
                                    .seed = 17};
    loader *l;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(loader_create(&options, &l, &err), err);
    return l;
}

/* The next batch's images, which it copies, and how many there are. */
static int64_t next(loader *l, float images[BATCH * PIXELS], int32_t labels[BATCH])
{
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    uint32_t n;
    int64_t samples;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(loader_next(l, columns, &n, &samples, &err), err);
    if (samples == 0)
        return 0;
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(columns[0].desc.dim[0], samples);
    ck_assert_int_eq(columns[0].desc.dtype, TUTTI_F32);
    ck_assert_uint_eq((uintptr_t)columns[0].data % 64, 0);
    memcpy(images, columns[0].data, (size_t)samples * PIXELS * sizeof *images);
    memcpy(labels, columns[1].data, (size_t)samples * sizeof *labels);
    return samples;
}

START_TEST(workers_change_nothing)
{
    static float one[BATCH * PIXELS], many[BATCH * PIXELS];
    int32_t a[BATCH], b[BATCH];
    loader *l = made(1, true, false, -1), *m = made(4, true, false, -1);
    ck_assert_int_eq(loader_batches(l), 7);
    for (int k = 0; k < 3 * 8; k++) { /* three epochs of 7 batches and an end */
        const int64_t n = next(l, one, a);
        ck_assert_int_eq(n, k % 8 == 7 ? 0 : k % 8 == 6 ? 2 : BATCH);
        ck_assert_int_eq(next(m, many, b), n);
        ck_assert_mem_eq(one, many, (size_t)n * PIXELS * sizeof *one);
        ck_assert_mem_eq(a, b, (size_t)n * sizeof *a);
    }
    loader_destroy(l);
    loader_destroy(m);
}
END_TEST

START_TEST(kept_samples_make_the_same_batches)
{
    static float read[BATCH * PIXELS], kept[BATCH * PIXELS];
    int32_t a[BATCH], b[BATCH];
    loader *l = made(2, true, false, -1), *m = made(3, true, false, -1);
    loader_make_resident(m);
    for (int k = 0; k < 2 * 8; k++) {
        const int64_t n = next(l, read, a);
        ck_assert_int_eq(next(m, kept, b), n);
        ck_assert_mem_eq(read, kept, (size_t)n * PIXELS * sizeof *read);
        ck_assert_mem_eq(a, b, (size_t)n * sizeof *a);
    }
    loader_destroy(l);
    loader_destroy(m);
}
END_TEST

/* Every batch's rows 2, 3 and 4 alone, of odd ones 1, 2, 4, 5, ...; those of batch 4 not at all. */
static loader_rows some_rows(const void *ctx, int64_t batch, int64_t samples)
{
    ck_assert_ptr_eq(ctx, &plugins);
    if (batch == 4 || samples < 5)
        return (loader_rows){0, 0, 0};
    return batch % 2 ? (loader_rows){1, 2, 3} : (loader_rows){2, 3, 0};
}

static bool wants(int64_t batch, int64_t samples, int64_t row)
{
    if (batch == 4 || samples < 5)
        return false;
    return batch % 2 ? row % 3 != 0 : row >= 2 && row < 5;
}

static void fill(loader *l, float value)
{
    for (uint32_t p = 0; p < l->nring; p++)
        for (int k = 0; k < BATCH * PIXELS; k++)
            ((float *)l->ring[p].columns[0].data)[k] = value;
}

START_TEST(a_part_of_the_rows_is_made)
{
    static float whole[BATCH * PIXELS], part[BATCH * PIXELS];
    int32_t a[BATCH], b[BATCH];
    tutti_error err = TUTTI_ERROR_INIT;
    loader *l = made(2, true, false, -1), *m = made(2, true, false, -1);
    loader_choose_rows(m, some_rows, &plugins);
    ck_assert(!loader_is_partial(m));
    ck_assert_ok(loader_seek(m, 0, 0, &err), err);
    loader_choose_rows(m, some_rows, &plugins); /* stops the workers */
    fill(m, 7.0f);
    ck_assert_ok(loader_seek(m, 0, 0, &err), err);
    for (int k = 0; k < 7; k++) {
        const int64_t n = next(l, whole, a);
        ck_assert_int_eq(next(m, part, b), n);
        ck_assert(loader_is_partial(m));
        for (int64_t row = 0; row < n; row++) {
            const float *at = part + row * PIXELS;
            const bool is_made = wants(k, n, row);
            const void *made = at, *want = whole + row * PIXELS;
            ck_assert_int_eq(memcmp(made, want, PIXELS * sizeof *at) == 0, is_made);
            ck_assert(is_made || k >= (int)m->nring ||
                      (at[0] == 7.0f && at[PIXELS - 1] == 7.0f));
        }
        if (k < 3)
            continue;
        tutti_tensor *columns = m->ring[(m->taken - 1) % m->nring].columns;
        ck_assert_ok(loader_complete(m, &err), err);
        ck_assert(!loader_is_partial(m));
        ck_assert_mem_eq(columns[0].data, whole, (size_t)n * PIXELS * sizeof *whole);
        ck_assert_mem_eq(columns[1].data, a, (size_t)n * sizeof *a);
    }
    loader_choose_rows(m, NULL, NULL);
    ck_assert_ok(loader_seek(m, 0, 1, &err), err);
    ck_assert_ok(loader_seek(l, 0, 1, &err), err);
    ck_assert_int_eq(next(m, part, b), next(l, whole, a));
    ck_assert_mem_eq(part, whole, sizeof part);
    loader_destroy(l);
    loader_destroy(m);
}
END_TEST

START_TEST(samples_of_many_shapes_are_not_kept)
{
    tutti_dataset_info info = {.struct_size = sizeof info, .ncolumns = 2, .samples = 5};
    uint64_t bytes = 7;
    tutti_error err = TUTTI_ERROR_INIT;
    info.columns[0] = (tutti_column){"input", {{4, 6, 3}, 3, TUTTI_U8}, 0};
    info.columns[1] = (tutti_column){"target", {{0}, 0, TUTTI_I32}, 10};
    ck_assert_ok(samples_bytes(&info, &bytes, &err), err);
    ck_assert_uint_eq(bytes, UINT64_C(5) * (4 * 6 * 3 + 4));
    info.columns[0].desc.dim[1] = -1;
    ck_assert_int_eq(samples_bytes(&info, &bytes, &err), TUTTI_E_SHAPE);
    ck_assert_error(err, TUTTI_E_SHAPE, "column input differs in shape from sample to sample");
}
END_TEST

START_TEST(the_order_is_that_of_the_batches)
{
    int64_t order[BATCH], seen[SAMPLES] = {0};
    tutti_error err = TUTTI_ERROR_INIT;
    loader *l = made(1, true, false, -1), *m = made(1, false, false, -1);
    for (int64_t batch = 0; batch < 7; batch++) {
        int64_t n, same;
        ck_assert_ok(loader_order(l, 3, batch, order, &n, &err), err);
        ck_assert_int_eq(n, batch == 6 ? 2 : BATCH);
        for (int64_t k = 0; k < n; k++)
            seen[order[k]]++;
        ck_assert_ok(loader_order(m, 3, batch, order, &same, &err), err);
        ck_assert_int_eq(same, n);
        ck_assert_int_eq(order[n - 1], batch * BATCH + n - 1);
    }
    for (int k = 0; k < SAMPLES; k++)
        ck_assert_int_eq(seen[k], 1);
    loader_destroy(l);
    loader_destroy(m);
}
END_TEST

/* ---- an order of the dataset's own ---- */

enum { PLACES = 20 };
static int asked; /* orders made */

static int64_t given_places(void *self)
{
    (void)self;
    return PLACES;
}

/* Epoch e is 49 - e, 48 - e ...; of epoch 9 one is no sample, and epoch 8 has none. */
static tutti_status given_order(void *self, const tutti_epoch *epoch, int64_t *index,
                                uint64_t room, tutti_error *err)
{
    (void)self, (void)err;
    asked++;
    ck_assert_uint_eq(room, PLACES);
    ck_assert_uint_eq(epoch->seed, 17);
    ck_assert_int_eq(epoch->batch_size, BATCH);
    ck_assert_uint_eq(epoch->shuffle, 1);
    for (int64_t k = 0; k < PLACES; k++)
        index[k] = SAMPLES - 1 - k - epoch->epoch;
    index[5] = epoch->epoch == 9 ? SAMPLES : index[5];
    return epoch->epoch == 8 ? TUTTI_E_IO : TUTTI_OK;
}

static const tutti_sample_order_v1 given_table = {
    .struct_size = sizeof given_table, .places = given_places, .order = given_order};

/* As `made`, with the order above in the place of the host's; 3 batches an epoch. */
static loader *made_ordered(uint32_t workers)
{
    loader *l = made(workers, true, false, 3);
    l->orders.table = &given_table;
    l->orders.places = PLACES;
    return l;
}

START_TEST(a_dataset_gives_its_order)
{
    static float images[BATCH * PIXELS];
    int32_t labels[BATCH], in_order[BATCH];
    int64_t order[BATCH], n;
    tutti_error err = TUTTI_ERROR_INIT;
    loader *l = made_ordered(4), *m = made(1, false, false, -1);
    for (int k = 0; k < 3 * 4; k++) { /* three epochs of 3 batches and an end */
        n = next(l, images, labels);
        ck_assert_int_eq(n, k % 4 == 3 ? 0 : k % 4 == 2 ? 4 : BATCH);
        for (int64_t row = 0; row < n; row++) {
            const int64_t sample = SAMPLES - 1 - (k % 4) * BATCH - row - k / 4;
            ck_assert_ok(loader_seek(m, 0, sample / BATCH, &err), err);
            (void)next(m, images, in_order);
            ck_assert_int_eq(labels[row], in_order[sample % BATCH]);
        }
    }
    ck_assert_ok(loader_order(l, 1, 2, order, &n, &err), err);
    ck_assert_int_eq(n, 4);
    ck_assert_int_eq(order[3], SAMPLES - 1 - 19 - 1);
    loader_destroy(l);
    loader_destroy(m);
}
END_TEST

START_TEST(classes_are_balanced)
{
    enum { DRAWN = 40000 };
    static const run_sampler by_class = {.kind = RUN_SAMPLER_CLASSES, .samples = DRAWN};
    static float images[BATCH * PIXELS];
    int32_t label[SAMPLES + BATCH];
    int64_t order[BATCH], n, there[10] = {0}, drawn[10] = {0}, uneven = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    loader *m = made(1, false, false, -1), *l;
    for (int64_t at = 0; (n = next(m, images, label + at)) > 0; at += n) {
    }
    loader_options options = *loader_settings(m);
    options.sampler = &by_class;
    options.shuffle = true;
    ck_assert_ok(loader_create(&options, &l, &err), err);
    ck_assert_int_eq(loader_batches(l), DRAWN / BATCH);
    for (int64_t k = 0; k < DRAWN / BATCH; k++) {
        ck_assert_ok(loader_order(l, 2, k, order, &n, &err), err);
        for (int64_t row = 0; row < n; row++)
            drawn[label[order[row]]]++;
    }
    for (int k = 0; k < SAMPLES; k++)
        there[label[k]]++;
    for (int k = 0; k < 10; k++) { /* five standard deviations; 60 each */
        uneven += llabs(there[k] * DRAWN / SAMPLES - DRAWN / 10) > 300;
        ck_assert_int_le(llabs(drawn[k] - DRAWN / 10), 300);
    }
    ck_assert_int_gt(uneven, 0);
    loader_destroy(l);
    loader_destroy(m);
}
END_TEST

START_TEST(an_order_is_asked_for_once_an_epoch)
{
    int64_t order[BATCH], n;
    tutti_error err = TUTTI_ERROR_INIT;
    epoch_order held;
    loader *l = made_ordered(1);
    asked = 0;
    ck_assert_ok(epoch_order_acquire(&l->orders, 0, &held, &err), err);
    for (int64_t epoch = 0; epoch < 6; epoch++)
        for (int64_t batch = 0; batch < 3; batch++)
            ck_assert_ok(loader_order(l, epoch, batch, order, &n, &err), err);
    ck_assert_int_eq(asked, 6);
    ck_assert_int_eq(epoch_order_at(&held, 19), 30); /* of an epoch long past */
    epoch_order_release(&l->orders, &held);
    ck_assert_ok(loader_order(l, 5, 0, order, &n, &err), err);
    ck_assert_int_eq(asked, 6);
    ck_assert_ok(loader_order(l, 0, 0, order, &n, &err), err);
    ck_assert_int_eq(asked, 7);
    loader_destroy(l);
}
END_TEST

START_TEST(a_wrong_order_is_refused)
{
    static float images[BATCH * PIXELS];
    int32_t labels[BATCH];
    int64_t order[BATCH], n;
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    uint32_t ncolumns;
    tutti_error err = TUTTI_ERROR_INIT;
    loader *l = made_ordered(2);
    ck_assert_int_eq(loader_order(l, 9, 0, order, &n, &err), TUTTI_E_RANGE);
    ck_assert_error(
        err, TUTTI_E_RANGE,
        "dataset glyphs: its order of epoch 9 has sample 50 at place 5, there are 50 samples");
    tutti_error none = TUTTI_ERROR_INIT;
    ck_assert_ok(loader_seek(l, 7, 0, &none), none);
    for (int k = 0; k < 3; k++)
        ck_assert_int_gt(next(l, images, labels), 0);
    ck_assert_ok(loader_next(l, columns, &ncolumns, &n, &none), none); /* the end */
    ck_assert_int_eq(loader_next(l, columns, &ncolumns, &n, &none), TUTTI_E_IO);
    ck_assert_error(none, TUTTI_E_IO,
                    "dataset glyphs: its order of epoch 8 fails and gives no reason");
    loader_destroy(l);
}
END_TEST

/* ---- lanes ---- */

static int64_t heard[SAMPLES], nheard;

static void hear(void *self, const int64_t *samples, uint64_t count)
{
    (void)self;
    ck_assert_uint_le(count, SAMPLES);
    memcpy(heard, samples, count * sizeof *samples);
    nheard = (int64_t)count;
}

static const tutti_sample_groups_v1 deaf_table = {.struct_size = sizeof deaf_table};
static const tutti_sample_groups_v1 hearing_table = {.struct_size = sizeof hearing_table,
                                                     .expect = hear};

/* Ten groups of 5 samples on two lanes, in slots of 4. */
static loader *made_with_lanes(uint32_t workers, const tutti_sample_groups_v1 *table)
{
    loader *l = made(workers, true, false, -1);
    int64_t *first = malloc(11 * sizeof *first);
    ck_assert_ptr_nonnull(first);
    for (int64_t g = 0; g <= 10; g++)
        first[g] = 5 * g;
    l->orders.lanes = (epoch_lanes){.dataset = glyphs,
                                    .table = table,
                                    .first = first,
                                    .groups = 10,
                                    .batch_size = BATCH,
                                    .slot_size = 4,
                                    .settings = {2, 2}};
    return l;
}

START_TEST(lanes_make_the_same_batches_and_their_samples_are_told)
{
    static float one[BATCH * PIXELS], many[BATCH * PIXELS];
    int32_t a[BATCH], b[BATCH];
    int64_t order[BATCH], n, told = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    loader *l = made_with_lanes(1, &deaf_table), *m = made_with_lanes(4, &deaf_table);
    for (int k = 0; k < 2 * 8; k++) {
        n = next(l, one, a);
        ck_assert_int_eq(next(m, many, b), n);
        ck_assert_mem_eq(one, many, (size_t)n * PIXELS * sizeof *one);
    }
    loader_destroy(m);
    m = made_with_lanes(1, &hearing_table);
    loader_choose_rows(m, some_rows, &plugins);
    ck_assert_ok(loader_seek(m, 5, 3, &err), err); /* within an epoch: all of it is told */
    (void)next(m, many, b);
    loader_choose_rows(m, NULL, NULL); /* stops the workers */
    for (int64_t batch = 0; batch < 7; batch++) {
        ck_assert_ok(loader_order(l, 5, batch, order, &n, &err), err);
        for (int64_t row = 0; row < n; row++)
            if (wants(batch, n, row))
                ck_assert_int_eq(heard[told++], order[row]);
    }
    ck_assert_int_gt(told, 0);
    ck_assert_int_eq(told, nheard);
    loader_destroy(l);
    loader_destroy(m);
}
END_TEST

/* ---- failures without a reason ---- */

static tutti_status silent_read(void *self, int64_t index, tutti_tensor *columns,
                                const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    (void)self, (void)index, (void)columns, (void)capacity, (void)ncolumns, (void)err;
    return TUTTI_E_IO;
}

static int32_t silent_apply(void *self, const tutti_sample *sample, uint32_t column,
                            const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    (void)self, (void)sample, (void)column, (void)in, (void)out, (void)err;
    return TUTTI_E_SHAPE;
}

START_TEST(a_failure_without_a_reason_is_one)
{
    const tutti_dataset_v1 reader = {.struct_size = sizeof reader, .read = silent_read};
    const tutti_transform_v1 changer = {.struct_size = sizeof changer, .apply = silent_apply};
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    uint32_t ncolumns;
    int64_t n, order[BATCH];
    char want[128];
    for (int k = 0; k < 2; k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        loader *l = made(1, true, false, -1);
        if (k == 0)
            l->dataset = &reader;
        else
            l->tables[0] = &changer;
        ck_assert_ok(loader_order(l, 0, 0, order, &n, &err), err);
        ck_assert_int_lt(loader_next(l, columns, &ncolumns, &n, &err), 0);
        (void)snprintf(
            want, sizeof want, "sample %lld: %s without saying why", (long long)order[0],
            k ? "transform random_crop returned E_SHAPE" : "dataset glyphs returned E_IO");
        ck_assert_str_eq(err.text, want);
        loader_destroy(l);
    }
}
END_TEST

START_TEST(seeking_equals_going_there)
{
    static float there[BATCH * PIXELS], sought[BATCH * PIXELS];
    int32_t a[BATCH], b[BATCH];
    tutti_error err = TUTTI_ERROR_INIT;
    loader *l = made(2, true, true, -1), *m = made(3, true, true, -1);
    ck_assert_int_eq(loader_batches(l), 6);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        for (int64_t batch = 0; batch < 6; batch++) {
            ck_assert_int_eq(next(l, there, a), BATCH);
            ck_assert_ok(loader_seek(m, epoch, batch, &err), err);
            ck_assert_int_eq(next(m, sought, b), BATCH);
            ck_assert_mem_eq(there, sought, sizeof there);
        }
        ck_assert_int_eq(next(l, there, a), 0);
    }
    ck_assert_ok(loader_seek(m, 1, 6, &err), err); /* the end of an epoch */
    ck_assert_int_eq(next(m, sought, b), 0);
    loader_destroy(l);
    loader_destroy(m);
}
END_TEST

START_TEST(an_epoch_is_a_permutation_and_epochs_differ)
{
    static float images[BATCH * PIXELS];
    int32_t labels[BATCH], plain[SAMPLES], mixed[2][SAMPLES];
    int counts[3][10] = {{0}};
    loader *l = made(2, false, false, -1), *m = made(2, true, false, -1);
    for (int k = 0, at = 0; k < 7; k++) {
        const int64_t n = next(l, images, labels);
        memcpy(plain + at, labels, (size_t)n * sizeof *labels);
        at += (int)n;
    }
    for (int e = 0; e < 2; e++) {
        for (int k = 0, at = 0; k < 7; k++) {
            const int64_t n = next(m, images, labels);
            memcpy(mixed[e] + at, labels, (size_t)n * sizeof *labels);
            at += (int)n;
        }
        ck_assert_int_eq(next(m, images, labels), 0);
    }
    for (int k = 0; k < SAMPLES; k++) {
        counts[0][plain[k]]++;
        counts[1][mixed[0][k]]++;
        counts[2][mixed[1][k]]++;
    }
    ck_assert_mem_eq(counts[0], counts[1], sizeof counts[0]);
    ck_assert_mem_eq(counts[0], counts[2], sizeof counts[0]);
    ck_assert_mem_ne(plain, mixed[0], sizeof plain);
    ck_assert_mem_ne(mixed[0], mixed[1], sizeof plain);
    loader_destroy(l);
    loader_destroy(m);
}
END_TEST

START_TEST(an_epoch_may_be_cut)
{
    static float images[BATCH * PIXELS];
    int32_t labels[BATCH];
    loader *l = made(2, true, true, 2);
    ck_assert_int_eq(loader_batches(l), 2);
    for (int k = 0; k < 6; k++)
        ck_assert_int_eq(next(l, images, labels), k % 3 == 2 ? 0 : BATCH);
    loader_destroy(l);
}
END_TEST

START_TEST(no_whole_batch_is_refused)
{
    const loader_options options = {.dataset = glyphs,
                                    .workers = 1,
                                    .prefetch = 1,
                                    .drop_last = true,
                                    .batch_size = SAMPLES + 1,
                                    .subset_num_batches = -1};
    loader *l = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(loader_create(&options, &l, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "dataset glyphs has 50 samples, which is no whole batch of 51");
    ck_assert_ptr_null(l);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loader");
    TCase *t = tcase_create("loader");
    tcase_add_checked_fixture(t, start, end);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, workers_change_nothing);
    tcase_add_test(t, kept_samples_make_the_same_batches);
    tcase_add_test(t, samples_of_many_shapes_are_not_kept);
    tcase_add_test(t, a_part_of_the_rows_is_made);
    tcase_add_test(t, the_order_is_that_of_the_batches);
    tcase_add_test(t, seeking_equals_going_there);
    tcase_add_test(t, an_epoch_is_a_permutation_and_epochs_differ);
    tcase_add_test(t, a_dataset_gives_its_order);
    tcase_add_test(t, classes_are_balanced);
    tcase_add_test(t, an_order_is_asked_for_once_an_epoch);
    tcase_add_test(t, a_wrong_order_is_refused);
    tcase_add_test(t, lanes_make_the_same_batches_and_their_samples_are_told);
    tcase_add_test(t, a_failure_without_a_reason_is_one);
    tcase_add_test(t, an_epoch_may_be_cut);
    tcase_add_test(t, no_whole_batch_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
