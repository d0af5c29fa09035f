"""The bench's other side: a framework's script in this very process, without protocol or clock. Prints ms per write."""
import importlib.util
import json
import os
import sys
import time

job = json.loads(sys.argv[1])
found = importlib.util.spec_from_file_location("framework_bridge", job["script"])
module = importlib.util.module_from_spec(found)
found.loader.exec_module(module)
os.makedirs(os.environ["HOME"], exist_ok=True)
os.makedirs(job["open"]["dir"], exist_ok=True)
bridge = module.Mem0Bridge()
bridge.warm()
bridge.open(job["open"])
for chunk in job["chunks"]:
    started = time.perf_counter()
    bridge.write(chunk)
    print(1000 * (time.perf_counter() - started))
bridge.close()
