"""Loads a policy directory with transformers; says how it renders a chat and how probable each token of a sequence is.

Reads {"directory", "messages", "tokenIds"} from stdin, writes {"promptIds", "logprobs"} to stdout.
"""

import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

request = json.load(sys.stdin)
tokenizer = AutoTokenizer.from_pretrained(request["directory"])
model = AutoModelForCausalLM.from_pretrained(request["directory"], dtype=torch.float32)
prompt = tokenizer.apply_chat_template(
    request["messages"], add_generation_prompt=True, tokenize=True, return_dict=False
)
ids = torch.tensor([request["tokenIds"]])
with torch.no_grad():
    logprobs = torch.log_softmax(model(ids).logits[0, :-1], dim=-1)
chosen = logprobs.gather(1, ids[0, 1:, None])[:, 0].tolist()
json.dump({"promptIds": prompt, "logprobs": chosen}, sys.stdout)
