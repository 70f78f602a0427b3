"""kill_events.py - an attempt that stops at the Nth event of a kind, by a handler of its own, where moments seldom hit."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal

TRAINED = """init before_load after_load fit_start iteration_start epoch_start before_dataloader after_dataloader batch_start
before_train_batch before_forward after_forward before_loss after_loss before_backward after_backward after_train_batch
batch_end eval_before_all eval_start eval_batch_start eval_before_forward eval_after_forward eval_batch_end eval_end
eval_after_all batch_checkpoint epoch_end epoch_checkpoint iteration_end fit_end""".split()
LOOPED = """started epoch_started get_batch_started get_batch_completed iteration_started iteration_completed epoch_completed
completed interrupt""".split()
# Functions of the fixture `unruly`: SIGKILL, SIGINT, and SIGINT twice, of which the second one leaves the call.
WAYS = ["kill_at"] * 2 + ["interrupt_at"] + ["insist_at"] * 2
# With these an attempt ends that was stopped so.
CODES = (-signal.SIGKILL, 128 + signal.SIGINT)


def stop_at_event(tutti, run, rng):
    """The words that an attempt is told beside its own: it is stopped when an event comes for the Nth time, if it does."""
    events = TRAINED + LOOPED * 2 if "process" in run else TRAINED
    handler = {"on": rng.choice(events), "call": f"unruly.{rng.choice(WAYS)}",
               "args": [rng.choice([1, 1, 2, 3, rng.randrange(1, 12), rng.randrange(1, 45)])]}
    own = len(run.get("handlers", []))
    return ["--plugin-path", os.path.join(os.path.dirname(tutti), "tests", "fixtures", "unruly"),
            "--set", f"handlers.{own}={json.dumps(handler)}" if own else f"handlers={json.dumps([handler])}"]
