/* files.c - tables as JSON and images as PNG, among the run's artifacts. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables, images */
#include "../common/json_line.h"
#include "../common/picture.h"
#include "mlflow.h"

/* A file among the run's artifacts. */
static tutti_status put_file(mlflow *m, const char *path, const char *media, const void *data,
                             size_t size, tutti_error *err)
{
    text t = {0};
    if (!text_begin(&t))
        return fail_memory(err);
    (void)fprintf(t.out, "%c%s%c%s%c", TRACKING_FILE, path, '\0', media, '\0');
    (void)fwrite(data, 1, size, t.out);
    return text_put(&t, m->outbox, err);
}

tutti_status mlflow_table(void *self, const tutti_table *table, uint64_t step, tutti_error *err)
{
    mlflow *m = self;
    text json = {0};
    char path[512];
    (void)step;
    tutti_status s = mlflow_begin(m, false, err);
    if (s || !text_begin(&json))
        return s ? s : fail_memory(err);
    json_line_split(json.out, table);
    const bool whole = fclose(json.out) == 0;
    json.out = NULL;
    (void)snprintf(path, sizeof path, "%s.json", table->name);
    s = whole ? put_file(m, path, "application/json", json.data, json.size, err)
              : fail_memory(err);
    text_free(&json);
    return s;
}

/* Takes the picture. */
static tutti_status put_picture(mlflow *m, const char *path, picture *p, tutti_error *err)
{
    const tutti_status s = put_file(m, path, "image/png", p->png, p->size, err);
    free(p->png);
    return s;
}

/* A file for each image, one for all of each mask. */
tutti_status mlflow_images(void *self, const tutti_images *images, uint64_t step,
                           tutti_error *err)
{
    mlflow *m = self;
    picture p;
    char path[512];
    tutti_status s = mlflow_begin(m, false, err);
    for (int64_t k = 0; k < images->pixels->desc.dim[0] && !s; k++) {
        (void)snprintf(path, sizeof path, "images/%s_%lld/step_%llu.png", images->name,
                       (long long)k, (unsigned long long)step);
        s = picture_one("mlflow", images, k, &p, err);
        s = s ? s : put_picture(m, path, &p, err);
    }
    for (uint32_t k = 0; k < images->nmasks && !s; k++) {
        (void)snprintf(path, sizeof path, "images/%s_%s/step_%llu.png", images->name,
                       images->masks[k].name, (unsigned long long)step);
        s = picture_mask("mlflow", images, k, &p, err);
        s = s ? s : put_picture(m, path, &p, err);
    }
    return s;
}
