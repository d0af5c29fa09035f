"""MemOS: one of its memory readers over one of its stores."""
import os

from protocol import Bridge, BridgeError, serve
from stores import USER, content_of, open_store

MAX_TOKENS = 8192


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
        from memos.mem_reader.factory import MemReaderFactory

        llm, embedder = _llm(request["model"]), _embedder(request["embeddings"])
        self.store = open_store(request, llm, embedder)
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
            self.store.add(items)
        return []

    def list(self):
        rows, count = self.store.rows()
        return [{"id": row, "text": text, "store": "memory"} for row, text, _ in rows], count

    def retrieve(self, question, top_k):
        return "\n".join(item.memory for item in self.store.search(question, top_k))

    def content(self):
        return content_of(self.store)

    def close(self):
        self.store.close()


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
