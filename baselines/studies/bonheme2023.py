"""Bonheme and Grzes, "How good are variational autoencoders at transfer learning?" (2023): will an encoder transfer?

Figures 1 to 4 check CKA against known facts, on the models of the authors' first paper (`bonheme2022`), whose runs they
share. The transfer between datasets, figures 5 to 9 and the tables, is not written yet.
"""

from __future__ import annotations

import dataclasses

from baselines.studies import _heatmaps, bonheme2022
from baselines.studies.bonheme2022 import heatmap_entry

PAPER = "2304.10767"

ENTRIES = (
    dataclasses.replace(bonheme2022.ENTRIES[0], id=f"{PAPER}/fig1"),
    heatmap_entry(
        f"{PAPER}/fig2",
        "CKA of layers, early and after training",
        "the encoder is learned first",
        bonheme2022.FIRST,
        bonheme2022.FIRST_LAST,
        _heatmaps.encoder_above_decoder,
    ),
    heatmap_entry(
        f"{PAPER}/fig3",
        "CKA of layers, weak and strong regularisation",
        "dark at the sampled representation of the collapsed model",
        "The sampled representation of a strongly regularised model is less like the encoder of a weakly regularised "
        "one than the other way round.",
        bonheme2022.REGULARISED,
        bonheme2022.judge_collapse,
    ),
    heatmap_entry(
        f"{PAPER}/fig4",
        "CKA of layers, β-VAE and DIP-VAE II",
        "high in the encoder",
        bonheme2022.GENERIC,
        bonheme2022.ACROSS,
        _heatmaps.encoders_alike,
    ),
)

NOT_YET = {
    f"{PAPER}/fig5": "CKA of layers, source-trained and target-trained models",
    f"{PAPER}/fig6": "Reconstructions with more and more of the decoder retrained, from the inside",
    f"{PAPER}/fig7": "Cars as a VAE of faces reconstructs them",
    f"{PAPER}/fig8": "Sprites as a VAE of solids reconstructs them",
    f"{PAPER}/fig9": "Reconstructions with more and more of the decoder retrained, from the outside",
    f"{PAPER}/table1": "Accuracy on target and source codes, averaged over labels",
    f"{PAPER}/table2": "Accuracy by label, Cars3D",
    f"{PAPER}/table3": "Accuracy by label, dSprites",
    f"{PAPER}/table4": "Accuracy by label, CelebA",
}
