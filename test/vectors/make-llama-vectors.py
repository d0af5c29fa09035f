"""Records what transformers computes on tiny random Llama directories: the reference our own engine is tested against.

    pip install torch==2.13.0 transformers==5.24.0
    python test/vectors/make-llama-vectors.py

No padding token is set: transformers would leave its embedding row without a gradient.

Each directory is an ordinary checkpoint plus `case.json` (token ids, weights w, the loss sum of w times negative
log-likelihood) and `reference.safetensors` (logits of every sequence, gradient of every parameter). Weights are
float32; the computation is float64.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

HERE = Path(__file__).parent
CASES = {
    "llama-tied-grouped": dict(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True,
        rms_norm_eps=1e-5, rope_parameters=dict(rope_type="default", rope_theta=10000.0),
    ),
    "llama-untied-multihead": dict(
        hidden_size=32, num_attention_heads=2, num_key_value_heads=2, tie_word_embeddings=False,
        rms_norm_eps=1e-6, rope_parameters=dict(rope_type="default", rope_theta=500000.0),
    ),
    "llama-untied-multiquery": dict(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=1, head_dim=16, tie_word_embeddings=False,
        rms_norm_eps=1e-5, rope_parameters=dict(rope_type="default", rope_theta=10000.0),
    ),
}


def make(name: str, options: dict) -> None:
    torch.manual_seed(len(name))
    config = LlamaConfig(
        vocab_size=40, intermediate_size=24, num_hidden_layers=2, max_position_embeddings=64,
        bos_token_id=None, eos_token_id=1, pad_token_id=None, attn_implementation="eager", **options,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            noise = torch.randn_like(parameter)
            parameter.copy_(1 + 0.2 * noise if "norm" in key else 0.35 * noise)
    directory = HERE / name
    model.save_pretrained(directory, safe_serialization=True)

    model = model.double()
    sequences = [torch.randint(0, 40, (length,)).tolist() for length in (23, 9, 2)]
    weights = [[round(torch.rand(()).item(), 3) for _ in ids[1:]] for ids in sequences]
    loss = torch.zeros((), dtype=torch.float64)
    tensors = {}
    for i, (ids, w) in enumerate(zip(sequences, weights)):
        logits = model(torch.tensor([ids])).logits[0]
        nll = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]), reduction="none")
        loss = loss + (nll * torch.tensor(w, dtype=torch.float64)).sum()
        tensors[f"logits.{i}"] = logits.detach().float().contiguous()
    loss.backward()
    for key, parameter in model.named_parameters():
        tensors[f"gradient.{key}"] = parameter.grad.float().contiguous()
    save_file(tensors, directory / "reference.safetensors", metadata={"format": "pt"})
    case = dict(sequences=sequences, weights=weights, loss=loss.item())
    (directory / "case.json").write_text(json.dumps(case) + "\n")
    (directory / "generation_config.json").unlink(missing_ok=True)


for case_name, case_options in CASES.items():
    make(case_name, case_options)
