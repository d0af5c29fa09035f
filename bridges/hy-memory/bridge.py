"""Hy-Memory in one of its three scenes: chat, working or coding. One client, one bank, one constant session."""
import base64
import json
import os
import struct
import uuid
from datetime import datetime, timezone

from protocol import Bridge, BridgeError, canonical, read_rows, serve

USER, AGENT, SESSION = "user", "agent", "main"
PAGE = 1000
#: The layer of the one row that is merged from what the model says about the user.
PROFILE = "l0_basic_info"
#: Above it the framework's own vector query is cut off without a word.
ROW_CAP = 10_000
#: From this cosine on, the framework keeps one of two memories of an extraction (its MEMORY_DEDUP_THRESHOLD).
NEAR_COPY = 0.95
#: Which file holds the working facts of a scene.
FACT_FILES = {"working": "coding_memory.db", "coding": "coding_memory_cv.db"}


class HyMemoryBridge(Bridge):
    framework = "hy-memory"
    package = "hy-memory"

    def warm(self):
        os.environ.update({
            "MEMORY_MODE": "pro",
            # Logs hold whole messages: they belong beside the bank, not in it.
            "MEMORY_LOG_DIR": os.path.join(os.environ["HOME"], "logs"),
            "MEMORY_LOG_LEVEL": "WARNING",
            "MEMORY_VECTOR_STORE": "chroma",
            # The gateway does the retrying.
            "MEMORY_LLM_MAX_RETRIES": "1",
            "MEMORY_EMBEDDER_MAX_RETRIES": "1",
            "MEMORY_EMBEDDER_TIMEOUT": "60",
            "MEMORY_EMBED_BATCH_WINDOW_MS": "1",
            "MEMORY_AGENT_MAX_TOKENS": "8000",
            # A read must not change the bank.
            "MEMORY_SEARCH_DEDUP_ENABLED": "false",
            "MEMORY_RECALL_ACCESS_TRACKING": "false",
            "MEMORY_PIPELINE_TRACE_ENABLED": "false",
            "MEMORY_TRACE_ENABLED": "false",
            "MEMORY_HISTORY_ENABLE": "false",
            "MEMORY_THREAD_POOL_SIZE": "8",
        })
        # Read when it is imported; the client's own libraries come with the first call otherwise.
        import hy_memory  # noqa: F401
        import openai.resources  # noqa: F401

    def open(self, request):
        self.dir = request["dir"]
        self.scene = request["settings"]["scene"]
        model, embeddings = request["model"], request["embeddings"]
        os.environ.update({
            "MEMORY_DATA_DIR": self.dir,
            "MEMORY_LLM_BASE_URL": model["baseUrl"],
            "MEMORY_LLM_API_KEY": model["apiKey"],
            "MEMORY_LLM_MODEL": model["model"],
            "MEMORY_EMBEDDER_BASE_URL": embeddings["baseUrl"],
            "MEMORY_EMBEDDER_API_KEY": embeddings["apiKey"],
            "MEMORY_EMBEDDER_MODEL": embeddings["model"],
            "MEMORY_EMBEDDING_DIMS": str(embeddings["dimensions"]),
        })
        import httpx
        from hy_memory import HyMemoryClient, MemoryConfig
        from hy_memory.utils.model_call_context import current_model_call_stage

        # By what was asked, so that a retry which succeeds takes it back.
        lost = self.lost_embeddings = {}
        vectors = self.vectors = {}

        class LabelledTransport(httpx.AsyncHTTPTransport):
            """The framework's own seam: it tells what each call is for, and which embedding failed."""

            async def handle_async_request(self, request):
                request.headers["x-memwriter-stage"] = current_model_call_stage()
                asked = request.content if request.url.path.endswith("/embeddings") else None
                try:
                    response = await super().handle_async_request(request)
                except Exception as error:
                    if asked is not None:
                        lost[asked] = str(error) or type(error).__name__
                    raise
                if asked is not None and response.status_code != 200:
                    lost[asked] = "HTTP %d" % response.status_code
                else:
                    lost.pop(asked, None)
                    if asked is not None:
                        vectors.update(_vectors(asked, await response.aread()))
                return response

        config = MemoryConfig.from_env()
        config.http_transport_factory = LabelledTransport
        self.client = HyMemoryClient(config, mode="pro")

    def write(self, request):
        messages = [_message(message) for message in request["messages"]]
        if self.scene != "chat" and not any("tool_calls" in one or one["role"] == "tool" for one in messages):
            raise BridgeError("harness", "a %s chunk needs a tool turn: without one the framework runs chat" % self.scene)
        before = self._aside()
        self.vectors.clear()
        result = self.client.add(
            messages,
            user_id=USER,
            agent_id=AGENT,
            session_id=SESSION,
            # The wall time of the conversation, as the clock shows it.
            memory_at=datetime.now(timezone.utc),
            scene=self.scene,
            # A finished id would answer again without asking the model.
            request_id=str(uuid.uuid4()),
        )
        self._require_embeddings()
        if not result.get("success"):
            reason = result.get("error_message") or result.get("agent_error_code") or result.get("error_code")
            raise BridgeError("harness", "the write was refused: %s" % (reason,))
        if self.scene != "chat" and result.get("scene") not in (self.scene, "productivity"):
            raise BridgeError("harness", "a %s chunk ran as %s" % (self.scene, result.get("scene")))
        return self._side_effects(before)

    def _require_embeddings(self):
        """Without a vector the framework stores a draft unmerged, never to be found, and finds nothing, without a word."""
        lost = list(self.lost_embeddings.values())
        self.lost_embeddings.clear()
        if lost:
            raise BridgeError("embedder", "%d embedding calls failed: %s" % (len(lost), lost[0]))

    def _aside(self):
        """What the framework changes of its own accord: rows put aside as duplicates, and the profile's one row."""
        if self.scene != "chat":
            return {}, {}
        active = {row["memory_id"]: row for row in self._rows(["active"])}
        shadow = {row["memory_id"]: row for row in self._rows(["shadow"])}
        return active, shadow

    def _side_effects(self, before):
        active, shadow = self._aside()
        effects = []
        # A raw chunk is put aside after every write; it was never listed.
        aside = [row["content"] for key, row in before[0].items() if key in shadow]
        if aside:
            effects.append({"name": "shadowed", "removed": aside, "added": []})
        listed = {row["content"] for row in active.values()}
        copies = [text for text in self.vectors if text not in listed and self._is_near(text, listed)]
        if copies:
            effects.append({"name": "near-copy", "removed": copies, "added": []})
        removed, added = _profile(before[0]), _profile(active)
        if removed != added:
            effects.append({"name": "profile", "removed": removed, "added": added})
        return effects

    def _is_near(self, text, listed):
        """Whether it was put aside for another memory of the same write, which is there."""
        mine = self.vectors[text]
        others = (vector for other, vector in self.vectors.items() if other in listed)
        return any(_cosine(mine, vector) >= NEAR_COPY for vector in others)

    def list(self):
        if self.scene == "chat":
            rows = self._rows(["active"])
            # An answer's null is stored as one: the answer is malformed, the listing is whole.
            found = [{"id": row["memory_id"], "text": row["content"] or "", "store": row["layer"]} for row in rows]
            return found, len(rows)
        experiences, total = self._experiences()
        facts = self._facts()
        found = [
            {"id": one["experience_id"], "text": _experience_text(one), "store": "experience"} for one in experiences
        ] + [{"id": fact, "text": statement, "store": "fact"} for fact, statement in facts]
        return found, total + len(facts)

    def _rows(self, statuses):
        rows = []
        while True:
            page = self.client.list_memories(
                user_id=USER, limit=PAGE, offset=len(rows), order="asc", statuses=statuses
            )["vdb"]
            rows += page["memories"]
            if page["total"] >= ROW_CAP:
                raise BridgeError("store", "the framework lists %d rows at most" % ROW_CAP)
            if len(rows) >= page["total"] or not page["memories"]:
                if len(rows) != page["total"]:
                    raise BridgeError("store", "%d of %d rows were listed" % (len(rows), page["total"]))
                return rows

    def _experiences(self):
        found = []
        while True:
            page = self.client.list_memories(user_id=USER, limit=PAGE, offset=len(found), scene=self.scene)
            found += page["experiences"]
            if len(found) >= page["total"] or not page["experiences"]:
                return found, page["total"]

    def _facts(self):
        """The framework lists no facts: they are read from its own file."""
        path = os.path.join(self.dir, "data", FACT_FILES[self.scene])
        if not os.path.exists(path):
            return []
        query = "select fact_id, statement from working_fact where status = 'active' order by created_at, fact_id"
        return read_rows(path, query)

    def retrieve(self, question, top_k):
        found = self.client.search(question, scene=self.scene, user_ids=[USER], limit=top_k, **self._search_options())
        self._require_embeddings()
        if self.scene == "chat":
            return "\n".join(one["content"] for channel in found["memories"].values() for one in channel)
        facts = [one["statement"] for one in found["facts"]]
        return "\n".join(facts + [_experience_text(one) for one in found["experiences"]])

    def _search_options(self):
        """The default threshold can return nothing from a bank that is not empty."""
        return {"min_score": 0.0} if self.scene == "chat" else {}

    def content(self):
        if self.scene == "chat":
            rows = self._rows(["active", "superseded", "shadow"])
            return [canonical([row["layer"], row["status"], row["content"], row["tags"]]) for row in rows]
        experiences, _ = self._experiences()
        parts = [canonical(["experience", _experience_text(one), one["search_keys"]]) for one in experiences]
        path = os.path.join(self.dir, "data", FACT_FILES[self.scene])
        if os.path.exists(path):
            rows = read_rows(path, "select subject, statement, status, fact_chain_summary from working_fact")
            parts += [canonical(["fact", *row]) for row in rows]
        return parts

    def close(self):
        self.client.close()


def _vectors(request, response):
    """By text, as the framework was answered: base64 of little-endian floats."""
    rows = sorted(json.loads(response)["data"], key=lambda row: row["index"])
    return {
        text: struct.unpack("<%df" % (len(raw) // 4), raw)
        for text, raw in zip(json.loads(request)["input"], (base64.b64decode(row["embedding"]) for row in rows))
    }


def _cosine(left, right):
    dot = sum(a * b for a, b in zip(left, right))
    return dot / ((sum(a * a for a in left) * sum(b * b for b in right)) ** 0.5 or 1.0)


def _profile(rows):
    return [row["content"] for row in rows.values() if row["layer"] == PROFILE]


def _experience_text(experience):
    return "%s\n%s" % (experience.get("task") or "", experience.get("solution") or "")


def _message(message):
    """Tool traffic goes in as it was; what was rendered for frameworks that know none stays out."""
    plain = {"role": message["role"], "content": message.get("spokenText", message["text"])}
    if message.get("speaker"):
        plain["name"] = message["speaker"]
    if message.get("toolCallId"):
        plain["tool_call_id"] = message["toolCallId"]
    if message.get("toolCalls"):
        plain["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in message["toolCalls"]
        ]
    return plain


if __name__ == "__main__":
    serve(HyMemoryBridge)
