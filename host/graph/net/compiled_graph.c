/* compiled_graph.c - a graph of a net with the program that runs it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/compiled_graph.h"
#include "graph/net/net_internal.h"

tutti_status compiled_graph_begin(net *n, int32_t mode, const char *what, compiled_graph *c,
                                  tutti_error *err)
{
    *c = (compiled_graph){.device = n->options.device, .g = net_graph(n, mode)};
    return c->g ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for %s", what);
}

tutti_status compiled_graph_compile(const net *n, compiled_graph *c, program_spec *spec,
                                    tutti_error *err)
{
    spec->g = c->g;
    spec->weights = n->tree.addresses;
    spec->threads = n->options.threads;
    spec->autotuner = n->autotuner;
    spec->device = n->options.device;
    spec->captures = n->captures;
    return program_create(spec, &c->program, err);
}

tutti_status compiled_graph_take_arena(compiled_graph *c, const char *what, tutti_error *err)
{
    c->arena = device_alloc(c->device, program_bytes(c->program));
    return c->arena ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for %s", what);
}

void compiled_graph_bind(compiled_graph *c, const void *const *places, uint32_t n)
{
    program_set_arena(c->program, c->arena);
    for (uint32_t k = 0; k < n; k++)
        program_set_external(c->program, k, places[k]);
}

tutti_status compiled_graph_run(const net *n, compiled_graph *c, int32_t segment,
                                const tutti_step *step, tutti_error *err)
{
    program_observe(c->program, n->observer);
    return n->merging ? program_run_uncaptured(c->program, segment, step, err)
                      : program_run(c->program, segment, step, err);
}

void compiled_graph_fini(compiled_graph *c)
{
    program_destroy(c->program);
    graph_destroy(c->g);
    device_free(c->device, c->arena);
    *c = (compiled_graph){.g = NULL};
}
