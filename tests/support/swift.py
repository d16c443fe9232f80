#!/usr/bin/env python3
"""Swift: a private OpenStack Swift with its S3 API on free loopback ports, with one replica. Its data is deleted when it ends.
It verifies signatures: it refuses a wrong secret and a payload with a wrong digest. Use as a context manager:

    with Swift() as swift: …        swift.endpoint, swift.access_key, swift.secret_key, swift.region

As a program it prints these four on one line and serves until its standard input is closed, so it always ends with the
process that started it.
"""
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.ports import free_port  # noqa: E402: runs as a program, too
from support.waiting import wait_until  # noqa: E402

START_CEILING = 300
SERVERS = ("account", "container", "object")
PR_SET_PDEATHSIG = 1

HASH = """
[swift-hash]
swift_hash_path_suffix = suffix
swift_hash_path_prefix = prefix
[storage-policy:0]
name = p0
default = yes
"""
# Logs go to an unused port: there is no syslog here.
COMMON = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
workers = 0
log_udp_host = 127.0.0.1
log_udp_port = 9
"""
# Long timeouts, because the machine may be busy. If one part of Swift cannot send an update to another in time, only daemons that do
# not run here would send it later: a listing would stay wrong forever.
PATIENT = """conn_timeout = 60
node_timeout = 120
"""
STORAGE = """
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
container_update_timeout = 60
""" + PATIENT
PROXY = """
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats bulk s3api tempauth copy dlo slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
recoverable_node_timeout = 120
error_suppression_interval = 0
""" + PATIENT + """
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{cache}
connect_timeout = 20
pool_timeout = 20
io_timeout = 20
error_suppression_interval = 0
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
location = {region}
storage_domain = {domain}
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""


def end_with_parent():
    """Runs in the child: the child ends when the test is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Swift:
    access_key, secret_key, region, domain = "test:tester", "testing", "us-east-1", "s3.test"

    def __init__(self):
        if not shutil.which("swift-proxy-server"):
            raise RuntimeError("OpenStack Swift is missing: run tools/setup test")
        self.folder, self.processes = Path(tempfile.mkdtemp(prefix="restante-swift-")), {}
        self.ports = {name: free_port() for name in ("proxy", "cache", *SERVERS)}
        self.endpoint = f"http://127.0.0.1:{self.ports['proxy']}"
        try:
            self._configure()
            self._start()
        except BaseException:
            self.__exit__()
            raise

    def _configure(self):
        user = pwd.getpwuid(os.geteuid()).pw_name
        (self.folder / "devices" / "d1").mkdir(parents=True)
        (self.folder / "swift.conf").write_text(HASH)
        for name in ("proxy", *SERVERS):
            common = COMMON.format(port=self.ports[name], user=user, folder=self.folder)
            own = PROXY.format(cache=self.ports["cache"], region=self.region, domain=self.domain) if name == "proxy" else STORAGE.format(name=name)
            (self.folder / f"{name}-server.conf").write_text(common + own)
        for name in SERVERS:
            ring = ["swift-ring-builder", f"{name}.builder"]
            for step in (["create", "4", "1", "1"], ["add", f"r1z1-127.0.0.1:{self.ports[name]}/d1", "1"], ["rebalance"]):
                subprocess.run([*ring, *step], cwd=self.folder, stdout=subprocess.DEVNULL, check=True)

    def _start(self):
        user = pwd.getpwuid(os.geteuid()).pw_name
        self._launch("cache", ["memcached", "-u", user, "-l", "127.0.0.1", "-p", str(self.ports["cache"]), "-m", "32"])
        for name in (*SERVERS, "proxy"):
            self._launch(name, [f"swift-{name}-server", str(self.folder / f"{name}-server.conf")])
        for name in self.processes:
            wait_until(lambda name=name: self._answers(name), f"Swift's {name} answers", START_CEILING)

    def _launch(self, name, command):
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                                                    preexec_fn=end_with_parent)

    def _answers(self, name):
        if self.processes[name].poll() is not None:
            raise RuntimeError(f"Swift's {name} did not start:\n" + (self.folder / f"{name}.log").read_text()[-2000:])
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports[name])) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    # Only the end of its input ends it. An interrupt also reaches the parent process, which then closes that input.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with Swift() as swift:
        print(swift.endpoint, swift.access_key, swift.secret_key, swift.region, flush=True)
        sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
