"""MemOS: the memory reader of its own server, over general text memory on embedded Qdrant."""
import os

from protocol import Bridge, BridgeError, canonical, serve

USER = "user"
COLLECTION = "bank"
MAX_TOKENS = 8192
#: What a later search may weigh, beside the text.
IDENTITY = ("key", "tags", "memory_type", "background")


class MemosBridge(Bridge):
    framework = "memos"
    package = "MemoryOS"

    def warm(self):
        # Logs hold whole prompts and grow with every write: they belong beside the bank, not in it.
        os.environ["MEMOS_BASE_PATH"] = os.environ["HOME"]
        import memos.mem_reader.factory  # noqa: F401
        import memos.memories.factory  # noqa: F401
        import openai.resources  # noqa: F401

    def open(self, request):
        from memos.configs.mem_reader import MemReaderConfigFactory
        from memos.configs.memory import MemoryConfigFactory
        from memos.mem_reader.factory import MemReaderFactory
        from memos.memories.factory import MemoryFactory

        llm, embedder = _llm(request["model"]), _embedder(request["embeddings"])
        self.memory = MemoryFactory.from_config(MemoryConfigFactory(backend="general_text", config={
            "extractor_llm": llm,
            "embedder": embedder,
            "vector_db": {"backend": "qdrant", "config": {
                "collection_name": COLLECTION,
                "vector_dimension": request["embeddings"]["dimensions"],
                "distance_metric": "cosine",
                "path": os.path.join(request["dir"], "qdrant"),
            }},
        }))
        self.reader = MemReaderFactory.from_config(MemReaderConfigFactory(
            backend=request["settings"]["reader"],
            config={
                "llm": llm,
                "embedder": embedder,
                # Its default counts with a tokenizer that it would download.
                "chunker": {"backend": "sentence", "config": {
                    "tokenizer_or_token_counter": "character",
                    "chunk_size": 512,
                    "chunk_overlap": 128,
                    "min_sentences_per_chunk": 1,
                }},
            },
        ))

    def write(self, request):
        # Without a time of its own a message is given the wall clock's.
        at = request["at"]
        messages = [
            {"role": _role(message), "content": _content(message), "chat_time": at}
            for message in request["messages"]
        ]
        groups = self.reader.get_memory(
            [messages],
            type="chat",
            info={"user_id": USER, "session_id": request["sessionId"]},
            mode="fine",
        )
        items = [item for group in groups for item in group]
        # What it does with an answer it cannot use: the window itself becomes a memory.
        windows = tuple("%s: [%s]: " % (role, at) for role in ("user", "assistant", "system"))
        if any(item.memory.startswith(windows) for item in items):
            raise BridgeError("harness", "the reader fell back on the transcript; nothing is stored")
        if items:
            self.memory.add(items)
        return []

    def list(self):
        items = self.memory.get_all()
        found = [{"id": item.id, "text": item.memory, "store": "memory"} for item in items]
        return found, self.memory.vector_db.count()

    def retrieve(self, question, top_k):
        return "\n".join(item.memory for item in self.memory.search(question, top_k))

    def content(self):
        items, count = self.memory.get_all(), self.memory.vector_db.count()
        if len(items) != count:
            raise BridgeError("store", "%d memories listed, the store holds %d" % (len(items), count))
        return [
            canonical([item.memory] + [getattr(item.metadata, name, None) for name in IDENTITY]) for item in items
        ]

    def close(self):
        self.memory.vector_db.client.close()


def _llm(model):
    return {"backend": "openai", "config": {
        "model_name_or_path": model["model"],
        "api_key": model["apiKey"],
        "api_base": model["baseUrl"],
        "temperature": 0.0,
        "max_tokens": MAX_TOKENS,
        "top_p": 1.0,
        "remove_think_prefix": True,
        "backup_client": False,
    }}


def _embedder(embeddings):
    return {"backend": "universal_api", "config": {
        "provider": "openai",
        "api_key": embeddings["apiKey"],
        "base_url": embeddings["baseUrl"],
        "model_name_or_path": embeddings["model"],
        "embedding_dims": embeddings["dimensions"],
        "backup_client": False,
    }}


def _role(message):
    """The reader knows no tool turns in a chat; their text is rendered."""
    return "assistant" if message["role"] == "tool" else message["role"]


def _content(message):
    speaker = message.get("speaker")
    return message["text"] if speaker is None else "%s: %s" % (speaker, message["text"])


if __name__ == "__main__":
    serve(MemosBridge)
