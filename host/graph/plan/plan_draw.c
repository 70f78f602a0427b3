/* plan_draw.c - a plan as text with its sizes, and as a drawing for Graphviz. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/plan_internal.h"
#include "graph/runtime/host_memory.h"

#include <stdio.h>

static void write_sizes(const plan *p, FILE *file)
{
    char arena[32], all[32], sum[32];
    uint64_t bytes = 0;
    const graph *g = p->model_graph->compiled.g;
    for (uint32_t k = 0; k < graph_nnodes(g); k++) {
        const graph_node *n = graph_node_at(g, k);
        for (uint32_t j = 0; j < n->op->nout && !(n->op->flags & TUTTI_OP_VIEW) && !n->group;
             j++)
            bytes += tutti_nbytes(&graph_value_at(g, n->out + j)->desc);
    }
    (void)fprintf(
        file, "nodes %u, steps %u, arena %s of %s of results, in all %s, %.3f GFLOP\n",
        graph_nnodes(g), program_nsteps(p->model_graph->compiled.program),
        bytes_text(program_bytes(p->model_graph->compiled.program), arena, sizeof arena),
        bytes_text(bytes, sum, sizeof sum), bytes_text(plan_bytes(p), all, sizeof all),
        plan_flops(p) * 1e-9);
}

/* What precision fp32_fast has come to. */
static void write_fast(const plan *p, FILE *file)
{
    uint32_t possible, more = 0;
    uint32_t fast = program_fast_steps(p->model_graph->compiled.program, &possible);
    if (p->loss_graph.compiled.program)
        fast += program_fast_steps(p->loss_graph.compiled.program, &more);
    if (possible + more)
        (void)fprintf(file,
                      "fp32_fast: %u of %u large products as three of bf16, the others in f32, "
                      "which is faster here\n",
                      fast, possible + more);
}

static void write_rematerialized(const plan *p, FILE *file)
{
    const program_rematerialization a =
        program_rematerialized(p->model_graph->compiled.program);
    char saved[32];
    if (a.offered)
        (void)fprintf(
            file,
            "computed again: %u of %u results that could be, which saves %s for %.1f %% "
            "more work\n",
            a.results, a.offered, bytes_text(a.saved, saved, sizeof saved), 100.0 * a.work);
}

void plan_dump(const plan *p, FILE *file)
{
    write_sizes(p, file);
    write_rematerialized(p, file);
    write_fast(p, file);
    graph_dump(p->model_graph->compiled.g, file);
    program_dump(p->model_graph->compiled.program, file);
    if (!p->loss_graph.compiled.program)
        return;
    (void)fprintf(file, "loss\n");
    graph_dump(p->loss_graph.compiled.g, file);
    program_dump(p->loss_graph.compiled.program, file);
}

static void draw_graph(const graph *g, const char *prefix, FILE *file)
{
    static const char *const kinds[] = {"", "input", "weight", "constant"};
    char text[96];
    for (tutti_value v = 1; v < graph_nvalues(g); v++) {
        const graph_value *x = graph_value_at(g, v);
        if (x->kind != VALUE_NODE)
            (void)fprintf(file, "  %sv%u [shape=box, label=\"%s %u\\n%s\"];\n", prefix, v,
                          kinds[x->kind], x->index,
                          tutti_desc_text(&x->desc, text, sizeof text));
    }
    for (uint32_t k = 0; k < graph_nnodes(g); k++) {
        const graph_node *n = graph_node_at(g, k);
        (void)fprintf(file, "  %sn%u [label=\"%s%s%s\"];\n", prefix, k, n->op->name,
                      *n->scope ? "\\n" : "", n->scope);
        for (uint32_t j = 0; j < n->nin; j++) {
            const graph_value *x = graph_value_at(g, n->in[j]);
            const bool made = x->kind == VALUE_NODE;
            (void)fprintf(file, "  %s%c%u -> %sn%u", prefix, made ? 'n' : 'v',
                          made ? x->index : n->in[j], prefix, k);
            if (made)
                (void)fprintf(file, " [label=\"%s\"]",
                              tutti_desc_text(&x->desc, text, sizeof text));
            (void)fprintf(file, ";\n");
        }
    }
}

void plan_draw(const plan *p, FILE *file)
{
    (void)fprintf(file, "digraph plan {\n  rankdir=TB;\n  node [fontname=\"monospace\"];\n");
    draw_graph(p->model_graph->compiled.g, "", file);
    if (p->loss_graph.compiled.g) {
        (void)fprintf(file, "  subgraph cluster_loss {\n  label=\"loss\";\n");
        draw_graph(p->loss_graph.compiled.g, "loss_", file);
        (void)fprintf(file, "  }\n");
    }
    (void)fprintf(file, "}\n");
}
