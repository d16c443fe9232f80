"""The addresses on which the server listens."""
import socket

import pytest

from support.ports import free_port
from support.server import StartFailed
from support.wire import Wire, request


def check_health(port, host):
    with Wire(port, host) as wire:
        wire.send(request("GET", "/health", {"Connection": "close"}))
        assert [r.status for r in wire.read_until_closed()] == [200]


def test_stdout_is_one_ready_line(start):
    server = start()
    assert server.ready_line == f"restante ready on http://127.0.0.1:{server.port}"
    server.check_alive()
    server.stop()
    assert len(server.stdout()) == 1


def test_several_addresses_are_served(start):
    port = free_port("127.0.0.2")
    server = start(listen=("127.0.0.1:0", f"127.0.0.2:{port}"))
    server.check_alive()
    check_health(port, "127.0.0.2")
    with pytest.raises(ConnectionError):
        Wire(server.port, "127.0.0.2")


def test_ipv6_is_served(start):
    try:
        port = free_port("::1")
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    server = start(listen=("127.0.0.1:0", f"[::1]:{port}"))
    server.check_alive()
    check_health(port, "::1")


def test_a_used_port_is_a_clear_refusal_to_start(start):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StartFailed) as failed:
            start(listen=(address,))
    assert failed.value.code == 69
    assert address in str(failed.value)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x", "nonsense", ":", "[::1:80"])
def test_an_invalid_address_is_a_clear_refusal_to_start(start, address):
    with pytest.raises(StartFailed) as failed:
        start(listen=(address,))
    assert failed.value.code > 0
    assert "listen" in str(failed.value)
