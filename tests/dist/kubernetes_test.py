"""kubernetes_test.py - the MPIJob of docs/distributed.md: what the MPI Operator takes, and its command: kubernetes_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import signal
import subprocess
import sys

from mpi_test import ENV, PATIENT, distributed, saved, wait_for_batch, weights
from ranks import World, changed, main, write
from guide import blocks  # after ranks, which says where it lies

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"skipped: {error} (Debian's packages python3-jsonschema and python3-yaml)")
    sys.exit(77)

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/distributed.md")


def record(required=(), **members):
    """The schema of an object that has no other members, as the server checks it with `kubectl apply --validate=strict`."""
    return {"type": "object", "properties": members, "required": list(required), "additionalProperties": False}


def many(item):
    """That of a list."""
    return {"type": "array", "items": item}


TEXT, COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
AMOUNT = {"type": "object", "additionalProperties": {"type": ["integer", "string"]}}
CONTAINER = record(["name", "image"], name=TEXT, image=TEXT, workingDir=TEXT, command=many(TEXT), args=many(TEXT),
                   env=many(record(["name"], name=TEXT, value=TEXT)), resources=record(limits=AMOUNT, requests=AMOUNT),
                   volumeMounts=many(record(["name", "mountPath"], name=TEXT, mountPath=TEXT)))
VOLUME = record(["name"], name=TEXT, persistentVolumeClaim=record(["claimName"], claimName=TEXT),
                emptyDir=record(medium={"enum": ["", "Memory"]}, sizeLimit={"type": ["integer", "string"]}))
POD = record(["containers"], containers={**many(CONTAINER), "minItems": 1}, volumes=many(VOLUME))
REPLICA = record(["template"], replicas=COUNT, restartPolicy={"enum": ["Never", "OnFailure"]}, template=record(["spec"], spec=POD))
# The members of kubeflow.org/v2beta1 that a job of ours may have, from the operator's CustomResourceDefinition of 2026-07.
MPIJOB = record(
    ["apiVersion", "kind", "metadata", "spec"], apiVersion={"const": "kubeflow.org/v2beta1"}, kind={"const": "MPIJob"},
    metadata=record(["name"], name={"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}),
    spec=record(["mpiReplicaSpecs"], slotsPerWorker={"type": "integer", "minimum": 1}, sshAuthMountPath=TEXT,
                mpiImplementation={"enum": ["OpenMPI", "Intel", "MPICH"]},
                launcherCreationPolicy={"enum": ["AtStartup", "WaitForWorkersReady"]},
                runPolicy=record(backoffLimit=COUNT, cleanPodPolicy={"enum": ["None", "Running", "All"]}, activeDeadlineSeconds=COUNT,
                                 ttlSecondsAfterFinished=COUNT),
                mpiReplicaSpecs=record(["Launcher", "Worker"], Launcher=REPLICA, Worker=REPLICA)))


def job():
    """The page's."""
    with open(PAGE, encoding="utf-8") as file:
        return yaml.safe_load(next(content for _, content, *_ in blocks(file.read()) if "kind: MPIJob" in content))


def manifest(_tutti, _folder, report):
    """The members are those that the operator knows; containers mount volumes of their own pod, and all see the run's folder."""
    found = job()
    wrong = [error.message for error in jsonschema.Draft7Validator(MPIJOB).iter_errors(found)]
    report.check("the operator takes it", not wrong, "; ".join(wrong))
    for name, replica in found["spec"]["mpiReplicaSpecs"].items():
        pod = replica["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        mounts = {mount["name"]: mount["mountPath"] for one in pod["containers"] for mount in one["volumeMounts"]}
        report.check(f"{name} mounts what its pod has", set(mounts) <= volumes, f"{mounts}, {volumes}")
        work = found["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["workingDir"]
        report.check(f"{name} sees the run's folder", work in mounts.values(), f"{mounts}, want {work}")
    del found["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["name"]
    report.check("a container without a name would be seen", list(jsonschema.Draft7Validator(MPIJOB).iter_errors(found)), "it is not")


def launched(tutti, folder, others=()):
    """The launcher's command in the run's folder, with what the operator tells Open MPI: the workers and their slots."""
    spec = job()["spec"]
    hosts = os.path.join(folder, "hostfile")
    with open(hosts, "w", encoding="utf-8") as file:
        file.write(f"localhost slots={spec['slotsPerWorker']}\n")
    env = {**ENV, **PATIENT, "OMPI_MCA_orte_keep_fqdn_hostnames": "true", "OMPI_MCA_orte_default_hostfile": hosts,
           "PRTE_MCA_prte_default_hostfile": hosts, "PATH": os.path.dirname(os.path.abspath(tutti)) + ":" + os.environ["PATH"]}
    command = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    return subprocess.Popen([*command, *others], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def restarted(tutti, folder, report):
    """The launcher is told to end, as where its node is drained, and started again: it goes on to the bits of one process."""
    alone, where = os.path.join(folder, "alone"), os.path.join(folder, "job")
    run = changed(max_duration="4000ep", eval=[], distributed=distributed("mpi"),
                  callbacks=[{"name": "checkpoint_saver", "interval": "1ba", "keep": 3}])
    write(where, run)
    process = launched(tutti, where)
    wait_for_batch(process, where, 2)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    slots = job()["spec"]["slotsPerWorker"]
    said = err.count(f" after batch {saved(where)}, which is saved")
    report.check("told to end, every slot's process saves behind one batch", process.returncode != 0 and said == slots,
                 f"{process.returncode}, {said} of {slots}: {err}")
    until = ["--set", f"max_duration={saved(where) + 3}ba"]
    process = launched(tutti, where, until)
    _, err = process.communicate(timeout=120)
    write(alone, {**run, "distributed": {**run["distributed"], "comm": "shared_memory"}})
    World(tutti, alone, 1, until).end()
    report.check("started again, it goes on to the bits of one process", process.returncode == 0 and weights(where) == weights(alone), err)


def again(tutti, folder, report):
    """The same under Open MPI, whose variables the operator sets."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout if shutil.which("mpirun") else ""
    known = subprocess.run([tutti, "plugins", "list"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in version or "org.tutti.mpi" not in known:
        report.skip("the job's command wants Open MPI and the plugin mpi (Debian's packages openmpi-bin, libopenmpi-dev)")
        return
    restarted(tutti, folder, report)


if __name__ == "__main__":
    sys.exit(main([manifest, again]))
