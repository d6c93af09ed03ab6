"""Networks and their gradients: images, language, sequences, graphs, and tensors under rotation."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.models.model import Made, model

KEY = jax.random.PRNGKey(0)


@model("dm-haiku")
def resnet_step() -> Made:
    """A step of momentum for ResNet-18 on four images."""
    import haiku as hk
    import optax

    def classify(images: Any, is_training: bool) -> Any:
        return hk.nets.ResNet18(10)(images, is_training)

    network = hk.transform_with_state(classify)
    images = jax.random.normal(KEY, (4, 64, 64, 3))
    labels = jnp.array([1, 3, 5, 7])
    weights, state = network.init(KEY, images, is_training=True)
    optimizer = optax.sgd(1e-2, momentum=0.9)

    def step(weights: Any, state: Any, moments: Any, images: Any, labels: Any) -> Any:
        def loss(weights: Any) -> Any:
            logits, following = network.apply(weights, state, None, images, is_training=True)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), following

        (value, following), gradient = jax.value_and_grad(loss, has_aux=True)(weights)
        updates, moments = optimizer.update(gradient, moments, weights)
        return value, optax.apply_updates(weights, updates), following, moments

    return step, (weights, state, optimizer.init(weights), images, labels)


@model("flax", tolerance=1e-3)
def transformer_gradient() -> Made:
    """The gradient of a language model with three blocks, and its moments as Adam keeps them.

    What comes out is compared: so attention has no biases, whose gradients are noise around zero, and the update itself
    is left out, which divides such noise by its own size.
    """
    import flax.linen as nn
    import optax

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x: Any, mask: Any) -> Any:
            x = x + nn.MultiHeadDotProductAttention(4, use_bias=False)(nn.LayerNorm()(x), mask=mask)
            return x + nn.Dense(64)(nn.gelu(nn.Dense(256)(nn.LayerNorm()(x))))

    class Language(nn.Module):
        @nn.compact
        def __call__(self, tokens: Any) -> Any:
            mask = nn.make_causal_mask(tokens)
            x = nn.Embed(100, 64)(tokens) + nn.Embed(32, 64)(jnp.arange(32))
            for _ in range(3):
                x = Block()(x, mask)
            return nn.Dense(100)(nn.LayerNorm()(x))

    network = Language()
    tokens = jax.random.randint(KEY, (4, 32), 0, 100)
    weights = network.init(KEY, tokens)
    optimizer = optax.adam(1e-3)

    def step(weights: Any, moments: Any, tokens: Any) -> Any:
        def loss(weights: Any) -> Any:
            logits = network.apply(weights, tokens)
            return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:]).mean()

        value, gradient = jax.value_and_grad(loss)(weights)
        _, moments = optimizer.update(gradient, moments, weights)
        return value, moments

    return step, (weights, optimizer.init(weights), tokens)


@model("dm-haiku")
def recurrent_gradient() -> Made:
    """The gradient of an LSTM under a GRU over 40 steps."""
    import haiku as hk

    def forward(x: Any) -> Any:
        cells = hk.DeepRNN([hk.LSTM(32), hk.GRU(32)])
        out, _ = hk.dynamic_unroll(cells, x, cells.initial_state(x.shape[1]))
        return hk.Linear(1)(out)

    network = hk.without_apply_rng(hk.transform(forward))
    x = jax.random.normal(KEY, (40, 8, 16))
    weights = network.init(KEY, x)
    return jax.value_and_grad(lambda weights, x: (network.apply(weights, x) ** 2).mean()), (weights, x)


@model("equinox")
def convolutional_recurrent_gradient() -> Made:
    """The gradient of convolutions, a GRU over their rows, and a transposed convolution."""
    import equinox as eqx

    keys = jax.random.split(KEY, 4)
    network = (
        eqx.nn.Conv2d(3, 8, 3, padding=1, key=keys[0]),
        eqx.nn.GRUCell(8 * 16, 32, key=keys[1]),
        eqx.nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1, key=keys[2]),
        eqx.nn.Linear(32, 8, key=keys[3]),
    )
    weights, rest = eqx.partition(network, eqx.is_array)

    def loss(weights: Any, images: Any) -> Any:
        convolution, cell, back, linear = eqx.combine(weights, rest)

        def one(image: Any) -> Any:
            features = jax.nn.relu(convolution(image))
            rows = features.transpose(1, 0, 2).reshape(16, -1)
            last, _ = jax.lax.scan(lambda state, row: (cell(row, state), None), jnp.zeros(32), rows)
            return back(features * linear(last)[:, None, None])

        return (jax.vmap(one)(images) ** 2).mean()

    return jax.value_and_grad(loss), (weights, jax.random.normal(KEY, (4, 3, 16, 16)))


@model("jraph")
def graph_attention_gradient() -> Made:
    """The gradient of two layers of attention over a graph's edges."""
    import jraph

    random = np.random.default_rng(0)
    nodes, edges, width = 60, 300, 16

    def weight(*shape: int) -> Any:
        return jnp.asarray(random.standard_normal(shape) / shape[0] ** 0.5, jnp.float32)

    graph = jraph.GraphsTuple(
        nodes=weight(nodes, width),
        edges=None,
        senders=jnp.asarray(random.integers(0, nodes, edges)),
        receivers=jnp.asarray(random.integers(0, nodes, edges)),
        globals=None,
        n_node=jnp.array([nodes]),
        n_edge=jnp.array([edges]),
    )
    weights = [(weight(width, width), weight(2 * width, 1)) for _ in range(2)]

    def loss(weights: Any, graph: Any) -> Any:
        for projection, attention in weights:

            def logits(sent: Any, received: Any, edges: Any, attention: Any = attention) -> Any:
                return jax.nn.leaky_relu(jnp.concatenate([sent, received], axis=1) @ attention)

            graph = jraph.GAT(
                attention_query_fn=lambda x, projection=projection: x @ projection,
                attention_logit_fn=logits,
                node_update_fn=jax.nn.elu,
            )(graph)
        return (graph.nodes**2).mean()

    return jax.value_and_grad(loss), (weights, graph)


@model("e3nn-jax")
def tensor_product_gradient() -> Made:
    """The gradient of a message of an equivariant network: spherical harmonics, a tensor product, a linear layer."""
    import e3nn_jax as e3nn
    import haiku as hk

    random = np.random.default_rng(0)
    inputs = e3nn.Irreps("8x0e + 8x1o")

    def forward(features: Any, vectors: Any) -> Any:
        harmonics = e3nn.spherical_harmonics([0, 1, 2], e3nn.IrrepsArray("1o", vectors), normalize=True)
        product = e3nn.tensor_product(e3nn.IrrepsArray(inputs, features), harmonics)
        return e3nn.haiku.Linear("8x0e + 8x1o")(product).array

    network = hk.without_apply_rng(hk.transform(forward))
    features = jnp.asarray(random.standard_normal((64, inputs.dim)), jnp.float32)
    vectors = jnp.asarray(random.standard_normal((64, 3)), jnp.float32)
    weights = network.init(KEY, features, vectors)

    def loss(weights: Any, features: Any, vectors: Any) -> Any:
        return (network.apply(weights, features, vectors) ** 2).mean()

    return jax.value_and_grad(loss, argnums=(0, 2)), (weights, features, vectors)
