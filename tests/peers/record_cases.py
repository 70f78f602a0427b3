#!/usr/bin/env python3
"""record_cases.py - what Composer does in the cases of tests/conformance/cases: times, intervals, schedules, order, events.

Each case that has no answer gets one, in place; an answer that Composer no longer gives, and none of DECIDED, is told,
and the exit status is 1.  Run by hand, never by a test, with the Python of a virtual environment outside of the tree
that has `mosaicml==0.32.1`."""
# SPDX-License-Identifier: Apache-2.0
import json
import logging
import operator
import pathlib
import sys
import types
import warnings

import composer
import torch
from composer import optim
from composer.core import Algorithm, Callback, Engine, Event, Evaluator, State, Time, Timestamp, TimeUnit
from composer.loggers import Logger, LoggerDestination
from composer.models import ComposerClassifier
from composer.utils.misc import create_interval_scheduler

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
CASES = pathlib.Path(__file__).resolve().parents[1] / "conformance/cases"
FILES = ("time", "interval", "schedule", "dispatch", "engine", "event_counts", "event_sequences")
DECIDED = {  # answers that differ on purpose, by their reason in docs/differences.md
    "", "3", "3m5", "nandur", "infdur",  # times that are errors here
}
HELD_ORDER = {"selective_backprop", "low_precision_layernorm"}  # on every event
OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": operator.mod,
              "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}


# ---- times ----

def operand(x):
    if isinstance(x, str):
        try:
            return float(x) if "." in x else int(x)
        except ValueError:
            return Time.from_timestring(x)
    return x


def time(case):
    if "parse" in case:
        try:
            t = Time.from_timestring(case["parse"])
            return {"value": t.value, "unit": t.unit.value}
        except TypeError:
            return {"error": "not_integral"}
        except (ValueError, AssertionError, OverflowError):
            return {"error": "bad_string"}
    a, sign, b = case["op"]
    a, b = operand(a), operand(b)
    unit = next(t.unit for t in (a, b) if isinstance(t, Time))
    if sign in "+-%<>==!=":  # Composer takes a bare number for the other's unit where it is given one
        a, b = (t if isinstance(t, Time) else Time(t, unit) for t in (a, b))
    try:
        r = OPERATIONS[sign](a, b)
    except RuntimeError:
        return {"error": "unit_mismatch"}
    return {"result": r if isinstance(r, bool) else f"{r.value:g}{r.unit.value}"}


# ---- intervals ----

def due(case, checkpoint):
    """What create_interval_scheduler() says along one fit."""
    per_epoch, size = case["batches_per_epoch"], case["samples_per_batch"]
    asks = create_interval_scheduler(case["interval"], True, checkpoint, None if checkpoint else {
        Event.BATCH_END, Event.EPOCH_END, Event.FIT_END})
    most = Time.from_timestring(case["max_duration"])
    state = types.SimpleNamespace(timestamp=Timestamp(), previous_timestamp=None, dataloader_len=Time(per_epoch, "ba"),
                                  max_duration=most)
    state.get_elapsed_duration = lambda: Time(state.timestamp.get(most.unit).value / most.value, TimeUnit.DURATION)
    found = []

    def ask(event, name):
        # A fit's last evaluation comes at its end, where none has come for the latest batch.
        last = found and found[-1].endswith(f"@{state.timestamp.batch.value}")
        over = not checkpoint and state.get_elapsed_duration().value >= 1
        if event == Event.FIT_END and last:
            return
        if asks(state, event) and (checkpoint or not over or event == Event.FIT_END or regular(event)):
            found.append(f"{name}@{state.timestamp.batch.value}")

    regular = lambda event: create_interval_scheduler(case["interval"], False, checkpoint)(state, event)
    while state.get_elapsed_duration().value < 1:
        for _ in range(per_epoch):
            if state.get_elapsed_duration().value >= 1:
                break
            state.previous_timestamp, state.timestamp = state.timestamp, state.timestamp.to_next_batch(size)
            ask(Event.BATCH_CHECKPOINT if checkpoint else Event.BATCH_END, "ba")
        if state.timestamp.batch_in_epoch.value < per_epoch:
            break
        state.previous_timestamp, state.timestamp = state.timestamp, state.timestamp.to_next_epoch()
        ask(Event.EPOCH_CHECKPOINT if checkpoint else Event.EPOCH_END, "ep")
    if not checkpoint:
        ask(Event.FIT_END, "fit_end")
    return " ".join(found)


# ---- schedules ----

def schedule(case):
    settings = dict(case["schedule"])
    name = settings.pop("name")
    words = {"multistep": "MultiStep", "multistep_with_warmup": "MultiStepWithWarmup"}
    kind = getattr(optim, words.get(name) or "".join(w.capitalize() for w in name.split("_")), None)
    make = kind or getattr(optim, (words.get(name) or "".join(w.capitalize() for w in name.split("_"))) + "Scheduler")
    ratio, per_epoch = case["scale_schedule_ratio"], case["batches_per_epoch"]
    most = Time(int(case["max_duration_epochs"] * ratio), "ep")
    told = []
    for point in case["expect"]:
        batch = point["batch"]
        state = types.SimpleNamespace(dataloader_len=Time(per_epoch, "ba"), max_duration=most, timestamp=Timestamp(
            batch=batch, epoch=batch // per_epoch, batch_in_epoch=batch % per_epoch))
        alpha = make(**settings)(state, ratio)
        near = abs(alpha - point["alpha"]) <= case["tolerance"]
        told.append({"batch": batch, "alpha": point["alpha"] if near else alpha})
    return told


# ---- engines ----

class Model(ComposerClassifier):
    def __init__(self):
        super().__init__(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)), num_classes=2)


def loader(count, size):
    data = torch.utils.data.TensorDataset(torch.zeros(count, 4), torch.zeros(count).long())
    return torch.utils.data.DataLoader(data, size)


def named_kinds(case, said):
    """Algorithms, callbacks and loggers of a case, which say when they run."""
    from composer.algorithms import LowPrecisionLayerNorm, SelectiveBackprop
    rules = {"selective_backprop": SelectiveBackprop, "low_precision_layernorm": LowPrecisionLayerNorm}

    def algorithm(name):
        kind = rules.get(name, Algorithm)
        return type(name, (kind,), {"__init__": lambda self: None, "match": lambda self, *_: True, "__repr__": lambda self: name,
                                    "apply": lambda self, *_: said.append(f"algorithm:{name}")})()

    def listener(base, word, name):
        return type(name, (base,), {"run_event": lambda self, *_: said.append(f"{word}:{name}")})()

    return ([algorithm(n) for n in case["algorithms"]], [listener(Callback, "callback", n) for n in case["callbacks"]],
            [listener(LoggerDestination, "logger", n) for n in case["loggers"]])


def dispatch(case):
    said = []
    algorithms, callbacks, loggers = named_kinds(case, said)
    model = Model()
    state = State(model=model, rank_zero_seed=0, run_name="case", device=composer.devices.DeviceCPU(), algorithms=algorithms,
                  callbacks=loggers + callbacks, train_dataloader=loader(4, 2), max_duration="1ep")
    state.set_dataloader(state.train_dataloader, "train")
    engine = Engine(state=state, logger=Logger(state, destinations=loggers))
    engine.run_event(Event[case["event"].upper()])
    Engine._is_engine_running_on_this_thread = False
    engine._is_closed = True
    return {"order": said}


def clock(t):
    return f"{t.epoch.value}.{t.batch.value}.{t.sample.value}.{t.batch_in_epoch.value}"


class Listener(Callback):
    """Says each event with its clock: epochs, batches, samples, batches of the epoch; evaluations with theirs."""

    def __init__(self):
        self.said = []

    def run_event(self, event, state, logger):
        own = event.is_eval and event not in (Event.EVAL_BEFORE_ALL, Event.EVAL_AFTER_ALL)
        of = state.eval_timestamp if own else state.timestamp
        self.said.append((event.value, clock(of)))


def fit(case):
    of, listener, model = case["fit"], Listener(), Model()
    evaluators = [Evaluator(label=f"eval{k}", dataloader=loader(of.get("eval_samples", 16), of.get("eval_batch_size", 4)),
                            metric_names=[], subset_num_batches=of.get("eval_subset_num_batches", -1),
                            eval_interval=of["eval_interval"]) for k in range(of.get("evaluators", 0))]
    trainer = composer.Trainer(
        model=model, train_dataloader=loader(of.get("samples", 16), of.get("batch_size", 4)), device="cpu",
        train_subset_num_batches=of.get("train_subset_num_batches", -1), eval_dataloader=evaluators or None,
        max_duration=of.get("max_duration", "1ep"), optimizers=torch.optim.SGD(model.parameters(), lr=0.01),
        device_train_microbatch_size=of.get("microbatch_size"), callbacks=[listener], progress_bar=False, loggers=[])
    trainer.fit()
    said = list(listener.said)
    trainer.close()
    return said


def events(case):
    said = fit(case)
    if "sequence" in case.get("expect", {"sequence": 0}):
        return {"sequence": " ".join(f"{name}:{at}" for name, at in said)}
    return {name: sum(name == n for n, _ in said) for name in case["expect"]}


ANSWERS = {"time": time, "interval": lambda c: {"checkpoint": due(c, True), "eval": due(c, False)}, "schedule": schedule,
           "dispatch": dispatch, "event_counts": events}


def decided(case):
    if case["kind"] == "time":
        return case.get("parse") in DECIDED
    return case["kind"] == "dispatch" and HELD_ORDER & set(case["algorithms"])


def main():
    wrong = 0
    for name in FILES:
        file = CASES / f"{name}.json"
        cases, fresh = json.loads(file.read_text()), False
        for case in cases:
            said = ANSWERS[case["kind"]](case)
            fresh = fresh or "expect" not in case
            case.setdefault("expect", said)
            if said != case["expect"] and not decided(case):
                wrong += 1
                print(f"{name}.json: {json.dumps({k: v for k, v in case.items()})}\n  composer: {json.dumps(said)}")
        if fresh:
            file.write_text(json.dumps(cases, indent=1) + "\n")
        print(f"{name}.json: {len(cases)} cases")
    return wrong > 0


sys.exit(main())
