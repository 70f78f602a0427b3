/* layer_source.c - layers out of the plugin registry. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/net_internal.h"

tutti_status layer_source_open(void *ctx, const char *kind, const tutti_attr *params,
                               uint32_t nparams, layer_impl *ret_impl, tutti_error *err)
{
    const net *n = ctx;
    const object *o;
    tutti_params *settings = NULL;
    instance *i;
    if (!n->options.layers)
        return tutti_fail(err, TUTTI_E_STATE, "%s: this net has no source of layers", kind);
    tutti_status s = registry_find(n->options.layers, TUTTI_KIND_LAYER, kind, &o, err);
    if (s)
        return s;
    s = params_from_attrs(o, params, nparams, &settings, err);
    if (!s)
        s = instance_open(o, kind, settings, n->options.services, n->options.services_ctx, &i,
                          err);
    if (s) {
        params_free(settings);
        return s;
    }
    const tutti_layer_v1 *table = instance_query(i, TUTTI_LAYER_V1);
    if (!table) {
        instance_free(i);
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: the plugin answers no %s", kind,
                          TUTTI_LAYER_V1);
    }
    *ret_impl = (layer_impl){table, instance_self(i), instance_params(i), i};
    return TUTTI_OK;
}
