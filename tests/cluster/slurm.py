"""A real SLURM on this host, for tests: its own keys, ports, folders, and nodes on loopback.

    python -m tests.cluster.slurm start FOLDER    prints what to put into the environment
    python -m tests.cluster.slurm stop FOLDER

It needs no system service, touches nothing outside its folder, and runs as whoever starts it.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SYSTEM = f"{os.environ['PATH']}{os.pathsep}/usr/sbin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo")

# Without cgroups: slurmd itself measures memory each second and kills who takes too much.
CONFIGURATION = """\
ClusterName=ldlrepro
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ReturnToService=1
KillWait=2
InactiveLimit=0
SlurmdTimeout=60
MinJobAge=3600
MaxJobCount=20000
GresTypes=gpu
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] \
CPUs={cpus} RealMemory={memory} Gres=gpu:1 State=UNKNOWN
PartitionName=cpu Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=n[1-2] MaxTime=60 State=UP
PartitionName=spare Nodes=n[3-{nodes}] MaxTime=INFINITE State=UP
"""


def missing_programs() -> list[str]:
    return [name for name in PROGRAMS if shutil.which(name, path=SYSTEM) is None]


@dataclass
class Cluster:
    """Nodes that all are this host; the partition `spare` has some of its own, to break.

    ``folder`` needs a short path, for it holds a socket.
    """

    folder: Path
    nodes: int = 4
    cpus: int = 4
    memory: int = 8000

    @property
    def environment(self) -> dict[str, str]:
        """What SLURM's commands need to find this cluster."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": SYSTEM}

    def call(self, *command: str) -> str:
        done = subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self) -> None:
        for name in ("state", *(f"spool-{node}" for node in self._names())):
            (self.folder / name).mkdir(parents=True)
        self._configure()
        self._start_munge()
        self.call("slurmctld", "-c")
        for node in self._names():
            self.call("slurmd", "-N", node)
        self._wait_until_idle()

    def stop(self) -> None:
        """Nodes first, so that the controller does not mourn them."""
        for name in (*self._names(), "slurmctld", "munged"):
            _end(self.folder / f"{name}.pid")

    def running(self) -> list[str]:
        """Ids of the jobs that run now."""
        return self.call("squeue", "-h", "-t", "R", "-o", "%i").split()

    def node_of(self, job: str) -> str:
        return self.call("squeue", "-h", "-j", job, "-o", "%N").strip()

    def _names(self) -> list[str]:
        return [f"n{number}" for number in range(1, self.nodes + 1)]

    def _configure(self) -> None:
        ports = _free_ports(self.nodes + 1)
        text = CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0],
            user=getpass.getuser(),
            folder=self.folder,
            nodes=self.nodes,
            cpus=self.cpus,
            memory=self.memory,
            port=ports[0],
            first=ports[1],
            last=ports[-1],
        )
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        # A GPU must be a character device; a link to /dev/null is one.
        (self.folder / "gpu0").symlink_to("/dev/null")
        (self.folder / "gres.conf").write_text(
            f"NodeName=n[1-{self.nodes}] Name=gpu File={self.folder}/gpu0 Flags=nvidia_gpu_env\n"
        )

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(64))
        key.chmod(0o600)
        self.call(
            "munged",
            "--force",
            f"--key-file={key}",
            f"--socket={self.folder}/munge.socket",
            f"--pid-file={self.folder}/munged.pid",
            f"--log-file={self.folder}/munged.log",
            f"--seed-file={self.folder}/munged.seed",
        )

    def _wait_until_idle(self) -> None:
        for _ in range(150):
            try:
                idle = set(self.call("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split())
            except RuntimeError:  # the controller does not answer yet
                idle = set()
            if idle == set(self._names()):
                return
            time.sleep(0.2)
        logs = "\n".join(path.read_text()[-2000:] for path in sorted(self.folder.glob("*.log")))
        self.stop()
        raise RuntimeError(f"the cluster did not come up:\n{logs}")


def _free_ports(count: int) -> list[int]:
    """Neighbouring ports that nobody listens on."""
    for first in range(20000 + os.getpid() % 10000, 60000, count):
        ports = list(range(first, first + count))
        if all(_is_free(port) for port in ports):
            return ports
    raise RuntimeError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _end(pid_file: Path) -> None:
    """End the process that a file names, gently at first."""
    if not pid_file.is_file():
        return
    pid = int(pid_file.read_text())
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for _ in range(50):
            try:
                os.kill(pid, sign if _ == 0 else 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)


def main(verb: str, folder: str) -> None:
    cluster = Cluster(Path(folder).resolve())
    if verb == "start":
        cluster.start()
        for name, value in cluster.environment.items():
            print(f"export {name}={value}")
    else:
        cluster.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
