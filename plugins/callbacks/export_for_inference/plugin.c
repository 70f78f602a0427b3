/* plugin.c - export_for_inference: writes the model for other programs when training ends. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "../callback.h"
#include "tutti/checkpoint.h"
#include "tutti/export.h"
#include "tutti/world.h"

#include <stdio.h>

typedef struct exporter {
    const tutti_checkpoint_v1 *run;
    const tutti_export_v1 *model;
    const char *format; /* borrowed, as the settings are */
    int writes;         /* of several processes the first */
    int own_folder;     /* the run's, which may have to be made */
    char path[1024];
} exporter;

static tutti_status export_for_inference_open(const tutti_host *host,
                                              const tutti_params *params, void **ret_self,
                                              tutti_error *err)
{
    const tutti_checkpoint_v1 *run =
        callback_service(host, "export_for_inference", TUTTI_CHECKPOINT_V1, err);
    const tutti_export_v1 *model =
        run ? callback_service(host, "export_for_inference", TUTTI_EXPORT_V1, err) : NULL;
    if (!model)
        return TUTTI_E_UNSUPPORTED;
    exporter *e = calloc(1, sizeof *e);
    if (!e)
        return tutti_fail(err, TUTTI_E_NOMEM, "export_for_inference: no memory");
    const tutti_world_v1 *world = host->query(host->ctx, TUTTI_WORLD_V1); /* may be missing */
    const char *path = tutti_param_str(params, "save_path");
    e->run = run;
    e->model = model;
    e->format = tutti_param_str(params, "save_format");
    e->writes = !world || world->rank(world->ctx) == 0;
    e->own_folder = !path;
    const int n = path ? snprintf(e->path, sizeof e->path, "%s", path)
                       : snprintf(e->path, sizeof e->path, "%s/%s", run->run_folder(run->ctx),
                                  strcmp(e->format, "onnx") == 0 ? "model.onnx" : "model");
    if (n >= (int)sizeof e->path) {
        free(e);
        return tutti_fail(err, TUTTI_E_ARG, "export_for_inference: save_path is too long");
    }
    *ret_self = e;
    return TUTTI_OK;
}

static tutti_status export_for_inference_event(void *self, const tutti_event *event,
                                               tutti_error *err)
{
    const exporter *e = self;
    const tutti_export what = {
        .struct_size = sizeof what, .format = e->format, .path = e->path};
    (void)event;
    if (!e->writes)
        return TUTTI_OK;
    const tutti_status s =
        e->own_folder ? e->run->claim(e->run->ctx, e->run->run_folder(e->run->ctx), err)
                      : TUTTI_OK;
    return s ? s : e->model->write(e->model->ctx, &what, err);
}

CALLBACK_PLUGIN("export_for_inference", .open = export_for_inference_open,
                .run_event = export_for_inference_event, .close = callback_close);
