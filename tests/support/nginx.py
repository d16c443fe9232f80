"""Nginx: Debian's nginx in front of a server, on its own port, with its files in a folder of the test.

The location block is the one that docs/operations.md recommends; the rest only keeps nginx's files in the folder.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from support.server import Server
from support.waiting import Deadline
from support.wire import Wire

ROOT = Path(os.environ.get("RESTANTE_SOURCE", Path(__file__).parents[2]))
CONFIG = """
{user}
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 512; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  upstream restante {{ server 127.0.0.1:{upstream}; keepalive 16; }}
  server {{
    listen 127.0.0.1:{port}{tls};
    {certificate}
    {location}
  }}
}}
"""


def recommended_location():
    """The location block that docs/operations.md recommends."""
    return re.search(r"```nginx\n(.*?)```", (ROOT / "docs/operations.md").read_text(), re.DOTALL)[1]


class Nginx:
    """connect, request, get and admin_token work as on Server, but through nginx."""

    request, get = Server.request, Server.get

    def __init__(self, server, folder, *, certificate=None, key=None, tls=None):
        self.server, self.folder, self.tls = server, folder, tls
        self.host = "127.0.0.1"
        listener = socket.create_server((self.host, 0), backlog=128)
        self.port = listener.getsockname()[1]
        config = folder / "nginx.conf"
        config.write_text(CONFIG.format(
            location=recommended_location(), folder=folder, port=self.port, upstream=server.port, tls=" ssl" if certificate else "",
            user="user root;" if os.geteuid() == 0 else "",
            certificate=f"ssl_certificate {certificate}; ssl_certificate_key {key};" if certificate else ""))
        executable = shutil.which("nginx") or "/usr/sbin/nginx"
        # nginx takes over a socket that is already bound, as it does when it replaces itself, so no other process can take the port.
        environment = {**os.environ, "NGINX": f"{listener.fileno()};"}
        self.process = subprocess.Popen([executable, "-c", config, "-p", folder, "-e", folder / "error.log"], env=environment,
                                        pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        listener.close()

    @property
    def admin_token(self):
        return self.server.admin_token

    def metric(self, *arguments):
        return self.server.metric(*arguments)

    def wait_metric(self, *arguments):
        self.server.wait_metric(*arguments)

    def connect(self, **options):
        return Wire(self.port, self.host, **{"tls": self.tls, **options})

    def stop(self):
        """Ends master and workers. If nginx had already died, shows its error output."""
        died = self.process.poll()
        if died is None:
            self.process.send_signal(signal.SIGTERM)
        _, complaint = self.process.communicate(timeout=Deadline().left())
        assert died is None, f"nginx ended by itself with {died}: {complaint.decode()}"
