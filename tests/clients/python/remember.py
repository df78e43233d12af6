"""Commands that a client cannot forget.

`remember` stores a key and the bytes before the first byte is sent. `outcome` sends them until the service tells what happened,
and stores that before it returns it. After a restart, `open` lists the commands without an outcome: ask for each again.
"""

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any
from uuid import uuid4

import httpx
from retries import ATTEMPTS, Retries

LIFE = 29 * 86400.0  # seconds; a service remembers a key for 30 days


@dataclass(frozen=True)
class Command:
    name: str
    key: str
    path: str
    body: bytes
    at: float


@dataclass(frozen=True)
class Happened:
    """The command took effect. If the service was asked more than 24 hours later, `body` is None: read the resource."""

    status: int
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Never:
    """The command did not happen, and never will."""


@dataclass(frozen=True)
class Refused:
    """The service refused the command, for the reason in `problem`. It did not happen, and never will."""

    problem: dict[str, Any]


Outcome = Happened | Never | Refused
OUTCOMES: dict[str, type[Outcome]] = {kind.__name__: kind for kind in (Happened, Never, Refused)}


class Undecided(Exception):
    """The service did not tell what happened. The command stays open: ask for its outcome later."""


class Store:
    """An SQLite file for the commands of one service. Threads may share it, and processes may share the file."""

    def __init__(self, path: str) -> None:
        self._lock = Lock()
        self._db = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        self._run("PRAGMA journal_mode = WAL")
        self._run("PRAGMA synchronous = FULL")
        self._run("CREATE TABLE IF NOT EXISTS command (name PRIMARY KEY, key UNIQUE, path, body, at, outcome)")

    def put(self, command: Command) -> Command:
        """Stores the command, unless there is one of its name. Returns the stored one."""
        row = (command.name, command.key, command.path, command.body, command.at)
        self._run("INSERT INTO command VALUES (?, ?, ?, ?, ?, NULL) ON CONFLICT DO NOTHING", *row)
        return Command(*self._run("SELECT name, key, path, body, at FROM command WHERE name = ?", command.name)[0])

    def settle(self, command: Command, outcome: Outcome) -> None:
        """Stores the outcome, unless there is one."""
        told = json.dumps([type(outcome).__name__, vars(outcome)])
        self._run("UPDATE command SET outcome = ? WHERE key = ? AND outcome IS NULL", told, command.key)

    def get(self, command: Command) -> Outcome | None:
        """The outcome."""
        rows = self._run("SELECT outcome FROM command WHERE key = ? AND outcome IS NOT NULL", command.key)
        for (told,) in rows:
            kind, members = json.loads(told)
            return OUTCOMES[kind](**members)
        return None

    def open(self) -> list[Command]:
        rows = self._run("SELECT name, key, path, body, at FROM command WHERE outcome IS NULL ORDER BY at")
        return [Command(*row) for row in rows]

    def delete(self, command: Command) -> None:
        """Deletes the command, if it has an outcome."""
        self._run("DELETE FROM command WHERE key = ? AND outcome IS NOT NULL", command.key)

    def _run(self, sql: str, *values: object) -> list[Any]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()


class Commands:
    """The commands of one service. `token` returns a bearer token. The key is fenced after so many attempts without an outcome, and
    an operation is followed for so many seconds in one call. Threads may share it."""

    def __init__(
        self, store: Store, base_url: str, token: Callable[[], str], attempts: int = ATTEMPTS, patience: float = 60
    ) -> None:
        self._store, self._token, self._patience = store, token, patience
        self._http = httpx.Client(base_url=base_url, transport=Retries(attempts), timeout=10)

    def remember(self, path: str, body: bytes, name: str = "") -> Command:
        """Stores a command, a POST that takes a key, before it is sent. With a name of the caller's, such as the id of a cart, a
        second call returns the first command."""
        key = str(uuid4())
        command = self._store.put(Command(name or key, key, path, body, time.time()))
        if (command.path, command.body) != (path, body):
            raise ValueError(f"{name} is the name of another command")
        return command

    def open(self) -> list[Command]:
        """The commands without an outcome, oldest first."""
        return self._store.open()

    def forget(self, command: Command) -> None:
        """Deletes a command whose outcome the caller has used. A command without an outcome stays."""
        self._store.delete(command)

    def outcome(self, command: Command) -> Outcome:
        """Sends the command until its outcome is known. Raises `Undecided` if the service cannot be asked."""
        known = self._store.get(command)
        if known is None:
            self._store.settle(command, self._decide(command))
            known = self._store.get(command)
        assert known is not None, "the command was deleted"
        return known

    def _decide(self, command: Command) -> Outcome:
        if time.time() - command.at > LIFE:
            raise Undecided("the service may have forgotten the key: read the resource")
        response = self._send(command)
        if not tells(response):
            # Gives up. This holds for a refusal, too: it may be of this attempt alone, after one that took effect.
            records = self._read("POST", f"/v1/idempotency-keys/{command.key}/fence")["data"]
            if not records:
                return without_effect(response)
            record = records[0]
            if record["state"] == "expired" and record["status"] != 202:
                return ended(record["status"], {}, None)
            if record["state"] not in ("completed", "failed_terminal"):
                return self._follow(record["operation_id"])
            response = self._send(command)
        if response is None or not tells(response):
            raise Undecided("the stored response did not arrive")
        if response.status_code == 202:
            return self._follow(response.json()["operation_id"])
        return ended(response.status_code, dict(response.headers), response.json() if response.content else None)

    def _follow(self, operation: str) -> Outcome:
        until = time.monotonic() + self._patience
        while time.monotonic() < until:
            reply = self._read("GET", f"/v1/operations/{operation}")["reply"]
            if reply is not None:
                return ended(reply["status"], reply["headers"], reply["body"])
            time.sleep(1)
        raise Undecided("the operation has not ended")

    def _send(self, command: Command) -> httpx.Response | None:
        headers = {"Idempotency-Key": command.key, "Content-Type": "application/json"}
        return self._request("POST", command.path, headers, command.body)

    def _read(self, method: str, path: str) -> Any:
        response = self._request(method, path, {}, b"")
        try:
            if response is not None and response.status_code == 200:
                return response.json()
        except ValueError:
            pass  # A gateway's page.
        raise Undecided(f"{method} {path}: {response}")

    def _request(self, method: str, path: str, headers: dict[str, str], body: bytes) -> httpx.Response | None:
        """Asks by the retry policy, twice if the token has expired meanwhile. Returns None if there was no response at last."""
        for _ in range(2):
            authorization = {"Authorization": f"Bearer {self._token()}"}
            try:
                response = self._http.request(method, path, content=body, headers=headers | authorization)
            except httpx.TransportError:
                return None
            if response.status_code != 401:
                return response
        raise Undecided("the token is refused")


def tells(response: httpx.Response | None) -> bool:
    """Reports whether this is the stored response of the key. A response without this header may be a gateway's."""
    return response is not None and response.headers.get("Idempotency-Status") in ("executed", "replayed")


def ended(status: int, headers: dict[str, str], body: Any) -> Outcome:
    return Happened(status, headers, body) if status < 400 else Refused(body or {"status": status})


def without_effect(response: httpx.Response | None) -> Outcome:
    """The outcome of a fenced key without a record, after this last response."""
    try:
        problem = response.json() if response is not None else {}
        if problem["retryable"] is False and problem["code"] != "idempotency-key-fenced":
            return Refused(problem)
    except (ValueError, TypeError, KeyError):
        pass  # No response, or a gateway's.
    return Never()
