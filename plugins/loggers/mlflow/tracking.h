/* tracking.h - a run on an MLflow tracking server: found or made, fed, ended, by the server's REST calls. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLFLOW_TRACKING_H
#define MLFLOW_TRACKING_H

#include "../common/http.h"

/* What waits in the outbox begins with one of these; JSON follows. */
enum {
    TRACKING_BEGIN =
        'B', /* {"experiment", "resume", "run": what runs/create gets but for experiment_id} */
    TRACKING_LOG = 'L', /* what runs/log-batch gets, behind its run_id: "metrics": [...]} */
    TRACKING_END = 'E', /* what runs/update gets, behind its run_id: "status": ...} */
    TRACKING_FILE =
        'F' /* no JSON: a path among the run's artifacts, a zero, a media type, a zero, the bytes */
};

typedef struct tracking {
    http *http;
    outbox *outbox;
    char *url;             /* of the server, without a slash at its end */
    char token[512];       /* "Authorization: Bearer ..."; "": none */
    char run_id[64];       /* "": none yet */
    char files[1024];      /* address of its artifacts; "": not asked for yet */
    struct json_t *tables; /* of the run, as its tag mlflow.loggedArtifacts has them */
    char id_path[800];     /* file in the run's folder that keeps run_id for later processes */
} tracking;

/* Sends one record.  Errors: those of outbox_config.send. */
void tracking_free(tracking *t); /* what it has asked for */
TUTTI_NODISCARD tutti_status tracking_send(tracking *t, const outbox_record *record,
                                           tutti_error *err);

#endif
