"""loop_test.py - `tutti run` over ranks, and tutti.ranks/1 in both loops: bits, requests of one rank, failures:
loop_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import signal
import sys
import time

from ranks import World, changed, difference, final, main, write

FIXTURES = os.environ.get("FIXTURES", "")


def plugin(name):
    """Where the fixture of that name is."""
    return ["--plugin-path", os.path.join(FIXTURES, name)]


def engine(**more):
    """The run as an engine file: two epochs of four iterations, an evaluation behind each."""
    run = changed(process="supervised", max_epochs=2)
    del run["max_duration"], run["eval"][0]["interval"]
    run.update(more)
    return run


def bare(**more):
    """An engine file of functions: two epochs of three iterations, no model."""
    run = {"name": "ranks", "process": {"call": "demo.mark"}, "epoch_length": 3, "max_epochs": 2}
    run["distributed"] = changed()["distributed"]
    run.update(more)
    return run


def on(event, call, *args, **more):
    """A handler."""
    return {"on": event, "call": f"ranker.{call}", "args": list(args), **more}


def start(tutti, folder, what, run, size, options=(), command="run"):
    """A world that runs `run` in a folder of its own."""
    where = os.path.join(folder, what.replace(" ", "_"))
    write(where, run)
    return World(tutti, where, size, [*plugin("ranker"), *options], command=command)


def bits(tutti, folder, report):
    """Weights, states, losses and metrics are those of one rank, of a supervised process and of a function that trains."""
    halves = engine(microbatch_size=7, max_epochs=1, optimizer={"name": "adamw", "lr": 0.01})
    halves["distributed"]["sharding"] = "gradients"
    for what, run, sizes in (("supervised", engine(), (2, 3)), ("sharded", halves, (3,)),
                             ("function", engine(process={"call": "looper.train", "args": [1]}), (2,))):
        start(tutti, folder, f"{what} 1", run, 1, plugin("looper")).end()
        for size in sizes:
            world = start(tutti, folder, f"{what} {size}", run, size, plugin("looper"))
            status, out, err = world.end()
            text = f"{status} {err}" if any(status) else difference(os.path.join(folder, f"{what} 1".replace(" ", "_")), world.folder)
            report.check(f"{what}, {size} ranks: the bits of one", not text, text)
            report.check(f"{what}, {size} ranks: the first one speaks", [bool(text) for text in out] == [True] + [False] * (size - 1), f"{out}")
    status, out, err = World(tutti, os.path.join(folder, "supervised_3"), 2, ["--checkpoint", "auto"], command="eval").end()
    report.check("tutti eval takes it over ranks", status == [0, 0] and re.search("^test +accuracy", out[0], re.M) and not out[1], f"{status} {out} {err}")
    text = "" if final(os.path.join(folder, "supervised_1")) == final(os.path.join(folder, "function_2")) else "tensors differ"
    report.check("a function trains to the same bits", not text, text)


def midway(tutti, folder, report):
    """An evaluation between a batch's sums and its update reads whole weights, and so does what comes behind the update; an
    algorithm reads them at the end."""
    for sharding in ("states", "gradients", "weights"):
        for what, when in (("each", "after_train_batch"), ("last", {"event": "after_train_batch", "once": 4})):
            run = engine(max_epochs=1)
            run["eval"][0]["on"] = when
            run["distributed"]["sharding"] = sharding
            start(tutti, folder, f"{sharding} {what} 1", run, 1).end()
            world = start(tutti, folder, f"{sharding} {what} 2", run, 2)
            status, _, err = world.end()
            text = f"{status} {err}" if any(status) else difference(os.path.join(folder, f"{sharding}_{what}_1"), world.folder)
            report.check(f"{sharding}, evaluated before {what} update: the bits of one", not text, text)
        run = engine(eval=[], callbacks=[], max_epochs=1, algorithms=[{"name": "lora", "target": ["*head*"], "rank": 2, "save_adapter": "a"}])
        run["distributed"]["sharding"] = sharding
        adapters = []
        for size in (1, 2):
            world = start(tutti, folder, f"{sharding} lora {size}", run, size)
            status, _, err = world.end()
            names = glob.glob(os.path.join(world.folder, "**/adapter_model.safetensors"), recursive=True)
            with open(names[0] if names else os.devnull, "rb") as f:
                adapters.append(f.read())
            report.check(f"{sharding}, {size} ranks: lora saves its adapter at the end", not any(status) and len(names) == 1, f"{status} {err} {names}")
        report.check(f"{sharding}: the adapter is that of one", adapters[0] == adapters[1], f"{[len(a) for a in adapters]}")


def moved(tutti, folder, report):
    """What every rank's handler sets holds: other data for an iteration, and another state of the loop."""
    for what, handlers in (("data", [{"on": "iteration_completed", "once": 2, "call": "looper.use", "args": ["test"]},
                                     {"on": "iteration_completed", "once": 3, "call": "looper.use", "args": ["train"]}]),
                           ("state", [{"on": "iteration_completed", "once": 2, "call": "looper.go_back",
                                       "args": ['{"iteration": 4, "epoch_length": 4, "max_epochs": 3}']}]),
                           ("state behind the end", [{"on": "completed", "once": 2, "call": "looper.go_back",
                                                      "args": ['{"iteration": 8, "epoch_length": 4, "max_epochs": 3}']}])):
        for size in (1, 3):
            status, out, err = start(tutti, folder, f"{what} {size}", engine(handlers=handlers), size, plugin("looper")).end()
            last = re.findall("ran .* epochs", out[0])
            names = [os.path.join(folder, f"{what} {n}".replace(" ", "_")) for n in (1, size)]
            text = f"{status} {err}" if any(status) else difference(*names)
            want = "ran 8 iterations, 2 epochs" if what == "data" else "ran 12 iterations, 3 epochs"
            report.check(f"{what} of all ranks, {size} ranks", not text and last == [want], f"{text} {last}")


def resumed(tutti, folder, report):
    """One rank suspends the run, or is told to end; what is saved goes on with other numbers of ranks."""
    start(tutti, folder, "whole", engine(), 1).end()
    run = engine(handlers=[on("iteration_started", "ask", 1, "interrupt", once=3)])
    world = start(tutti, folder, "parts", run, 3)
    status, out, err = world.end()
    report.check("interrupted by one rank all leave off behind the same iteration",
                 not any(status) and "\ninterrupted; ran 3 iterations, 1 epochs" in out[0], f"{status} {out} {err}")
    for size, more in ((2, ["--set", "max_epochs=1"]), (1, [])):
        status, out, err = World(tutti, world.folder, size, [*plugin("ranker"), "--resume", "auto", "--set", "handlers=[]", *more],
                                 command="run").end()
        report.check(f"{size} ranks go on", not any(status), f"{status} {out} {err}")
    text = difference(os.path.join(folder, "whole"), world.folder)
    report.check("to the bits of one", not text, text)
    status, _, err = World(tutti, world.folder, 2, [*plugin("ranker"), "--resume", "auto", "--set", "handlers=[]"], command="run").end()
    report.check("what is over is said once", status == [0, 0] and "nothing is left to run" in err[0] and not err[1], f"{status} {err}")


def kept(tutti, folder, report):
    """What one rank has asked for is in the checkpoint behind it, and holds for other numbers of ranks that take it up."""
    run = engine(handlers=[on("iteration_completed", "ask", 1, "terminate_epoch", once=2)])
    run["callbacks"][0]["keep"] = -1
    whole = start(tutti, folder, "cut", run, 2)
    status, out, err = whole.end()
    report.check("an epoch that one rank cuts", not any(status) and "ran 6 iterations, 2 epochs" in out[0], f"{status} {out} {err}")
    for size in (1, 3):
        for saved in ("ep0-ba2", "ep1-ba3"):
            path = os.path.join(whole.folder, "runs/ranks/checkpoints", saved + ".safetensors")
            world = start(tutti, folder, f"cut {saved} {size}", run, size, ["--resume", path])
            status, out, err = world.end()
            good = not any(status) and "ran 6 iterations, 2 epochs" in out[0]
            report.check(f"is cut where {size} ranks go on from {saved}", good, f"{status} {out} {err}")
            report.check("to the same bits", good and final(whole.folder) == final(world.folder), "tensors differ")
    run["handlers"] = [on("iteration_completed", "ask", 1, "terminate", once=2)]
    world = start(tutti, folder, "ended", run, 2)
    world.end()
    path = os.path.join(world.folder, "runs/ranks/record.json")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f: # as of a run that is killed behind the checkpoint
        f.write(text.replace('"status": "finished"', '"status": "running"'))
    status, out, err = World(tutti, world.folder, 3, [*plugin("ranker"), "--resume", "auto"], command="run").end()
    report.check("a run that one rank ends, ends again", not any(status) and "ran 2 iterations, 1 epochs" in out[0], f"{status} {out} {err}")


PLACES = {
    (1, 0): ["rank 0 of 1, 0 of 1 on machine 0 of 1, by shared_memory, things 0 to 10"],
    (3, 2): ["rank 0 of 3, 0 of 2 on machine 0 of 2, by shared_memory, things 0 to 4",
             "rank 1 of 3, 1 of 2 on machine 0 of 2, by shared_memory, things 4 to 7",
             "rank 2 of 3, 0 of 1 on machine 1 of 2, by shared_memory, things 7 to 10"],
}


def service(tutti, folder, report):
    """Where ranks are, and all operations, small and large, in both loops."""
    for (size, together), places in PLACES.items():
        for command, run, event in (("run", bare(), "epoch_completed"), ("train", changed(max_duration="1ep", eval=[]), "epoch_end")):
            path = os.path.join(folder, f"{command}{size}-")
            run["distributed"]["comm"]["machine_ranks"] = together
            run["handlers"] = [{**on(event, call, *args), "once": 1} for call, *args in (
                ["where"], ["together"], ["texts", 7], ["texts", 60000], ["texts", 0], ["many", 0], ["many", 13], ["many", 200001],
                ["first", path + "all", False], ["first", path + "local", True])]
            status, out, err = start(tutti, folder, f"{command} {size}", run, size, ["--verbose"] if command == "train" else [],
                                     command).end()
            told = [text + more for text, more in zip(out, err)]
            good = not any(status) and all(place in text and "together" in text for place, text in zip(places, told))
            report.check(f"tutti {command}, {size} ranks", good, f"{status} {out} {err}")
            made = sorted(os.path.basename(name) for name in glob.glob(path + "*"))
            want = [f"{command}{size}-all0", *(f"{command}{size}-local{machine}" for machine in range(2 if together else 1))]
            report.check("one rank of all, and one a machine, went first", made == want, f"{made}")
    alone = bare(handlers=[on("completed", call, *args) for call, *args in (["where"], ["together"], ["texts", 7], ["many", 200001])])
    del alone["distributed"]
    write(os.path.join(folder, "alone"), alone)
    status, out, err = World(tutti, os.path.join(folder, "alone"), 1, plugin("ranker"), command="run").end()
    report.check("a run without distributed has one rank", status == [0] and
                 out[0].startswith("rank 0 of 1, 0 of 1 on machine 0 of 1, by none, things 0 to 10\ntogether\n"), f"{status} {out} {err}")


def scarce(tutti, folder, report):
    """A rank without memory for what all ranks have: an error of all of them, at once, and they go on."""
    run = bare(handlers=[on("completed", "scarce", 1)])
    run["distributed"]["timeout_s"] = 20
    status, out, err = start(tutti, folder, "scarce", run, 3).end()
    report.check("no memory on one rank is told on all", status == [0] * 3 and all("scarce" in text for text in out), f"{status} {out} {err}")


def functions(tutti, folder, report):
    """Functions without a model: each rank sums its share, and the output is that of one rank."""
    run = bare(process={"call": "ranker.sum", "args": ["target"]}, handlers=[on("epoch_completed", "note")])
    run["data"] = {"dataset": {"name": "glyphs", "samples": 50}, "batch_size": 20}
    del run["epoch_length"]
    outputs = set()
    for size in (1, 2, 4):
        status, out, err = start(tutti, folder, f"functions {size}", run, size).end()
        lines = [text.splitlines() for text in out]
        notes = ["epoch_completed 3", "epoch_completed 6"]
        good = not any(status) and lines[0][:2] == notes and all(
            lines[rank] == [f"[rank {rank}] {note}" for note in notes] for rank in range(1, size))
        report.check(f"{size} ranks: all tell their notes, the others with their number", good, f"{status} {out} {err}")
        outputs.add(out[0].split("output ")[-1])
    report.check("the output does not depend on the number of ranks", len(outputs) == 1 and float(outputs.pop()) > 0, f"{outputs}")


NOTES = [on(event, "note") for event in ("iteration_completed", "epoch_completed", "completed")]


def single(tutti, folder, report):
    """A handler of one rank."""
    run = bare(handlers=[on("iteration_completed", "note", once=2, rank=1), on("completed", "note", rank=0)])
    status, out, err = start(tutti, folder, "some", run, 3).end()
    told = [[line for line in text.splitlines() if not line.startswith("ran ")] for text in out]
    report.check("a handler of one rank is called there alone", told == [["completed 6"], ["[rank 1] iteration_completed 2"], []], f"{status} {out} {err}")
    status, _, err = start(tutti, folder, "one", run, 1).end()
    report.check("a rank that there is not is refused", status == [2] and
                 err == ["tutti: handler ranker.note is for rank 1, and the run has 1: from 0 to 0\n"], f"{status} {err}")


def asked(tutti, folder, report):
    """What one rank asks of its loop all do, behind the same iteration."""
    first = ["iteration_completed 1", "iteration_completed 2"]
    epoch = [*first, "iteration_completed 3", "epoch_completed 3"]
    cut = [*first, "epoch_completed 2", *(f"iteration_completed {k}" for k in (3, 4, 5)), "epoch_completed 5", "completed 5"]
    for event, what, once, want in (("iteration_started", "terminate", 2, [*first, "completed 2"]),
                                    ("iteration_completed", "stop", 2, [*first, "completed 2"]),
                                    ("iteration_completed", "skip", 2, first), ("iteration_started", "terminate_epoch", 2, cut),
                                    ("epoch_completed", "terminate", 1, [*epoch, "completed 3"])):
        run = bare(handlers=[on(event, "ask", 1, what, once=once), *NOTES])
        status, out, err = start(tutti, folder, f"{what} {event}", run, 3).end()
        told = [re.findall(r"^(?:\[rank \d\] )?(\w+ \d+)$", text, re.M) for text in out]
        report.check(f"{what} in {event} of one rank", status == [0] * 3 and told == [want] * 3, f"{status} {told} {want} {err}")


def differences(tutti, folder, report):
    """What one rank alone sets or calls is refused by name."""
    where = "behind iteration_completed rank 1 has "
    for what, call, args, text in (
            ("a limit", "ask", (1, "limit"), f"tutti: {where}max_epochs 7, rank 0 2; want it set on every rank\n"),
            ("data", "ask", (1, "data"), f"tutti: {where}set another data than rank 0; want it set on every rank\n")):
        run = engine(handlers=[on("iteration_started", call, *args, once=2)])
        world = start(tutti, folder, what, run, 2)
        status, _, err = world.end()
        report.check(f"{what} of one rank", status == [1, 1] and err == [text, ""], f"{status} {err}")
        report.check("before that iteration is saved", world.saved() and not any("-ba2." in name for name in world.saved()), f"{world.saved()}")
    run = bare(handlers=[on("iteration_started", "differ", 1, once=2)])
    status, _, err = start(tutti, folder, "calls", run, 3).end()
    text = "tutti.ranks/1: rank 1 calls barrier; rank 0 all_reduce, the sum of 3 numbers of type F32"
    report.check("another operation of one rank", status == [1] * 3 and all(text in one for one in err), f"{status} {err}")
    run = bare(handlers=[on("iteration_started", "differ", 1, once=2, rank=1)])
    status, _, err = start(tutti, folder, "one", run, 3).end()
    text = "tutti.ranks/1: rank 1 calls barrier; rank 0 nothing behind iteration_completed"
    report.check("an operation of one rank alone", status == [1] * 3 and all(text in one for one in err), f"{status} {err}")


def failures(tutti, folder, report):
    """A function that fails on one rank: that says why, the others name it, and a handler of errors hears it and ends nothing."""
    for what, run in (("handler", bare(handlers=[on("iteration_completed", "fail", 1, once=2)])),
                      ("last handler", bare(handlers=[on("completed", "fail", 1)])),
                      ("process", bare(process={"call": "ranker.fail", "args": [1]})),
                      ("with exception_raised", bare(handlers=[on("iteration_completed", "fail", 1, once=2), on("exception_raised", "note")])),
                      ("trained", engine(handlers=[on("iteration_started", "fail", 1, once=2)])),
                      ("fit_end of tutti train", changed(max_duration="1ep", eval=[], handlers=[on("fit_end", "fail", 1)]))):
        command = "train" if "train" in what.split() else "run"
        status, out, err = start(tutti, folder, what, run, 3, command=command).end()
        told = err[0] if command == "train" else err[1]  # where ranks agree, the first one speaks for all
        good = status == [1] * 3 and "[rank 1] " in told and "this rank fails" in told
        good = good and all("rank 1 (" in err[k] or command == "train" for k in (0, 2))
        report.check(f"{what}: a failure of one rank ends all, which name it", good, f"{status} {err}")
        if what == "with exception_raised":
            report.check("handlers of errors hear it once", out[1].count("exception_raised 2") == 1, f"{out}")


def stopped_alone(tutti, folder, report):
    """A stop of one rank alone, of `tutti train`, ends the run with an error in time: the others have begun another batch."""
    for sharding in ("none", "weights"):
        run = changed(max_duration="20ba", eval=[], handlers=[on("batch_end", "ask", 1, "stop", once=2)])
        run["distributed"].update(sharding=sharding, timeout_s=20)
        began = time.monotonic()
        status, _, err = start(tutti, folder, f"alone {sharding}", run, 3, command="train").end()
        report.check(f"stopped by one rank, {sharding}", 0 not in status and time.monotonic() - began < 45, f"{status} {err}")


def wait_for(world, there):
    """Until there() or a rank has ended."""
    until = time.monotonic() + 60
    while not there() and time.monotonic() < until and all(one.poll() is None for one in world.ranks):
        time.sleep(0.01)


def stopped(world, report, what, victim):
    """SIGTERM at one rank ends all ranks; the batch."""
    what = f"{what}, rank {victim}"
    world.signal(victim, signal.SIGTERM)
    status, _, err = world.end()
    report.check(f"{what}: SIGTERM at one rank ends all with 143", status == [143] * len(status), f"{status} {err}")
    found = [set(re.findall(r"stopped by signal 15 after batch (\d+)", text)) for text in err]
    report.check(f"{what}: behind one batch", len(found[0]) == 1 and found == found[:1] * len(found), f"{err}")
    return found[0].pop() if found[0] else "?"


def signals(tutti, folder, report):
    """SIGUSR1 at one rank saves, SIGTERM ends all behind one iteration, which is saved; with a model and without."""
    run = engine(max_epochs=4000, callbacks=[{"name": "checkpoint_saver", "interval": "1000000ba"}])
    for victim in (0, 1):
        world = start(tutti, folder, f"trained {victim}", run, 3)
        world.wait_for_loss(2)
        world.signal(victim, signal.SIGUSR1)
        wait_for(world, world.saved)
        report.check(f"SIGUSR1 at rank {victim} saves", world.saved() and all(one.poll() is None for one in world.ranks), f"{world.saved()}")
        batch = stopped(world, report, "trained", victim)
        report.check("which is saved", any(f"-ba{batch}." in name for name in world.saved()), f"{batch} {world.saved()}")
        path = os.path.join(folder, f"begun{victim}-")
        endless = bare(max_epochs=100000000, handlers=[on("iteration_completed", "first", path, False, once=2)])
        world = start(tutti, folder, f"functions {victim}", endless, 2)
        wait_for(world, lambda p=path: os.path.exists(p + "0"))
        stopped(world, report, "functions", victim)


def parting(tutti, folder, report):
    """A model that closes, the last of all objects, finds itself where it was, also where a rank has failed."""
    for what, handlers in (("whole", []), ("failed", [on("batch_end", "fail", 1, once=2)])):
        run = changed(model={"name": "parting"}, max_duration="1ep", eval=[], handlers=handlers)
        run["distributed"]["comm"]["machine_ranks"] = 2
        status, _, err = start(tutti, folder, f"parting {what}", run, 3, plugin("parting"), "train").end()
        for rank, (local, things) in enumerate((("0 of 2", 4), ("1 of 2", 3), ("0 of 1", 3))):
            place = f"rank {rank} of 3, {local}, by shared_memory, {things} things; world {rank} of 3"
            told = re.findall("parting (opens|closes): (.*)", err[rank])
            report.check(f"{what}: a model of rank {rank} knows where it is until it is closed", told == [("opens", place), ("closes", place)],
                         f"{status} {told} {err[rank]}")
        report.check(f"{what}: the statuses", status == ([1] * 3 if handlers else [0] * 3), f"{status} {err}")


def refused(tutti, folder, report):
    """Several processes without "distributed", and files that one rank cannot read."""
    run = bare()
    del run["distributed"]
    status, _, err = start(tutti, folder, "without", run, 2).end()
    text = 'each of which would train the whole run and write the same files; start one, or give the run file a "distributed" object'
    report.check("copies of a run are refused", status == [2, 2] and all(text in one for one in err), f"{status} {err}")
    where = os.path.join(folder, "other")
    write(where, bare())
    world = World(tutti, where, 2, own={1: ["--set", "process=demo.none"]}, command="run")
    status, _, err = world.end()
    report.check("a file that one rank cannot read ends all at once", status[0] != 0 and "[rank 1] " in err[0] and "demo.none" in err[0],
                 f"{status} {err}")


if __name__ == "__main__":
    sys.exit(main([bits, midway, moved, resumed, kept, service, scarce, functions, single, asked, differences, failures, parting, stopped_alone, signals, refused]))
