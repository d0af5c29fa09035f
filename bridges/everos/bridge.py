"""EverOS: its own application in this process, driven through its public routes, settled after every write."""
import asyncio
import contextlib
import glob
import os
import time
from datetime import datetime

from protocol import Bridge, BridgeError, Clock, canonical, read_rows, serve

USER, ASSISTANT = "user", "assistant"
PAGE = 100
SETTLE_SECONDS = 240


class MessageClock(Clock):
    """No prompt and no memory shows the process's time, and a clock that stands still would stop the schedulers."""

    def set(self, now):
        pass


class EverosBridge(Bridge):
    framework = "everos"
    package = "everos"

    def __init__(self):
        super().__init__()
        self.clock = MessageClock()
        self.loop = asyncio.new_event_loop()
        self.fired = set()

    def _run(self, work):
        return self.loop.run_until_complete(work)

    # --- open and close

    def open(self, request):
        self._run(self._open(request))

    async def _open(self, request):
        import importlib.resources

        import httpx

        self.root = request["dir"]
        if "%" in self.root:
            raise BridgeError("store", "everos reads a %% in its directory as an escape: %s" % self.root)
        model, embeddings = request["model"], request["embeddings"]
        # Everything in it is one a process and reads its settings once.
        os.environ.update({
            "EVEROS_ROOT": self.root,
            "EVEROS_LLM__MODEL": model["model"],
            "EVEROS_LLM__API_KEY": model["apiKey"],
            "EVEROS_LLM__BASE_URL": model["baseUrl"],
            "EVEROS_EMBEDDING__MODEL": embeddings["model"],
            "EVEROS_EMBEDDING__API_KEY": embeddings["apiKey"],
            "EVEROS_EMBEDDING__BASE_URL": embeddings["baseUrl"],
            # The gateway does the retrying.
            "EVEROS_EMBEDDING__MAX_RETRIES": "0",
            "EVEROS_EMBEDDING__DIM": str(embeddings["dimensions"]),
            "EVEROS_MEMORIZE__MODE": "chat",
            "EVEROS_MEMORY__TIMEZONE": "UTC",
            "EVEROS_OBSERVABILITY__ENABLED": "false",
            "EVEROS_DISABLE_CASCADE_WATCHER": "1",
        })
        # The profile step would race the index it reads; it is switched off and fired when the index is there.
        template = (importlib.resources.files("everos") / "config" / "default_ome.toml").read_text()
        with open(os.path.join(self.root, "ome.toml"), "w", encoding="utf-8") as file:
            file.write(template + "\n[strategies.extract_user_profile]\nenabled = false\n")
        from everos.core.observability.logging import configure_logging
        from everos.entrypoints.api.app import create_app

        configure_logging(level="WARNING")
        app = create_app()
        self.stack = contextlib.AsyncExitStack()
        await self.stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self.http = await self.stack.enter_async_context(
            httpx.AsyncClient(transport=transport, base_url="http://bank/api/v2", timeout=None)
        )
        self.cascade, self.engine = app.state.lifespan_data["cascade"], app.state.lifespan_data["ome"]
        self._pending_profiles()

    def close(self):
        self._run(self._close())
        self.loop.close()

    async def _close(self):
        await self._settle()
        await self.stack.aclose()

    # --- write

    def write(self, request):
        self._run(self._write(request))
        return []

    async def _write(self, request):
        # A session of its own a chunk: what an earlier one left in the buffer would leak into this flush.
        session = "s%d-%d" % (request["index"], len(self._rows("system", "select 1 from memcell")))
        started = datetime.fromisoformat(request["at"]).replace(tzinfo=None)
        base = int((started - datetime(1970, 1, 1)).total_seconds() * 1000)
        messages = [_message(message, base + 1000 * i) for i, message in enumerate(request["messages"])]
        run_mark = self._last_run()
        await self._post("/add", {"session_id": session, "messages": messages, "defer_extraction": True})
        await self._post("/flush", {"session_id": session})
        await self._settle()
        self._require_whole(run_mark, session)

    def _require_whole(self, run_mark, session):
        """The framework says "extracted" whatever became of the chunk."""
        dead = [row[1] for row in self._rows("ome", "select rowid, strategy_name, status from run_record")
                if row[0] > run_mark and row[2] == "dead_letter"]
        if dead:
            raise BridgeError("harness", "dead letters: %s" % ", ".join(dead))
        parents = {entry["parent"] for entry in self._entries("episodes")}
        lost = [row[0] for row in self._rows("system", "select memcell_id from memcell") if row[0] not in parents]
        if lost:
            raise BridgeError("harness", "%d cells of the conversation have no episode" % len(lost))
        buffered = [row for row in self._rows("system", "select session_id from unprocessed_buffer") if row[0] == session]
        if buffered:
            raise BridgeError("harness", "%d messages stayed in the buffer" % len(buffered))

    async def _settle(self):
        """Until no strategy runs, all Markdown is indexed, and the profile has seen every new episode in order."""
        end = time.monotonic() + SETTLE_SECONDS
        while True:
            await self._idle(end)
            await self.cascade._scanner.scan_once()
            while (await self.cascade.queue_summary()).pending:
                if not await self.cascade._worker.drain_once():
                    await asyncio.sleep(0.02)
                if time.monotonic() > end:
                    raise BridgeError("store", "the index did not settle in %d s" % SETTLE_SECONDS)
            events = self._pending_profiles()
            for event in events:
                await self.engine.trigger_manual("extract_user_profile", event=event, force=True)
                await self._idle(end)
            summary = await self.cascade.queue_summary()
            # What a profile wrote has yet to be indexed.
            if not events and self.engine._active_runs == 0 and summary.pending == 0:
                break
        if summary.failed_retryable or summary.failed_permanent:
            raise BridgeError("embedder", "%d rows were not indexed" % (summary.failed_retryable + summary.failed_permanent))

    async def _idle(self, end):
        if not await self.engine.wait_idle(timeout=max(0.1, end - time.monotonic())):
            raise BridgeError("harness", "its strategies did not end in %d s" % SETTLE_SECONDS)

    def _pending_profiles(self):
        from everos.memory.events import ProfileClusterUpdated

        query = (
            "select m.member_id, m.cluster_id, c.owner_id, c.app_id, c.project_id from cluster_member m"
            " join cluster c using (cluster_id) where c.kind = 'user_memory' order by m.member_id"
        )
        parents = {(entry["owner"], entry["id"]): entry["parent"] for entry in self._entries("episodes")}
        events = []
        for member, cluster, owner, app, project in self._rows("system", query):
            # Entry ids are unique for one owner only.
            if (owner, member) in self.fired:
                continue
            self.fired.add((owner, member))
            events.append(ProfileClusterUpdated(
                memcell_id=parents.get((owner, member), ""),
                cluster_id=cluster,
                owner_id=owner,
                app_id=app,
                project_id=project,
            ))
        return events

    # --- read

    def list(self):
        return self._run(self._list())

    async def _list(self):
        found, count = [], 0
        for owner in self._owners():
            episodes, total = await self._episodes(owner)
            found += [{"id": one["id"], "text": one["episode"], "store": "episode"} for one in episodes]
            profile = await self._profile(owner)
            found += [{"id": "%s/profile/%d" % (owner, i), "text": text, "store": "profile"} for i, text in enumerate(profile)]
            count += total + len(profile)
        facts = self._entries(".atomic_facts")
        found += [{"id": "%s/%s" % (one["owner"], one["id"]), "text": one["sections"].get("Fact") or "", "store": "fact"} for one in facts]
        return found, count + len(facts)

    async def _episodes(self, owner):
        found, page = [], 1
        while True:
            data = await self._post("/get", {
                "user_id": owner, "memory_type": "episode", "page": page, "page_size": PAGE, "sort_order": "asc",
            })
            found += data["episodes"]
            if len(found) >= data["total_count"] or not data["episodes"]:
                return found, data["total_count"]
            page += 1

    async def _profile(self, owner):
        data = await self._post("/get", {"user_id": owner, "memory_type": "profile"})
        return [line for profile in data["profiles"] for line in _profile_lines(profile)]

    def retrieve(self, question, top_k):
        return self._run(self._retrieve(question, top_k))

    async def _retrieve(self, question, top_k):
        data = await self._post("/search", {
            "user_id": USER, "query": question, "method": "hybrid", "top_k": top_k, "include_profile": True,
        })
        lines = [line for profile in data.get("profiles") or [] for line in _profile_lines(profile)]
        for episode in data.get("episodes") or []:
            lines.append(episode["episode"])
            lines += [fact["content"] for fact in episode.get("atomic_facts") or []]
        return "\n".join(lines)

    def content(self):
        memories, _ = self.list()
        return [canonical([one["store"], one["text"]]) for one in memories]

    # --- its files

    def _owners(self):
        return sorted(os.path.basename(path) for path in glob.glob(os.path.join(glob.escape(self.root), "default_app/default_project/users/*")))

    def _entries(self, kind):
        from everos.core.persistence.markdown import split_entries

        found = []
        for owner in self._owners():
            place = os.path.join(glob.escape(self.root), "default_app/default_project/users", owner, kind, "*.md")
            for path in sorted(glob.glob(place, include_hidden=True)):
                with open(path, encoding="utf-8") as file:
                    entries = [entry.as_structured() for entry in split_entries(file.read())]
                found += [
                    {"owner": owner, "id": one.id, "parent": one.inline.get("parent_id", ""), "sections": one.sections}
                    for one in entries
                ]
        return found

    def _rows(self, name, query):
        return read_rows(os.path.join(self.root, ".index", "sqlite", name + ".db"), query)

    def _last_run(self):
        rows = self._rows("ome", "select max(rowid) from run_record")
        return rows[0][0] or 0

    async def _post(self, path, body):
        response = await self.http.post("/memory" + path, json=body)
        if response.status_code != 200:
            raise BridgeError("harness", "%s answered %d: %s" % (path, response.status_code, response.text[:300]))
        return response.json()["data"]


def _profile_lines(profile):
    data = profile.get("profile_data") or profile
    explicit = ["%s: %s" % (one.get("category"), one.get("description")) for one in data.get("explicit_info") or []]
    return explicit + ["%s: %s" % (one.get("trait"), one.get("description")) for one in data.get("implicit_traits") or []]


def _message(message, at):
    role = message["role"] if message["role"] in ("user", "assistant") else "assistant"
    sender = {"sender_id": USER if role == "user" else ASSISTANT, "role": role, "timestamp": at, "content": message["text"]}
    if message.get("speaker"):
        sender["sender_name"] = message["speaker"]
    return sender


if __name__ == "__main__":
    serve(EverosBridge)
