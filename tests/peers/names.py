#!/usr/bin/env python3
"""names.py FOLDER - the public names of Composer's engine, algorithms, schedulers, optimizers, callbacks, Trainer, loggers, profiler and
options of checkpoints, and of Ignite's engine, events, handlers, state and distributed, out of the sources of their packages, which nobody runs: one a line, members as class.member."""
import ast
import pathlib
import sys

MODULES = {
    "composer": ("core/__init__.py", "core/engine.py", "core/event.py", "core/state.py", "core/time.py", "core/passes.py",
                 "core/algorithm.py", "core/evaluator.py", "algorithms/__init__.py", "optim/__init__.py", "callbacks/__init__.py",
                 "trainer/__init__.py", "loggers/__init__.py", "profiler/__init__.py", "checkpoint/__init__.py", "checkpoint/load.py",
                 "checkpoint/save.py", "checkpoint/upload.py"),
    "ignite": ("engine/__init__.py", "engine/engine.py", "engine/events.py", "engine/deterministic.py",
               "handlers/__init__.py", "distributed/auto.py", "distributed/launcher.py", "distributed/utils.py"),
}
# Classes whose members a plugin, a run file or a program uses one by one.
MEMBERS = {"Engine", "Event", "State", "Time", "Timestamp", "TimeUnit", "Trace", "Algorithm", "Evaluator", "Events", "EventEnum",
           "CallableEventWithFilter", "EventsList", "RemovableEventHandle", "DeterministicEngine", "InMemoryLogger"}
# Their constructors' arguments are settings of run files.
PARTS = ("composer/algorithms/", "composer/callbacks/", "composer/loggers/", "composer/optim/", "composer/trainer/trainer.py",
         "composer/profiler/", "composer/checkpoint/")
CALLED = {"Trainer"}  # classes whose methods' arguments count too


def exported(tree):
    """The words of __all__."""
    found = []
    for node in tree.body:
        values = [node.value] if isinstance(node, (ast.Assign, ast.AugAssign)) and "__all__" in ast.unparse(node).split("=")[0] else []
        for value in values:
            found += [w.value for w in ast.walk(value) if isinstance(w, ast.Constant) and isinstance(w.value, str)]
    return found


def imported(tree, seen):
    """What a package without __all__ gives by its imports from its own parts."""
    own = [n for n in tree.body if isinstance(n, ast.ImportFrom) and (n.module or "").split(".")[0] in MODULES]
    return [a.asname or a.name for n in own for a in n.names if not a.name.startswith("_") and a.name != "*"] + seen


def members(node):
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":  # attributes that it sets
            yield from {a.attr for a in ast.walk(item) if isinstance(a, ast.Attribute) and isinstance(a.ctx, ast.Store)
                        and ast.unparse(a.value) == "self" and not a.attr.startswith("_")}
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any("setter" in ast.unparse(d) for d in item.decorator_list):
                continue
            names = [item.name]
        elif isinstance(item, ast.Assign):
            names = [t.id for t in item.targets if isinstance(t, ast.Name)]
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            names = [item.target.id]
        else:
            names = []
        yield from (n for n in names if not n.startswith("_"))


def arguments(function):
    args = function.args.posonlyargs + function.args.args[1:] + function.args.kwonlyargs
    return [a.arg for a in args if not a.arg.startswith("_")]


def settings(node):
    """The arguments of the constructor, which a dataclass has by its fields."""
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            return arguments(item)
    fields = [i.target.id for i in node.body if isinstance(i, ast.AnnAssign) and isinstance(i.target, ast.Name)]
    return fields if any("dataclass" in ast.unparse(d) for d in node.decorator_list) else []


def calls(node):
    """The public methods, and their arguments."""
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            yield item.name
            yield from (f"{item.name}({a})" for a in arguments(item))


def classes(tree):
    """What a module without __all__ and without imports from its own parts gives: its public classes."""
    return [n.name for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]


def names_of(folder, package, paths):
    public = []
    for path in paths:
        tree = ast.parse((folder / package / path).read_text(encoding="utf-8"))
        found = exported(tree) or (imported(tree, []) if path.endswith("__init__.py") or package == "ignite" else [])
        public += found or (classes(tree) if path.startswith("checkpoint/") else [])
    wanted, found = set(public), set(public)
    for source in sorted((folder / package).rglob("*.py")):
        inside = source.relative_to(folder).as_posix()
        if not any(inside.startswith(f"{package}/{p.split('/')[0]}") for p in paths):
            continue
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name in wanted:
                if node.name in MEMBERS:
                    found |= {f"{node.name}.{m}" for m in members(node)}
                if node.name in CALLED:
                    found |= {f"{node.name}.{c}" for c in calls(node)}
                if inside.startswith(PARTS):
                    found |= {f"{node.name}({a})" for a in settings(node)}
    return sorted(found, key=lambda n: (n.lower(), n))


def main():
    folder = pathlib.Path(sys.argv[1])
    for package, paths in MODULES.items():
        if (folder / package).is_dir():
            print("\n".join(names_of(folder, package, paths)))


main()
