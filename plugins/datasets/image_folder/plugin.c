/* plugin.c - image_folder: a folder of images for each class. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.class_names/1, tutti.stored/1 */
#define TUTTI_MIN_MINOR 0 /* which an older host does not ask for */
#include "list.h"

#include "../common/pictures.h"
#include "../common/whole_file.h"

#include "tutti/dataset.h"
#include "tutti/tutti.h"

enum { LABELS_FOLDERS, LABELS_NONE }; /* of the enum labels */

typedef struct image_folder {
    image_list list;
    pictures pictures;
} image_folder;

/* ---- the dataset ---- */

static tutti_status image_folder_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const image_folder *f = self;
    (void)err;
    ret->samples = f->list.count;
    ret->ncolumns = 2;
    ret->columns[0] = (tutti_column){"input", f->pictures.desc, 0};
    ret->columns[1] = (tutti_column){"target", {{0}, 0, TUTTI_I32}, f->list.classes};
    return TUTTI_OK;
}

static tutti_status image_folder_read(void *self, int64_t index, tutti_tensor *columns,
                                      const uint64_t *capacity, uint32_t ncolumns,
                                      tutti_error *err)
{
    const image_folder *f = self;
    char why[IMAGE_WHY_SIZE];
    void *data = NULL;
    uint64_t size = 0;
    if (index < 0 || index >= f->list.count || ncolumns != 2)
        return tutti_fail(err, TUTTI_E_RANGE, "image_folder: sample %lld, there are %lld",
                          (long long)index, (long long)f->list.count);
    columns[1].desc = (tutti_desc){{0}, 0, TUTTI_I32};
    if (capacity[1] < sizeof(int32_t))
        return tutti_fail(err, TUTTI_E_RANGE, "%s: its class does not fit into %llu bytes",
                          f->list.paths[index], (unsigned long long)capacity[1]);
    memcpy(columns[1].data, &f->list.labels[index], sizeof(int32_t));
    tutti_status s = whole_file(f->list.paths[index], &data, &size, err);
    if (s)
        return s;
    s = pictures_read(&f->pictures, data, size, &columns[0], capacity[0], why);
    free(data);
    return s ? tutti_fail(err, s, "%s: %s", f->list.paths[index], why) : TUTTI_OK;
}

static tutti_status image_folder_probe(image_folder *f, tutti_error *err)
{
    char why[IMAGE_WHY_SIZE];
    for (int64_t k = 0; k < PICTURES_PROBES; k++) {
        const char *path = f->list.paths[f->list.count * k / PICTURES_PROBES];
        void *data = NULL;
        uint64_t size = 0;
        tutti_status s = whole_file(path, &data, &size, err);
        if (s)
            return s;
        s = pictures_probe(&f->pictures, data, size, why);
        free(data);
        if (s)
            return tutti_fail(err, s, "%s: %s", path, why);
    }
    return TUTTI_OK;
}

static tutti_status image_folder_close(void *self, tutti_error *err)
{
    image_folder *f = self;
    (void)err;
    image_list_free(&f->list);
    pictures_close(&f->pictures);
    free(f);
    return TUTTI_OK;
}

static tutti_status image_folder_list(image_folder *f, const tutti_params *params,
                                      tutti_error *err)
{
    const char *path = tutti_param_str(params, "path");
    const char *class_file = tutti_param_str(params, "class_file");
    if (tutti_param_i64(params, "labels") != LABELS_NONE)
        return image_list_make(&f->list, path, class_file, err);
    if (class_file)
        return tutti_fail(err, TUTTI_E_ARG,
                          "image_folder: class_file is given and labels is none, want one of "
                          "them");
    return image_list_make_unlabelled(&f->list, path, err);
}

static tutti_status image_folder_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    (void)host;
    image_folder *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "image_folder: no memory");
    tutti_status s = pictures_open(&f->pictures, params, err);
    if (s == TUTTI_OK)
        s = image_folder_list(f, params, err);
    if (s == TUTTI_OK)
        s = image_folder_probe(f, err);
    if (s)
        (void)image_folder_close(f, NULL);
    else
        *ret_self = f;
    return s;
}

static const char *image_folder_class_name(void *self, const char *column, int64_t index)
{
    const image_list *l = &((const image_folder *)self)->list;
    return !column || strcmp(column, "target") == 0 ? label_names_text(&l->names, index) : NULL;
}

static tutti_status image_folder_file(void *self, int64_t index, uint32_t column, void *to,
                                      uint64_t capacity, uint64_t *ret_size, tutti_error *err)
{
    const image_folder *f = self;
    char why[IMAGE_WHY_SIZE];
    void *data = NULL;
    uint64_t size = 0;
    *ret_size = 0;
    if (index < 0 || index >= f->list.count || column != 0)
        return TUTTI_OK;
    tutti_status s = whole_file(f->list.paths[index], &data, &size, err);
    if (s == TUTTI_OK &&
        (s = pictures_copy(&f->pictures, data, size, to, capacity, ret_size, why)))
        s = tutti_fail(err, s, "%s: %s", f->list.paths[index], why);
    free(data);
    return s;
}

static const void *image_folder_query(void *self, const char *id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = image_folder_info, .read = image_folder_read};
    static const tutti_class_names_v1 names = {.struct_size = sizeof names,
                                               .name = image_folder_class_name};
    static const tutti_stored_v1 stored = {.struct_size = sizeof stored,
                                           .file = image_folder_file};
    (void)self;
    if (strcmp(id, TUTTI_STORED_V1) == 0)
        return &stored;
    if (strcmp(id, TUTTI_CLASS_NAMES_V1) == 0)
        return &names;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = image_folder_open,
                                  .close = image_folder_close,
                                  .query = image_folder_query};
static const tutti_object object =
    TUTTI_OBJECT_INIT("image_folder", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.image_folder", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
