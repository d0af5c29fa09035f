"""The bridge protocol: one memory framework behind JSON lines on stdin and stdout. Standard library only.

A bridge is a script that subclasses `Bridge` and ends with `serve(MyBridge)`. `serve` moves fd 1 away before the bridge
imports its framework, so that whatever a framework prints lands on stderr and never in a frame. Requests are served one
after another, in order; the caller keeps the deadlines and kills a bridge that misses one. See src/harness/bridge/protocol.ts.
"""
import hashlib
import json
import os
import signal
import sqlite3
import sys
import threading
import traceback
from datetime import datetime
from pathlib import Path
from time import sleep

PROTOCOL_VERSION = 1


class BridgeError(Exception):
    """A failure whose boundary is known: "harness", "store", "embedder" or "retriever"."""

    def __init__(self, boundary, message):
        super().__init__(message)
        self.boundary = boundary


class Clock:
    """What this process sees as now. Frozen at the conversation's time; monotonic time goes on."""

    def __init__(self):
        self._traveller = None

    def set(self, now):
        """`now`: ISO time with offset. The conversation's own wall time becomes the process's UTC wall time."""
        import time_machine

        wall = datetime.fromisoformat(now.replace("Z", "+00:00")).replace(tzinfo=None)
        if self._traveller is not None:
            self._traveller.stop()
        self._traveller = time_machine.travel(wall.isoformat() + "+00:00", tick=False)
        self._traveller.start()


class Bridge:
    """What a framework's script supplies. Every method may raise; `BridgeError` names a boundary, all else is "harness"."""

    #: Name of the framework and of its distribution, e.g. "hy-memory".
    framework = ""
    package = ""

    def __init__(self):
        self.clock = Clock()

    def warm(self):
        """Imports what can be imported before a bank is known. Must open no file of a bank and no connection."""

    def open(self, request):
        """request: dir, model {baseUrl, apiKey, model}, embeddings {… dimensions}, now, settings."""
        raise NotImplementedError

    def write(self, request):
        """request: chunkId, sessionId, index, at, messages. Returns when settled: a list of side effects
        `{"name", "removed": [text], "added": [text]}`, read from the store, that no answer of the model asked for."""
        raise NotImplementedError

    def list(self):
        """All memories `{"id", "text", "store"}`, and their number as the store itself counts it: (memories, count)."""
        raise NotImplementedError

    def retrieve(self, question, top_k):
        """The block that the framework's own reader would see. Leaves the bank as it was."""
        raise NotImplementedError

    def content(self):
        """Strings whose multiset is all that can influence a later write or read: no random ids, no times."""
        raise NotImplementedError

    def close(self):
        """Afterwards the directory may be copied."""
        raise NotImplementedError


def canonical(value):
    """One string for equal values, for `content`."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def read_rows(path, query):
    """Rows of a framework's own SQLite file, opened so that nothing can be changed. `path` may hold any character."""
    connection = sqlite3.connect(Path(path).absolute().as_uri() + "?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def serve(bridge_type):
    """Runs the bridge until stdin ends or "close" was answered."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    stdin = os.fdopen(os.dup(0), "r", encoding="utf-8", newline="\n")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def write(line):
        out.write(line + "\n")
        out.flush()

    def send(frame):
        write(json.dumps(frame))

    threading.Thread(target=_die_with_parent, args=(os.getppid(),), daemon=True).start()
    bridge = bridge_type()
    bridge.warm()
    send({
        "protocol": PROTOCOL_VERSION,
        "framework": bridge.framework,
        "package": bridge.package,
        "version": _version(bridge.package),
        "python": "%d.%d.%d" % sys.version_info[:3],
        "pid": os.getpid(),
    })
    for line in stdin:
        request = json.loads(line)
        try:
            frame = json.dumps({"id": request["id"], "ok": True, "result": _answer(bridge, request)}, allow_nan=False)
        except Exception as error:  # noqa: BLE001 - every failure becomes a typed error frame
            traceback.print_exc(file=sys.stderr)
            send({"id": request["id"], "ok": False, "error": {
                "type": type(error).__name__,
                "boundary": getattr(error, "boundary", "harness"),
                "message": str(error)[:4000],
            }})
        else:
            write(frame)
        if request["op"] == "close":
            break


def _die_with_parent(parent):
    """Input that ends is seen between requests only; a write that hangs would outlive a caller that was killed."""
    while os.getppid() == parent:
        sleep(1)
    # Whatever the framework started (a database server, say) is of this process's group, and ends with it.
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _version(package):
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "source"


def _answer(bridge, request):
    op = request["op"]
    if op == "open":
        bridge.clock.set(request["now"])
        bridge.open(request)
        return {}
    if op == "write":
        bridge.clock.set(request["at"])
        return {"sideEffects": list(bridge.write(request) or [])}
    if op == "list":
        memories, count = bridge.list()
        return {"memories": memories, "count": count}
    if op == "retrieve":
        return {"block": bridge.retrieve(request["question"], request["topK"])}
    if op == "hash":
        digest = hashlib.sha256()
        for part in sorted(bridge.content()):
            digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
        return {"hash": digest.hexdigest()}
    if op == "close":
        bridge.close()
        return {}
    raise BridgeError("harness", "unknown operation %r" % (op,))
