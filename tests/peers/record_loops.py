#!/usr/bin/env python3
"""record_loops.py [--random SEED COUNT] - what Ignite's engine does with scripts of handlers, data and runs.

Without arguments the scripts of tests/conformance/cases/loop.json get their answers anew, in place.  With --random
so many new scripts are drawn and printed with their answers, for the runner, build/release/conformance FILE; there
Ignite's engine is bent to what docs/differences.md decides, so that every script should pass.
Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has
`pytorch-ignite==0.5.5`."""
# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import logging
import pathlib
import random
import sys
import warnings

from ignite.engine import Engine, Events

warnings.filterwarnings("ignore")
FILE = pathlib.Path(__file__).resolve().parents[1] / "conformance/cases/loop.json"
CODES = {"STARTED": "S", "EPOCH_STARTED": "ES", "EPOCH_COMPLETED": "EC", "GET_BATCH_STARTED": "BS", "GET_BATCH_COMPLETED": "BC",
         "ITERATION_STARTED": "IS", "ITERATION_COMPLETED": "IC", "DATALOADER_STOP_ITERATION": "DS",
         "TERMINATE_SINGLE_EPOCH": "TE", "TERMINATE": "T", "INTERRUPT": "I", "EXCEPTION_RAISED": "X", "COMPLETED": "C"}
KEPT = ("epoch", "iteration", "epoch_length", "max_epochs", "max_iters")
ENDLESS = 2000  # events of one run
FILTERS = ("every", "once", "before", "after")


class Raised(Exception):
    """A handler or the process function failed because the script says so."""


class Endless(BaseException):
    """A script by chance has no end; no handler of errors may hear of it."""


class Traced(Engine):
    """An engine that writes down each event as it fires; a handler for that would change what exceptions do."""

    trace = ()

    def _fire_event(self, event_name, *more, **named):
        if len(self.trace) == ENDLESS:
            raise Endless
        self.trace.append(f"{CODES[event_name.name]}{self.state.epoch}.{self.state.iteration}")
        super()._fire_event(event_name, *more, **named)


class Decided(Traced):
    """Ignite's engine without what docs/differences.md says of it: for scripts by chance, so that only the rest differs."""

    def _fire_event(self, event_name, *more, **named):
        if self.state.max_iters is not None:
            self.state.max_epochs = None
        super()._fire_event(event_name, *more, **named)

    def _handle_exception(self, e):
        if isinstance(e, GeneratorExit):
            raise e  # of an interrupted run that is dropped
        self.failed = True
        super()._handle_exception(e)

    def run(self, *more, **named):
        self.failed = False
        try:
            return super().run(*more, **named)
        finally:
            if self.state.max_iters is not None:
                self.state.max_epochs = None
            if self.failed:
                self._internal_run_generator = None


class Stage:
    """One engine with the handlers of a script, and what was heard in the run under way."""

    def __init__(self, case, kind):
        self.raise_at = (case.get("process") or {}).get("raise_at", [])
        self.engine, self.batches, self.calls = kind(self.process), [], {}
        self.engine.logger.setLevel(logging.CRITICAL + 1)
        for script in case["handlers"]:
            given = {k: script[k] for k in FILTERS if script.get(k) is not None}
            event = Events[script["on"].upper()]
            self.engine.add_event_handler(event(**given) if given else event, self.handler(script))

    def process(self, engine, batch):
        self.batches.append(batch)
        if engine.state.iteration in self.raise_at:
            raise Raised
        return batch

    def handler(self, script):
        count = itertools.count(1)

        def act(*_, **__):
            state, engine, number = self.engine.state, self.engine, next(count)
            self.calls.setdefault(script["id"], []).append(f"{state.epoch}.{state.iteration}")
            if number != script.get("nth", number):
                return
            match script.get("do", "record"):
                case "terminate":
                    engine.terminate(skip_completed=script.get("skip", False))
                case "terminate_epoch":
                    engine.terminate_epoch(skip_epoch_completed=script.get("skip", False))
                case "interrupt":
                    engine.interrupt()
                case "raise":
                    raise Raised

        return act

    def run(self, script):
        self.engine.trace, self.batches, self.calls = [], [], {}
        for key, value in script.get("set", {}).items():
            setattr(self.engine.state, key, value)
        limits = {k: script[k] for k in ("max_epochs", "max_iters", "epoch_length") if script.get(k) is not None}
        error = None
        try:
            self.engine.run(data(script.get("data")), **limits)
        except (Endless, ZeroDivisionError):  # Ignite divides by the length of data that is used up
            return None
        except Raised:
            error = "handler"
        except (ValueError, TypeError):
            error = "invalid_argument"
        except RuntimeError:
            error = "runtime"
        return {"trace": " ".join(self.engine.trace), "error": error, "batches": self.batches,
                "calls": dict(sorted(self.calls.items())), "state": {k: getattr(self.engine.state, k) for k in KEPT}}


def data(spec):
    match spec:
        case {"list": n}:
            return list(range(n))
        case {"iterator": n}:
            return iter(range(n))
        case {"infinite": True}:
            return (k for k in itertools.count())
    return None


def answers(case, kind):
    try:
        stage = Stage(case, kind)
    except (ValueError, TypeError):
        return [{"error": "invalid_argument"}]
    return [stage.run(r) for r in case["runs"]]


# ---- scripts by chance ----

def drawn_handler(r, name):
    script = {"id": name, "on": r.choice([*CODES]).lower()}
    counted = script["on"] not in ("terminate", "interrupt", "exception_raised", "dataloader_stop_iteration")
    kind = r.choice(["plain", "plain", "every", "once", "window"]) if counted else "plain"
    if kind == "every":
        script["every"] = r.randint(1, 5)
    elif kind == "once":
        script["once"] = r.randint(1, 8) if r.random() < 0.5 else sorted(r.sample(range(1, 12), 2))
    elif kind == "window":
        script |= {"after": r.randint(0, 4), "before": r.randint(2, 12)}
    if r.random() < 0.2:
        script |= {"do": r.choice(["terminate", "terminate_epoch", "interrupt", "raise"]), "nth": r.randint(1, 4)}
        if script["do"].startswith("terminate") and r.random() < 0.4:
            script["skip"] = True
    return script


def drawn_run(r):
    kind = r.choice(["list", "list", "iterator", "infinite", "none"])
    run = {"data": {"infinite": True} if kind == "infinite" else None if kind == "none" else {kind: r.randint(1, 6)}}
    if r.random() < 0.15:
        run["max_iters"] = r.randint(1, 12)
    elif r.random() < 0.8:
        run["max_epochs"] = r.randint(1, 3)
    if kind in ("infinite", "none") or r.random() < 0.3:
        run["epoch_length"] = r.randint(1, 6)
    if r.random() < 0.12:
        run["set"] = {"max_epochs": None, "max_iters": None}
    return run


def drawn(seed, count):
    for k in range(count):
        r = random.Random(f"{seed}/{k}")
        case = {"name": f"random {seed}/{k}", "loop": "ignite",
                "handlers": [drawn_handler(r, f"h{j}") for j in range(r.randint(0, 4))],
                "runs": [drawn_run(r) for _ in range(r.randint(1, 3))]}
        if r.random() < 0.2:
            case["process"] = {"raise_at": [r.randint(1, 6)]}
        yield case


def main():
    chance = sys.argv[1:2] == ["--random"]
    cases = list(drawn(int(sys.argv[2]), int(sys.argv[3]))) if chance else json.loads(FILE.read_text())
    cases = [c | {"expect": answers(c, Decided if chance else Traced)} for c in cases]
    text = json.dumps([c for c in cases if None not in c["expect"]], indent=1) + "\n"
    if chance:
        sys.stdout.write(text)
    else:
        FILE.write_text(text)


main()
