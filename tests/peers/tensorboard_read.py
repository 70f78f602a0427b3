#!/usr/bin/env python3
"""tensorboard_read.py - what the real TensorBoard reads from a folder of event files, as JSON.

Run by hand, with tensorboard from PyPI: tensorboard_read.py LOG_DIR.  "scalars" has [step, value] by run and tag,
"texts" [step, text]; "histograms" [step, how many buckets, numbers in them, left end of the first one with some, right
end of the last]; "graphs" how many nodes and names there are, and inputs
that are no node; "hparams" what the plugin HParams shows: each session's settings and metrics.
"""
import json
import sys

from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer as event_multiplexer
from tensorboard.compat.proto import graph_pb2
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.graph import graphs_plugin
from tensorboard.plugins.hparams import backend_context, list_session_groups, get_experiment
from tensorboard.plugins.hparams import api_pb2
from tensorboard.util import tensor_util
from google.protobuf import json_format, text_format


def series(multiplexer, run, tag):
    """[(step, value)] of a tag, a number or a text each."""
    rows = []
    for event in multiplexer.Tensors(run, tag):
        proto = event.tensor_proto
        rows.append([event.step, proto.string_val[0].decode() if proto.string_val else proto.float_val[0]])
    return rows


def shape(multiplexer, run, tag):
    """[(step, buckets, numbers, from, to)] of a histogram, a row each."""
    rows = []
    for event in multiplexer.Tensors(run, tag):
        buckets = tensor_util.make_ndarray(event.tensor_proto)
        some = buckets[buckets[:, 2] > 0]
        rows.append([event.step, len(buckets), float(buckets[:, 2].sum()), float(some[0, 0]), float(some[-1, 1])])
    return rows


def graph(plugin, run):
    """What the plugin Graphs gives the browser, in short."""
    found = graph_pb2.GraphDef()
    text_format.Parse(plugin.graph_impl(RequestContext(), run, None, False, "")[0], found)
    names = {node.name for node in found.node}
    return {"nodes": len(found.node), "names": len(names), "operations": sorted({node.op for node in found.node}),
            "unknown": [i for node in found.node for i in node.input if i.split(":")[0] not in names]}


def main():
    """Reads LOG_DIR and prints."""
    multiplexer = event_multiplexer.EventMultiplexer(tensor_size_guidance={"scalars": 0, "text": 0, "histograms": 0})
    multiplexer.AddRunsFromDirectory(sys.argv[1])
    multiplexer.Reload()
    found = {"scalars": {}, "texts": {}, "histograms": {}, "graphs": {}, "hparams": []}
    for run in multiplexer.Runs():
        for plugin, kind in (("scalars", "scalars"), ("text", "texts")):
            for tag in multiplexer.PluginRunToTagToContent(plugin).get(run, {}):
                found[kind].setdefault(run, {})[tag] = series(multiplexer, run, tag)
        for tag in multiplexer.PluginRunToTagToContent("histograms").get(run, {}):
            found["histograms"].setdefault(run, {})[tag] = shape(multiplexer, run, tag)
    provider = data_provider.MultiplexerDataProvider(multiplexer, sys.argv[1])
    graphs = graphs_plugin.GraphsPlugin(base_plugin.TBContext(data_provider=provider))
    for run, has in graphs.info_impl(RequestContext(), "").items():
        if has["run_graph"]:
            found["graphs"][run] = graph(graphs, run)
    context = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0, slice_size=100,
        allowed_statuses=[api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS, api_pb2.STATUS_RUNNING])
    experiment = get_experiment.Handler(RequestContext(), context, "", api_pb2.GetExperimentRequest()).run()
    for name in experiment.metric_infos:
        request.col_params.add(metric=name.name)
    groups = list_session_groups.Handler(RequestContext(), context, "", request).run()
    for group in groups.session_groups:
        for session in group.sessions:
            found["hparams"].append({
                "name": session.name, "status": session.status,
                "hparams": {k: json_format.MessageToDict(v) for k, v in group.hparams.items()},
                "metrics": {m.name.tag: [m.training_step, m.value] for m in session.metric_values}})
    json.dump(found, sys.stdout, indent=1, sort_keys=True)


if __name__ == "__main__":
    main()
