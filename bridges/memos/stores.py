"""The two stores of MemOS that a bank may lie in: general text memory on Qdrant, tree text memory on PostgreSQL."""
import os

from protocol import BridgeError, canonical

USER = "user"
#: What a later search may weigh, beside the text.
IDENTITY = ("key", "tags", "memory_type", "background")


class GeneralStore:
    """Embedded Qdrant in the bank's directory."""

    folder = "qdrant"

    def __init__(self, request, llm, embedder):
        from memos.configs.memory import MemoryConfigFactory
        from memos.memories.factory import MemoryFactory

        self.memory = MemoryFactory.from_config(MemoryConfigFactory(backend="general_text", config={
            "extractor_llm": llm,
            "embedder": embedder,
            "vector_db": {"backend": "qdrant", "config": {
                "collection_name": "bank",
                "vector_dimension": request["embeddings"]["dimensions"],
                "distance_metric": "cosine",
                "path": os.path.join(request["dir"], self.folder),
            }},
        }))

    def add(self, items):
        self.memory.add(items)

    def rows(self):
        """(id, text, what else a later search may weigh) of every memory, and their number as the store counts it."""
        rows = [
            (item.id, item.memory, [getattr(item.metadata, name, None) for name in IDENTITY])
            for item in self.memory.get_all()
        ]
        return rows, self.memory.vector_db.count()

    def search(self, question, top_k):
        return self.memory.search(question, top_k)

    def close(self):
        self.memory.vector_db.client.close()


class TreeStore:
    """PostgreSQL with pgvector in the bank's directory. Its organiser needs another database and stays off."""

    folder = "postgres"

    def __init__(self, request, llm, embedder):
        from embedded_postgres import Cluster
        from memos.configs.memory import MemoryConfigFactory
        from memos.memories.factory import MemoryFactory

        self.cluster = Cluster(os.path.join(request["dir"], self.folder), os.environ["HOME"])
        address = self.cluster.address
        self.memory = MemoryFactory.from_config(MemoryConfigFactory(backend="tree_text", config={
            "extractor_llm": llm,
            "dispatcher_llm": llm,
            "embedder": embedder,
            "graph_db": {"backend": "postgres", "config": {
                "host": address["host"],
                "port": address["port"],
                "user": address["user"],
                "password": address["password"],
                "db_name": address["dbname"],
                "schema_name": "memos",
                "user_name": USER,
                "embedding_dimension": request["embeddings"]["dimensions"],
            }},
            "reorganize": False,
            # Without vectors its own ranking scores all alike and cuts one kind of memory off.
            "include_embedding": True,
        }))
        _read_vectors_as_numbers(self.cluster)

    def add(self, items):
        self.memory.add(items, user_name=USER)

    def rows(self):
        graph = self.memory.get_all(user_name=USER)
        rows = [
            (node["id"], node["memory"], [node["metadata"].get(name) for name in IDENTITY]) for node in graph["nodes"]
        ]
        return rows, self._count()

    def _count(self):
        connection = self.cluster.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute("select count(*) from memos.memories")
                return cursor.fetchone()[0]
        finally:
            connection.close()

    def search(self, question, top_k):
        return self.memory.search(question, top_k, info={"user_id": USER, "session_id": ""}, mode="fast", user_name=USER)

    def close(self):
        self.memory.graph_store.close()
        self.cluster.stop()


STORES = {"general": GeneralStore, "tree": TreeStore}


def open_store(request, llm, embedder):
    """Refuses a directory that holds the other kind: it would look like an empty bank."""
    wanted = STORES[request["settings"]["store"]]
    for name, other in STORES.items():
        if other is not wanted and os.path.isdir(os.path.join(request["dir"], other.folder)):
            raise BridgeError("store", "the bank in this directory is a %s text memory" % name)
    return wanted(request, llm, embedder)


def content_of(store):
    rows, count = store.rows()
    if len(rows) != count:
        raise BridgeError("store", "%d memories listed, the store holds %d" % (len(rows), count))
    return [canonical([text, *identity]) for _, text, identity in rows]


def _read_vectors_as_numbers(cluster):
    """pgvector's type has no name in the driver: MemOS would get its vectors as text, and refuse them."""
    import json

    import psycopg2.extensions

    connection = cluster.connect()
    try:
        with connection.cursor() as cursor:
            cursor.execute("select 'vector'::regtype::oid::int")
            (oid,) = cursor.fetchone()
    finally:
        connection.close()
    vector = psycopg2.extensions.new_type((oid,), "vector", lambda text, _: None if text is None else json.loads(text))
    psycopg2.extensions.register_type(vector)
