"""The same model in PyTorch, as fast as its CPU build allows: fused attention, fused Adam. Answers one JSON line a request."""

import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

request = json.loads(sys.stdin.readline())
C, THREADS = request["config"], request["threads"]
torch.set_num_threads(THREADS)
torch.manual_seed(0)
HEAD = C["headDim"]

inverse = C["ropeTheta"] ** (-torch.arange(0, HEAD // 2) / (HEAD // 2))
angles = torch.arange(C["contextLength"])[:, None] * inverse[None]
COS, SIN = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)


def rotate(x, start):
    end = start + x.shape[2]
    a, b = x.chunk(2, -1)
    return x * COS[start:end] + torch.cat([-b, a], -1) * SIN[start:end]


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(C["hiddenSize"]))

    def forward(self, x):
        return F.rms_norm(x, (C["hiddenSize"],), self.weight, C["rmsNormEpsilon"])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        d, f = C["hiddenSize"], C["intermediateSize"]
        q, kv = C["heads"] * HEAD, C["keyValueHeads"] * HEAD
        self.norm1, self.norm2 = Norm(), Norm()
        self.q, self.k, self.v, self.o, self.gate, self.up, self.down = (
            nn.Linear(i, o, bias=False)
            for i, o in ((d, q), (d, kv), (d, kv), (q, d), (d, f), (d, f), (f, d))
        )

    def forward(self, x, cache, start):
        batch, length, _ = x.shape
        h = self.norm1(x)
        q, k, v = (
            p(h).view(batch, length, -1, HEAD).transpose(1, 2) for p in (self.q, self.k, self.v)
        )
        q, k = rotate(q, start), rotate(k, start)
        if cache is not None:
            end = start + length
            cache[0][:, :, start:end], cache[1][:, :, start:end] = k, v
            k, v = cache[0][:, :, :end], cache[1][:, :, :end]
        grouped = C["heads"] != C["keyValueHeads"]
        o = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1, enable_gqa=grouped)
        x = x + self.o(o.transpose(1, 2).reshape(batch, length, -1))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(C["vocabularySize"], C["hiddenSize"])
        self.blocks = nn.ModuleList(Block() for _ in range(C["layers"]))
        self.norm = Norm()
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids, caches=None, start=0, last=False):
        x = self.embedding(ids)
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i], start)
        return self.norm(x[:, -1:] if last else x) @ self.embedding.weight.t()


model = Llama()
adam = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0, fused=True)


def train(batch, length):
    ids = torch.randint(0, C["vocabularySize"], (batch, length + 1))
    logits = model(ids[:, :-1]).reshape(-1, C["vocabularySize"])
    loss = F.cross_entropy(logits, ids[:, 1:].reshape(-1))
    adam.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()


@torch.no_grad()
def sample(batch, prompt, answer):
    shape = (batch, C["keyValueHeads"], C["contextLength"], HEAD)
    caches = [[torch.zeros(shape), torch.zeros(shape)] for _ in range(C["layers"])]
    ids, start, logprobs = torch.randint(0, C["vocabularySize"], (batch, prompt)), 0, []
    for _ in range(answer):
        row = F.log_softmax(model(ids, caches, start, last=True)[:, -1], -1)
        start += ids.shape[1]
        ids = torch.multinomial(row.exp(), 1)
        logprobs.append(row.gather(1, ids))
    return torch.cat(logprobs, 1).tolist()


WORK = {"train": train, "sample": sample}
parameters = sum(p.numel() for p in model.parameters())
print(json.dumps({"version": torch.__version__, "parameters": parameters}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    began = time.perf_counter()
    WORK[request["work"]](*request["sizes"])
    print(json.dumps({"ms": (time.perf_counter() - began) * 1000}), flush=True)
