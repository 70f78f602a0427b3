/* run_id.h - the file in the run's folder that knows the id of its run in MLflow, for processes to come. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLFLOW_RUN_ID_H
#define MLFLOW_RUN_ID_H

#include "tutti/tutti.h"

#include <stddef.h>

/* "" where there is no such file. */
void run_id_read(const char *path, char *ret_id, size_t room);
TUTTI_NODISCARD tutti_status run_id_write(const char *path, const char *id, tutti_error *err);

#endif
