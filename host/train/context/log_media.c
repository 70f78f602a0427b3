/* log_media.c - what plugins may log beside numbers: checked, and handed to the loggers that take it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/log_media.h"

#include "base/json.h"
#include "base/released.h"
#include "train/context/run_log_each.h"

#include <stdio.h>
#include <string.h>

/* ---- loggers without the call ---- */

typedef bool media_taken(const tutti_logger_v1 *table);

static bool takes_tables(const tutti_logger_v1 *table)
{
    return TUTTI_HAS(table, tutti_logger_v1, table) && table->table;
}

static bool takes_images(const tutti_logger_v1 *table)
{
    return TUTTI_HAS(table, tutti_logger_v1, images) && table->images;
}

/* Says once which loggers are passed over; a warning where all of them are. */
static void tell_skipped(run_log *l, media_taken *takes, const char *what, bool *told)
{
    char names[256] = "", text[400];
    size_t taking = 0, working = 0;
    for (size_t k = 0; k < l->nloggers && !*told; k++) {
        const tutti_logger_v1 *table = run_log_at_work(l, k);
        const size_t used = strlen(names);
        working += table != NULL;
        taking += table && takes(table);
        if (table && !takes(table))
            (void)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                           instance_name(l->loggers[k]));
    }
    if (*told || (working && taking == working))
        return;
    *told = true;
    if (taking)
        (void)snprintf(text, sizeof text, "%s are logged; they pass by what takes none: %s",
                       what, names);
    else
        (void)snprintf(text, sizeof text, "%s are logged, and no logger of the run takes them",
                       what);
    run_log_message(l, taking ? TUTTI_LOG_INFO : TUTTI_LOG_WARNING, "train", text);
}

/* ---- tables ---- */

static bool is_json(const char *text)
{
    tutti_error none = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    const tutti_status s = json_parse("cell", text, strlen(text), &doc, &none);
    json_free(doc);
    return s == TUTTI_OK;
}

static tutti_status check_table(const tutti_table *t, tutti_error *err)
{
    const tutti_status s = RELEASED_TAKE(tutti_table, t, err);
    if (s)
        return s;
    if (!t->name || !*t->name || !t->ncolumns)
        return tutti_fail(err, TUTTI_E_ARG, "a table %s, want a name and columns",
                          t->name && *t->name ? "has no columns" : "has no name");
    for (uint32_t c = 0; c < t->ncolumns; c++)
        if (!t->columns[c])
            return tutti_fail(err, TUTTI_E_ARG, "column %u of the table %s has no name", c,
                              t->name);
    for (uint64_t k = 0; k < t->nrows * t->ncolumns; k++)
        if (!t->cells[k] || !is_json(t->cells[k]))
            return tutti_fail(
                err, TUTTI_E_ARG,
                "column %s of row %llu of the table %s is %.100s, want a JSON value",
                t->columns[k % t->ncolumns], (unsigned long long)(k / t->ncolumns), t->name,
                t->cells[k] ? t->cells[k] : "not set");
    return TUTTI_OK;
}

tutti_status run_log_table(run_log *l, const tutti_table *given, tutti_error *err)
{
    const tutti_status s = check_table(given, err);
    if (s)
        return s;
    tell_skipped(l, takes_tables, "tables", &l->told_tables);
    if (log_units_take(&l->units,
                       &(log_row){LOG_TABLE, 0, given->name, (uint64_t)l->now->batch}))
        return TUTTI_OK;
    FOR_EACH_LOGGER(l, i, table, "table")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (takes_tables(table) &&
            table->table(instance_self(i), given, (uint64_t)l->now->batch, &e))
            run_log_failed(l, i, &e);
    }
    return TUTTI_OK;
}

/* ---- images ---- */

static tutti_status check_pixels(const tutti_images *images, tutti_error *err)
{
    const tutti_tensor *p = images->pixels;
    tutti_error cause = TUTTI_ERROR_INIT;
    if (tutti_desc_check(&p->desc, 0, &cause))
        return tutti_fail(err, cause.status, "the images %s: %s", images->name, cause.text);
    if (p->device != TUTTI_DEVICE_CPU || !p->data ||
        (p->desc.dtype != TUTTI_U8 && p->desc.dtype != TUTTI_F32))
        return tutti_fail(err, TUTTI_E_ARG,
                          "the images %s are %s%s, want U8 or F32 in memory of the host",
                          images->name, tutti_dtype_name(p->desc.dtype),
                          p->device == TUTTI_DEVICE_CPU ? "" : " of a device");
    const int64_t *dim = p->desc.dim;
    if (p->desc.rank != 4 || tutti_numel(&p->desc) == 0 ||
        (dim[3] != 1 && dim[3] != 3 && dim[3] != 4))
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "the images %s have rank %d, %lld numbers and %lld channels, want "
                          "(N, H, W, C) with 1, 3 or 4 channels",
                          images->name, (int)p->desc.rank, (long long)tutti_numel(&p->desc),
                          (long long)(p->desc.rank > 0 ? dim[p->desc.rank - 1] : 1));
    return TUTTI_OK;
}

static tutti_status check_masks(const tutti_images *images, tutti_error *err)
{
    const int64_t *dim = images->pixels->desc.dim;
    for (uint32_t m = 0; m < images->nmasks; m++) {
        const tutti_image_mask *mask = &images->masks[m];
        if (!mask->name || !*mask->name || !mask->map)
            return tutti_fail(err, TUTTI_E_ARG,
                              "mask %u of the images %s has no name or no map", m,
                              images->name);
        for (int64_t k = 0; k < dim[0] * dim[1] * dim[2]; k++)
            if (mask->map[k] < 0)
                return tutti_fail(err, TUTTI_E_RANGE,
                                  "the mask %s of the images %s has class %d, want at least 0",
                                  mask->name, images->name, (int)mask->map[k]);
    }
    return TUTTI_OK;
}

static tutti_status check_classes(const tutti_images *images, tutti_error *err)
{
    for (int64_t k = 0; k < images->pixels->desc.dim[0]; k++)
        if ((images->predicted && images->predicted[k] < -1) ||
            (images->expected && images->expected[k] < -1))
            return tutti_fail(err, TUTTI_E_RANGE,
                              "image %lld of %s has a class below -1, which means none",
                              (long long)k, images->name);
    return TUTTI_OK;
}

tutti_status run_log_images(run_log *l, const tutti_images *given, tutti_error *err)
{
    tutti_status s = RELEASED_TAKE(tutti_images, given, err);
    if (s)
        return s;
    if (!given->name || !*given->name || !given->pixels)
        return tutti_fail(err, TUTTI_E_ARG, "images have no %s, want a name and pixels",
                          given->pixels ? "name" : "pixels");
    s = check_pixels(given, err);
    if (!s)
        s = check_masks(given, err);
    if (!s)
        s = check_classes(given, err);
    if (s)
        return s;
    tell_skipped(l, takes_images, "images", &l->told_images);
    if (log_units_take(&l->units,
                       &(log_row){LOG_IMAGES, 0, given->name, (uint64_t)l->now->batch}))
        return TUTTI_OK;
    FOR_EACH_LOGGER(l, i, table, "images")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (takes_images(table) &&
            table->images(instance_self(i), given, (uint64_t)l->now->batch, &e))
            run_log_failed(l, i, &e);
    }
    return TUTTI_OK;
}
