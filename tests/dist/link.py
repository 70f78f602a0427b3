"""link.py - two machines on this one: namespaces with a network and a name each, and a slow link between them."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

TOOLS = {"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2", "tc": "iproute2", "mpirun": "openmpi-bin"}


def missing():
    """Why such a link cannot be made here; "" where it can."""
    packages = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool, path=path())})
    if packages:
        return f"it needs Debian's packages {', '.join(packages)}"
    if os.geteuid() != 0:
        return "only root makes namespaces with a link between them"
    with Link("1gbit") as link:
        return link.why


def path():
    """Where the tools may be."""
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


class Link:
    """Namespaces "one" and "two", joined by a link of that rate each way; `why` says why there is none."""

    def __init__(self, rate):
        self.rate = rate
        self.why = ""
        self.holders = []
        self.agent = None

    def __enter__(self):
        try:
            self.make()
        except subprocess.CalledProcessError as failed:
            self.why = f"{' '.join(failed.cmd)}: {failed.stderr.strip()}"
        return self

    def __exit__(self, *_):
        networks = {os.readlink(f"/proc/{holder.pid}/ns/net") for holder in self.holders}
        for process in os.listdir("/proc") if networks else ():  # the daemon of side two outlives a link that is cut
            with contextlib.suppress(OSError):
                if process.isdigit() and os.readlink(f"/proc/{process}/ns/net") in networks:
                    os.kill(int(process), signal.SIGKILL)
        for holder in self.holders:
            holder.wait()

    def inside(self, side, *command):
        """The words that run a command on that side."""
        return ["nsenter", "-t", str(self.holders[side].pid), "-n", "-u", *command]

    def do(self, side, *command):
        """Runs it and returns what it printed."""
        return subprocess.run(self.inside(side, *command), check=True, capture_output=True, text=True,
                              env={**os.environ, "PATH": path()}).stdout

    def make(self):
        """Names, addresses, the link and its rate."""
        subprocess.run(["unshare", "--net", "--uts", "true"], check=True, capture_output=True, text=True)
        own = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "uts")]
        for _ in range(2):
            holder = subprocess.Popen(["unshare", "--net", "--uts", "sleep", "infinity"])
            self.holders.append(holder)
            while [os.readlink(f"/proc/{holder.pid}/ns/{kind}") for kind in ("net", "uts")] == own:
                time.sleep(0.01)
        for side, name in enumerate(("one", "two")):
            self.do(side, "hostname", name)
            self.do(side, "ip", "link", "set", "lo", "up")
        self.do(0, "ip", "link", "add", "link0", "type", "veth", "peer", "name", "link0", "netns", str(self.holders[1].pid))
        for side in range(2):
            self.do(side, "ip", "address", "add", f"10.77.0.{side + 1}/24", "dev", "link0")
            self.do(side, "ip", "link", "set", "link0", "up")
            # The system gives a dead connection up within seconds, not after a quarter of an hour.
            self.do(side, "sh", "-c", "echo 4 >/proc/sys/net/ipv4/tcp_retries2")
            # A burst above the largest segment of TCP's offload: smaller ones are cut up by the CPU, not by a network card.
            self.do(side, "tc", "qdisc", "add", "dev", "link0", "root", "tbf", "rate", self.rate, "burst", "256kb",
                    "latency", "200ms")

    def cut(self):
        """Nothing passes any more."""
        self.do(0, "ip", "link", "set", "link0", "down")

    def carried(self):
        """Bytes that side one has sent."""
        return json.loads(self.do(0, "ip", "-statistics", "-json", "link", "show", "link0"))[0]["stats64"]["tx"]["bytes"]

    def mpirun(self, folder, ranks, *command, order="slot", **environment):
        """So many ranks on each side, of a command in `folder`, numbered by "slot" or by "node" in turn; the daemon of side two is started as by ssh."""
        agent = os.path.join(folder, "agent")
        with open(agent, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nshift\nexec {' '.join(self.inside(1))} sh -c \"$*\"\n")
        os.chmod(agent, 0o700)
        settings = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm_rsh_agent": agent,
                    "OMPI_MCA_btl": "tcp,vader,self", "OMPI_MCA_pml": "ob1", "OMPI_MCA_mpi_yield_when_idle": "1",
                    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
                    "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_oob_tcp_keepalive_time": "2",
                    "OMPI_MCA_oob_tcp_keepalive_intvl": "1", "OMPI_MCA_oob_tcp_keepalive_probes": "2", **environment}
        exported = [word for name in environment for word in ("-x", name)]
        return subprocess.Popen(self.inside(0, "mpirun", "--host", f"10.77.0.1:{ranks},10.77.0.2:{ranks}", "-n", str(2 * ranks),
                                            "--map-by", order, *exported, *command),
                                cwd=folder, env={**os.environ, **settings, "PATH": path()}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
