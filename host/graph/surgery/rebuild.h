/* rebuild.h - modules of other settings, and parametrized weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_SURGERY_REBUILD_H
#define HOST_GRAPH_SURGERY_REBUILD_H

#include "graph/net/net_internal.h"

/* As tutti.module/1 says. */
tutti_status rebuild_module(void *ctx, tutti_module m, const char *kind,
                            const tutti_attr *params, uint32_t nparams, tutti_error *err);
tutti_status rebuild_parametrize(void *ctx, tutti_module m, const char *name, tutti_module by,
                                 tutti_error *err);
tutti_module rebuild_parametrization(void *ctx, tutti_module m, const char *name, uint32_t k);
/* Tells the parametrizations of `w` that it is at `path`. */
tutti_status rebuild_place(const net *n, const weight *w, const char *path, tutti_error *err);

#endif
