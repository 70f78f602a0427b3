/* compiled_graph.h - a graph of a net with the program that runs it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_COMPILED_GRAPH_H
#define HOST_GRAPH_NET_COMPILED_GRAPH_H

#include "graph/net/net.h"
#include "graph/program/program.h"

/* Zero to begin with, and after fini. */
typedef struct compiled_graph {
    const tutti_device *device; /* the net's */
    graph *g;
    program *program; /* NULL: not compiled */
    void *arena;      /* of its own; NULL: who runs it lends one */
} compiled_graph;

/* An empty graph that traces n's tree.  `what` is for errors: "a plan".  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status compiled_graph_begin(net *n, int32_t mode, const char *what,
                                                  compiled_graph *c, tutti_error *err);
/* Makes its program.  Of *spec the graph, the weights, threads, autotuner and device are filled in
 * here. */
TUTTI_NODISCARD tutti_status compiled_graph_compile(const net *n, compiled_graph *c,
                                                    program_spec *spec, tutti_error *err);
/* Takes an arena of its own, for who runs while plans hold theirs.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status compiled_graph_take_arena(compiled_graph *c, const char *what,
                                                       tutti_error *err);
/* Its own arena, and external places 0 to n - 1. */
void compiled_graph_bind(compiled_graph *c, const void *const *places, uint32_t n);
/* Runs a segment, gathered with others where the net does so.  [step] */
TUTTI_NODISCARD tutti_status compiled_graph_run(const net *n, compiled_graph *c,
                                                int32_t segment, const tutti_step *step,
                                                tutti_error *err);
void compiled_graph_fini(compiled_graph *c);

#endif
