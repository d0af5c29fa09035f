"""A framework made for testing the bridge itself: keeps lines in one file, and misbehaves where its settings say so."""
import json
import os
import subprocess
import sys
import time

from protocol import Bridge, BridgeError, Clock, canonical, serve


class StandingClock(Clock):
    """The test environment has no time-machine."""

    def set(self, now):
        self.now = now


class FakeBridge(Bridge):
    framework = "fake"
    package = "fake-framework"

    def __init__(self):
        super().__init__()
        self.clock = StandingClock()

    def warm(self):
        print("noise before the hello")

    def open(self, request):
        self.path = os.path.join(request["dir"], "lines.json")
        self.trouble = request["settings"].get("trouble", "")
        self.lines = []
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.lines = json.load(file)
        if self.trouble == "hang-open":
            time.sleep(60)

    def write(self, request):
        print("noise on stdout\n{\"id\": 0}")
        os.system("echo noise of a child process")
        texts = [message["text"] for message in request["messages"]]
        if "hang" in texts:
            time.sleep(60)
        if "die" in texts:
            os._exit(3)
        if "linger" in texts:
            subprocess.Popen(["sleep", "60"])
            os._exit(4)
        if "unspeakable" in texts:
            return [object()]
        if "refuse" in texts:
            raise BridgeError("store", "disk full")
        self.lines += ["%s %s" % (self.clock.now[:10], text) for text in texts]
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(self.lines, file)
        return [{"name": "counted", "removed": [], "added": [str(len(self.lines))]}]

    def list(self):
        found = [{"id": str(i), "text": text, "store": "memory"} for i, text in enumerate(self.lines)]
        return (found[:1] if self.trouble == "cap" else found), len(self.lines)

    def retrieve(self, question, top_k):
        return "\n".join([line for line in self.lines if question in line][:top_k])

    def content(self):
        return [canonical(line) for line in self.lines]

    def close(self):
        print("closed", file=sys.stderr)


if __name__ == "__main__":
    serve(FakeBridge)
