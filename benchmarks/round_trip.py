"""Time to import and export a transformer training step of about 10,000 ops, in CPU time.

Run it as `python benchmarks/round_trip.py`. The module comes from JAX: twelve layers, unrolled, with the gradient and
a clipped update with momentum.
"""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp

from windlass.stablehlo import export_module, export_text, import_module, import_text
from windlass.stablehlo.private_jax import make_context


def transformer_step(layers: int = 12, width: int = 64, heads: int = 4, length: int = 16, vocabulary: int = 128) -> Any:
    """A training step, lowered by JAX but not compiled, and arguments to run it with."""

    def normalize(x: Any, scale: Any, shift: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift

    def attend(x: Any, layer: Any) -> Any:
        batch = x.shape[0]
        query, key, value = (
            (x @ layer[name] + layer[name + "_bias"]).reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / jnp.sqrt(query.shape[-1])
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        mixed = jax.nn.softmax(scores) @ value
        return mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ layer["out"] + layer["out_bias"]

    def loss(parameters: Any, tokens: Any) -> Any:
        x = parameters["embedding"][tokens[:, :-1]] + parameters["position"]
        for layer in parameters["layers"]:
            x = x + attend(normalize(x, layer["scale1"], layer["shift1"]), layer)
            hidden = jax.nn.gelu(normalize(x, layer["scale2"], layer["shift2"]) @ layer["up"] + layer["up_bias"])
            x = x + hidden @ layer["down"] + layer["down_bias"]
        logits = normalize(x, parameters["scale"], parameters["shift"]) @ parameters["embedding"].T
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1)
        return -picked.mean()

    def step(parameters: Any, momentum: Any, tokens: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(parameters, tokens)
        norm = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(gradient)))
        gradient = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / norm), gradient)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, momentum, gradient)
        return jax.tree.map(lambda p, m: p - 1e-3 * m, parameters, momentum), momentum, value

    def weight(*shape: int) -> Any:
        return 0.02 * jax.random.normal(jax.random.key(sum(shape)), shape)

    def layer() -> dict[str, Any]:
        square = {name: weight(width, width) for name in ("query", "key", "value", "out")}
        biases = {name + "_bias": jnp.zeros(width) for name in square}
        norms = {f"scale{number}": jnp.ones(width) for number in (1, 2)}
        norms |= {f"shift{number}": jnp.zeros(width) for number in (1, 2)}
        feed = {"up": weight(width, 4 * width), "up_bias": jnp.zeros(4 * width), "down": weight(4 * width, width)}
        return {**square, **biases, **norms, **feed, "down_bias": jnp.zeros(width)}

    parameters = {
        "embedding": weight(vocabulary, width),
        "position": weight(length, width),
        "layers": [layer() for _ in range(layers)],
        "scale": jnp.ones(width),
        "shift": jnp.zeros(width),
    }
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    tokens = jax.random.randint(jax.random.key(1), (2, length + 1), 0, vocabulary)
    arguments = (parameters, zeros, tokens)
    return jax.jit(step).lower(*arguments), arguments


def measure(repeats: int = 7) -> dict[str, float]:
    """Milliseconds of CPU time for each way in and out, the best of several."""
    lowered, _ = transformer_step()
    text = lowered.as_text()
    found: dict[str, float] = {}

    def best(name: str, function: Any) -> Any:
        result, least = None, float("inf")
        for _ in range(repeats):
            start = time.process_time()
            result = function()
            least = min(least, time.process_time() - start)
        found[name] = 1e3 * least
        return result

    module = best("import_module", lambda: import_module(lowered.compiler_ir()))
    best("import_text", lambda: import_text(text))
    best("export_module", lambda: export_module(module))
    best("export_text", lambda: export_text(module))
    best("text to text", lambda: export_text(import_text(text)))
    best("make_context", make_context)
    found["ops"] = sum(1 for function in module.functions.values() for _ in function.walk())
    found["for 9,000 ops"] = found["text to text"] * 9000 / found["ops"]
    return found


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:15} {value:9.1f}" + ("" if name == "ops" else " ms"))
