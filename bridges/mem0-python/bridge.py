"""Mem0's Python SDK, 1.x and 2.x: local Qdrant and the SDK's own SQLite history, one bank a process."""
import os
from importlib.metadata import version

from protocol import Bridge, BridgeError, canonical, read_rows, serve

USER = "user"
COLLECTION = "memories"
MAX_TOKENS = 8000


class Mem0Bridge(Bridge):
    framework = "mem0"
    package = "mem0ai"

    def __init__(self):
        super().__init__()
        self.additive = not version("mem0ai").startswith("1.")
        self.memory = None

    def warm(self):
        # 1.x writes the day into its prompt when it is imported: that has to wait for the bank's clock.
        if self.additive:
            self._import()

    def _import(self):
        # The SDK keeps a user account beside the bank unless it is told where.
        os.environ["MEM0_DIR"] = os.path.join(os.environ["HOME"], "mem0")
        import mem0

        return mem0

    def open(self, request):
        self.dir = request["dir"]
        model, embeddings = request["model"], request["embeddings"]
        dimensions = embeddings["dimensions"]
        embedder = {
            "model": embeddings["model"],
            "api_key": embeddings["apiKey"],
            "openai_base_url": embeddings["baseUrl"],
        }
        if not self.additive:
            embedder["embedding_dims"] = dimensions
        self.memory = self._import().Memory.from_config({
            "version": "v1.1",
            "llm": {"provider": "openai", "config": {
                "model": model["model"],
                "api_key": model["apiKey"],
                "openai_base_url": model["baseUrl"],
                "temperature": 0.1,
                "max_tokens": MAX_TOKENS,
                "top_p": 0.1,
            }},
            "embedder": {"provider": "openai", "config": embedder},
            "vector_store": {"provider": "qdrant", "config": {
                "collection_name": COLLECTION,
                "path": os.path.join(self.dir, "qdrant"),
                "embedding_model_dims": dimensions,
                "on_disk": True,
            }},
            "history_db_path": os.path.join(self.dir, "history.db"),
        })
        # The gateway does the retrying, and tells what may be retried.
        self.memory.llm.client.max_retries = 0
        self.memory.embedding_model.client.max_retries = 0
        self._watch(self.memory.embedding_model)

    def _watch(self, embedder):
        """2.x leaves out an entity that it cannot embed, without a word; a batch that fails it asks for text by text."""
        embed = embedder.embed
        self.lost_embeddings = []

        def watched(*args, **kwargs):
            try:
                return embed(*args, **kwargs)
            except Exception as error:
                self.lost_embeddings.append(str(error))
                raise

        embedder.embed = watched

    def write(self, request):
        messages = [_message(message) for message in request["messages"]]
        self.lost_embeddings.clear()
        try:
            self.memory.add(messages, user_id=USER)
        finally:
            if self.lost_embeddings:
                lost = self.lost_embeddings
                raise BridgeError("embedder", "%d embeddings failed: %s" % (len(lost), lost[0]))
        return []

    def list(self):
        count = self.memory.vector_store.client.count(COLLECTION).count
        found = self._get_all(count + 1)
        return [{"id": one["id"], "text": one["memory"], "store": "memory"} for one in found], count

    def _get_all(self, limit):
        if self.additive:
            return self.memory.get_all(filters={"user_id": USER}, top_k=limit)["results"]
        return self.memory.get_all(user_id=USER, limit=limit)["results"]

    def retrieve(self, question, top_k):
        if self.additive:
            found = self.memory.search(question, filters={"user_id": USER}, top_k=top_k)
        else:
            found = self.memory.search(question, user_id=USER, limit=top_k)
        return "\n".join(one["memory"] for one in found["results"])

    def content(self):
        memories, count = self.list()
        if len(memories) != count:
            raise BridgeError("store", "%d memories listed, the store holds %d" % (len(memories), count))
        return [canonical(["memory", one["text"]]) for one in memories] + self._shown_messages()

    def _shown_messages(self):
        """2.x shows the last messages of earlier writes again: they influence the next one."""
        if not self.additive:
            return []
        rows = read_rows(
            os.path.join(self.dir, "history.db"),
            "select role, content from messages order by created_at, rowid",
        )
        return [canonical(["message", place, role, content]) for place, (role, content) in enumerate(rows)]

    def close(self):
        self.memory.close()
        self.memory.vector_store.client.close()


def _message(message):
    speaker = message.get("speaker")
    text = message["text"] if speaker is None else "%s: %s" % (speaker, message["text"])
    return {"role": message["role"], "content": text}


if __name__ == "__main__":
    serve(Mem0Bridge)
