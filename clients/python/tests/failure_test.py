"""A thread that ends by a bug ends the agent; connections that another thread ends."""
import socket
import threading

import pytest

from restante.failure import Failure, Stop
from restante.wire import HttpClient, parse_url


def test_a_bug_in_a_thread_ends_the_agent_and_is_kept():
    stop = Stop()
    thread = threading.Thread(target=stop.guard(lambda: [][1]))
    thread.start()
    assert stop.wait(60)
    assert isinstance(stop.error, IndexError)


@pytest.mark.parametrize("how, kind", [("hang_up", "cut"), ("cancel", "cancelled")])
def test_another_thread_ends_a_request_that_waits(how, kind):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = HttpClient(parse_url(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        failures = []

        def ask():
            try:
                client.send("GET", "/")
            except Failure as failure:
                failures.append(failure)

        # A kept-alive connection is no reason to repeat this request: it is the first on its connection.
        thread = threading.Thread(target=ask)
        thread.start()
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            getattr(client, how)()
            thread.join()
    assert [failure.kind for failure in failures] == [kind]


def test_a_bug_in_a_sink_is_not_taken_for_a_failure_of_the_network():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = HttpClient(parse_url(f"http://127.0.0.1:{listener.getsockname()[1]}"))

        def answer():
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ZeroDivisionError):
            client.send("GET", "/", sink=lambda head, content: 1 // 0)
        thread.join()
