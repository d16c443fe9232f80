"""ApiClient: the requests of an agent. One thread at a time, except cancel() and hang_up(). Every call raises Failure."""
from __future__ import annotations

import json
import mimetypes
import os
import stat
import urllib.parse
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence

from .failure import Failure, Stop
from .names import parse_id
from .wire import HttpClient, Response, Sink, Url, expect_success

Json = Dict[str, Any]

POLL_SLACK = 15.0  # how much later than `wait` an answer may come before the connection counts as dead
POLL_TOTAL = 120.0  # for an answer that arrives very slowly
WAITING_PAGE = 500
UPLOAD_ATTEMPTS = 3  # of an upload whose connection breaks; its key makes it one upload
PART_OVERHEAD = 1024
HOPS_MEMBER = "restante_hops"


class Row(NamedTuple):
    """A row of the inbox."""

    id: str
    seq: int
    method: str
    source_id: Optional[str]  # the workspace of the sending agent; None: a person
    created_at: str
    status: str
    body: Json


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def text_of(found: Any, name: str) -> str:
    """A member that is a text; empty when it is missing or of another type."""
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""


def whole_of(found: Any, name: str) -> int:
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def row_of(found: Any) -> Row:
    if not text_of(found, "id") or not isinstance(found.get("seq"), int):
        raise Failure("protocol", "the server sent an inbox entry without id or seq")
    body = found.get("request_body")
    return Row(found["id"], found["seq"], text_of(found, "method"), text_of(found, "source_id") or None, text_of(found, "created_at"),
               text_of(found, "status"), body if isinstance(body, dict) else {})


class Upload(NamedTuple):
    """A file of this machine that is to be sent."""

    path: Path
    name: str
    size: int
    type: str


def describe_file(path: Path) -> Upload:
    """Raises Failure with a sentence when it cannot be sent."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise Failure("stopped", f"{path}: {error.strerror or error}") from None
    if not stat.S_ISREG(found.st_mode):
        raise Failure("stopped", f"{path}: is no regular file")
    if found.st_size == 0:
        raise Failure("stopped", f"{path}: is empty")
    return Upload(path, path.name, found.st_size, mimetypes.guess_type(path.name)[0] or "application/octet-stream")


class Form:
    """The body of an upload, read from the files while it is sent."""

    def __init__(self, files: Sequence[Upload]) -> None:
        self._files = files
        boundary = f"restante-{uuid.uuid4()}"
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self._heads = []
        for number, file in enumerate(files):
            name = file.name.encode("utf-8", "replace").decode()
            for sign, code in (('"', "%22"), ("\r", "%0D"), ("\n", "%0A")):
                name = name.replace(sign, code)
            start = "\r\n" if number else ""
            self._heads.append((f'{start}--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n'
                                f"Content-Type: {file.type}\r\n\r\n").encode())
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self.length = sum(map(len, self._heads)) + sum(file.size for file in files) + len(self._tail)

    def pieces(self) -> Iterator[bytes]:
        for head, file in zip(self._heads, self._files):
            yield head
            left = file.size
            try:
                with open(file.path, "rb") as source:
                    while left > 0:
                        piece = source.read(min(left, 256 * 1024))
                        if not piece:
                            raise Failure("stopped", f"{file.path}: became shorter while it was sent")
                        left -= len(piece)
                        yield piece
            except OSError as error:
                raise Failure("stopped", f"{file.path}: {error.strerror or error}") from None
        yield self._tail


def divide(files: Iterable[Upload], limits: Json) -> List[List[Upload]]:
    """Batches that fit the server's limits. A file that the server would refuse is refused here, before anything is sent."""
    per_file, per_request, most = (whole_of(limits, name) for name in ("per_file_bytes", "per_request_bytes", "max_files"))
    batches: List[List[Upload]] = []
    size = 0
    for file in files:
        if 0 < per_file < file.size:
            raise Failure("stopped", f"{file.path}: has {file.size} bytes, and this server takes at most {per_file} a file")
        cost = file.size + PART_OVERHEAD
        if not batches or len(batches[-1]) >= max(1, most) or 0 < per_request < size + cost:
            batches.append([])
            size = PART_OVERHEAD
        size += cost
        batches[-1].append(file)
    return batches


class ApiClient:
    """See the module. `workspace` is the agent's own id, known after registering."""

    def __init__(self, server: Url, token: str = "", workspace: str = "", stop: Optional[Stop] = None) -> None:
        self.http = HttpClient(server)
        self.token, self.workspace = token, workspace
        self._stop = stop or Stop()

    def cancel(self) -> None:
        self.http.cancel()

    def hang_up(self) -> None:
        self.http.hang_up()

    # -- the ways of asking

    def path(self, rest: str) -> str:
        return f"/workspaces/{self.workspace}{rest}"

    def upload_path(self, file: str, rest: str) -> str:
        return self.path(f"/pending-uploads/{file}{rest}")

    def task_path(self, task: str, rest: str) -> str:
        return self.path(f"/delegations/{urllib.parse.quote(task, safe='')}{rest}")

    def _headers(self, **more: str) -> Dict[str, str]:
        headers = {name.replace("_", "-"): value for name, value in more.items()}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def get(self, target: str, **options: Any) -> Any:
        return expect_success(self.http.send("GET", target, self._headers(), **options)).json()

    def post(self, target: str, body: Any, key: str = "", repeatable: bool = False) -> Response:
        headers = self._headers(Content_Type="application/json")
        if key:
            headers["Idempotency-Key"] = key
        return expect_success(self.http.send("POST", target, headers, compact(body).encode("utf-8", "replace"),
                                             repeatable=repeatable))

    # -- the agent and its inbox

    def session(self) -> Json:
        """Whose token it is: role and, if it belongs to one, workspace_id. Spends nothing."""
        found = self.get("/session")
        return found if isinstance(found, dict) else {}

    def register(self, workspace: str, name: str) -> Json:
        """Registers in poll mode; `workspace_id` and, if the server made one, `auth_token`. The card, which the operator writes, is not
        changed."""
        body: Json = {"id": workspace} if workspace else {}
        body.update({"name": name, "delivery_mode": "poll"})
        try:
            answer = self.post("/registry/register", body).json()
        except Failure as failure:
            if not failure.is_status(400):
                raise
            answer = self.post("/registry/register", {**body, "agent_card": {"name": name}}).json()  # a server that requires a card
        found = parse_id(text_of(answer, "workspace_id") or text_of(answer, "id") or workspace)
        if not found:
            raise Failure("protocol", "the server's answer does not name the workspace; give --workspace")
        return {"workspace_id": found, "auth_token": text_of(answer, "auth_token")}

    def limits(self) -> Json:
        found = self.get("/uploads/limits")
        return found if isinstance(found, dict) else {}

    def last_acked(self) -> int:
        return whole_of(self.post(self.path("/activity/ack"), {"acked_seq": 0}, repeatable=True).json(), "last_acked_seq")

    def waiting_files(self) -> List[Json]:
        """All files that wait for this workspace and are not acked, oldest first."""
        files: List[Json] = []
        while True:
            after = f"&after={files[-1]['file_id']}" if files else ""
            page = self.get(self.path(f"/pending-uploads?limit={WAITING_PAGE}{after}"))
            if not isinstance(page, list) or not all(parse_id(text_of(one, "file_id")) for one in page):
                raise Failure("protocol", "the server's answer is not a list of files")
            files += page
            if len(page) < WAITING_PAGE:
                return files

    def beat(self, uptime: int) -> None:
        self.post("/registry/heartbeat", {"workspace_id": self.workspace, "uptime_seconds": uptime}, repeatable=True)

    def poll(self, since_seq: int, since_id: str, wait: int) -> List[Row]:
        """The rows after row `since_id` or, if that is empty, after the number `since_seq`; oldest first. When there are none, the
        server holds the request for up to `wait` seconds."""
        cursor = f"since_id={since_id}" if since_id else f"since_seq={since_seq}"
        page = self.get(self.path(f"/activity?type=a2a_receive&{cursor}&wait={wait}"), patience=wait + POLL_SLACK, total=wait + POLL_TOTAL)
        if not isinstance(page, list):
            raise Failure("protocol", "the server's answer is not a list of inbox entries")
        return [row_of(entry) for entry in page]

    def row_at(self, seq: int) -> str:
        """The id of the row with this number; empty when the server has none."""
        try:
            page = self.get(self.path(f"/activity?since_seq={seq - 1}&limit=1"))
        except Failure as failure:
            if failure.is_status(410):
                return ""
            raise
        return next((text_of(one, "id") for one in page if whole_of(one, "seq") == seq), "")

    # -- files

    def fetch(self, file: str, offset: int, sink: Sink) -> None:
        """The content from `offset` on. The sink sees in the head whether the server began there (206) or at 0 (200)."""
        headers = self._headers(**({"Range": f"bytes={offset}-"} if offset else {}))
        expect_success(self.http.send("GET", self.upload_path(file, "/content"), headers, sink=sink))

    def ack(self, file: str) -> None:
        expect_success(self.http.send("POST", self.upload_path(file, "/ack"), self._headers(), repeatable=True))

    def fail(self, file: str, reason: str) -> None:
        self.post(self.upload_path(file, "/fail"), {"reason": reason})

    def file_state(self, file: str) -> Json:
        found = self.get(self.upload_path(file, ""))
        return found if isinstance(found, dict) else {}

    def upload(self, target: str, paths: Sequence[Path], key: str = "", sent: Optional[Callable[[int], None]] = None) -> List[Json]:
        """Sends files to `target`; each result is {uri, name, mimeType, size, sha256}. With a key, the same files twice are one upload."""
        if not paths:
            return []
        staged: List[Json] = []
        for number, batch in enumerate(divide(map(describe_file, paths), self.limits())):
            staged += self._upload_batch(target, batch, f"{key or uuid.uuid4()}-{number}")
            if sent:
                sent(sum(file.size for file in batch))
        return staged

    def _upload_batch(self, target: str, batch: Sequence[Upload], key: str) -> List[Json]:
        form = Form(batch)
        headers = self._headers(Content_Type=form.content_type, Content_Length=str(form.length), Idempotency_Key=key)
        for attempt in range(1, UPLOAD_ATTEMPTS + 1):
            try:
                answer = expect_success(self.http.send("POST", target, headers, form.pieces)).json()
            except Failure as failure:
                if attempt == UPLOAD_ATTEMPTS or not failure.passes() or self._stop.wait(0.5):
                    raise
                continue
            files = answer.get("files") if isinstance(answer, dict) else None
            if not isinstance(files, list) or len(files) != len(batch):
                raise Failure("protocol", "the answer to the upload names other files than were sent")
            return files
        raise AssertionError("the loop returns or raises")

    def stage(self, paths: Sequence[Path], key: str = "") -> List[Json]:
        """Files from this agent, to be named in a message, a task or a result."""
        return self.upload(self.path("/chat/uploads?direction=out"), paths, key)

    # -- messages and tasks

    def notify(self, text: str, files: Sequence[Json], key: str, reply_to: str = "") -> None:
        """A message to the person. The same key twice is one message. `reply_to` is the inbox row that it answers."""
        answers = {"reply_to": reply_to} if reply_to else {}
        self.post(self.path("/notify"), {"message": text, **answers, **_attachments(files)}, key, repeatable=True)

    def message(self, workspace: str, text: str, files: Sequence[Json], key: str, hops: int = 0, role: str = "agent") -> Json:
        """A message to an agent; `hops` is the number of automatic answers that led to it. The same key twice is one message."""
        parts: List[Json] = [{"kind": "text", "text": text}] if text else []
        parts += [{"kind": "file", "file": file} for file in files]
        message: Json = {"messageId": key, "role": role, "parts": parts}
        if role == "agent":
            message["metadata"] = {HOPS_MEMBER: hops}
        call = {"jsonrpc": "2.0", "id": key, "method": "message/send", "params": {"message": message}}
        found = self.post(f"/workspaces/{workspace}/a2a", call, key, repeatable=True).json()
        return found if isinstance(found, dict) else {}

    def peers(self) -> List[Json]:
        found = self.get(f"/registry/{self.workspace}/peers")
        return found if isinstance(found, list) else []

    def delegate(self, target: str, text: str, task: str, files: Sequence[Json] = (), deadline: str = "") -> Json:
        """A task for another agent. The same task id twice is one task."""
        body: Json = {"target_id": target, "task": text, "delegation_id": task, **_attachments(files)}
        if deadline:
            body["deadline"] = deadline
        found = self.post(self.path("/delegate"), body, repeatable=True).json()
        return found if isinstance(found, dict) else {}

    def task(self, task: str) -> Json:
        found = self.get(self.task_path(task, ""))
        return found if isinstance(found, dict) else {}

    def begin_task(self, task: str) -> None:
        self.post(self.task_path(task, "/update"), {"status": "in_progress"}, repeatable=True)

    def beat_task(self, task: str, progress: Optional[str] = None) -> str:
        """We still work on it. `wanted`; `late`: given up as silent, a late result is accepted; `unwanted`: cancelled, overdue or ended."""
        answer = self.post(self.task_path(task, "/heartbeat"), {} if progress is None else {"progress": progress}, repeatable=True)
        found = answer.json()
        if not isinstance(found, dict) or not found.get("cancel"):
            return "wanted"
        return "late" if found.get("status") == "stuck" else "unwanted"

    def end_task(self, task: str, failed: bool, text: str, files: Sequence[Json], key: str) -> None:
        body = {"status": "failed" if failed else "completed", "error" if failed else "result": text, **_attachments(files)}
        self.post(self.task_path(task, "/update"), body, key)


def _attachments(files: Sequence[Json]) -> Json:
    kept = ("uri", "name", "mimeType", "size")
    listed = [{name: file[name] for name in kept if file.get(name) is not None} for file in files]
    return {"attachments": listed} if listed else {}
