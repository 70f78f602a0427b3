/* provider.h - the plugin that fetches addresses of a scheme. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_FETCH_PROVIDER_H
#define HOST_TRAIN_FETCH_PROVIDER_H

#include "train/fetch/fetch.h"
#include "tutti/files.h"

typedef struct provider {
    instance *instance;
    const tutti_files_v1 *files;
    bool owned; /* opened for this alone */
} provider;

/* For the scheme of `address`.  Errors: E_NOTFOUND no plugin has it; those of opening it. */
TUTTI_NODISCARD tutti_status provider_open(const fetch_source *from, const char *address,
                                           provider *ret, tutti_error *err);
void provider_close(provider *p);

#endif
