"""Pixel statistics of published datasets, from papers and their code. Internal."""

from __future__ import annotations

from collections.abc import Mapping

RANDOM_PAIR = "random pair"
"""The key, in addition to the factors' names, for random pairs of images."""


PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "xysquares/spacing_8": {
        **dict.fromkeys(("x_R", "y_R", "x_G", "y_G", "x_B", "y_B"), 0.0104),
        RANDOM_PAIR: 0.0308,
    },
    "dsprites": {
        **{"posY": 0.0584, "posX": 0.0559, "scale": 0.0250, "shape": 0.0214, "orientation": 0.0172},
        RANDOM_PAIR: 0.0754,
    },
    "shapes3d": {
        **{"wall_hue": 0.1122, "floor_hue": 0.1086, "object_hue": 0.0416},
        **{"shape": 0.0207, "scale": 0.0182, "orientation": 0.0116},
        RANDOM_PAIR: 0.2432,
    },
    "cars3d/64_bilinear": {"azimuth": 0.0355, "object_type": 0.0349, "elevation": 0.0174, RANDOM_PAIR: 0.0519},
    "smallnorb/left_64_bilinear": {
        **{"lighting": 0.0531, "category": 0.0113, "azimuth": 0.0090, "instance": 0.0068, "elevation": 0.0034},
        RANDOM_PAIR: 0.0535,
    },
}
"""Mean perceived distances that Michlo, Klein and James 2023 report in table A1 of the extended version, from 50,000
pairs each: the mean squared error of pixels in [0, 1]. SmallNORB on its training split."""


PUBLISHED_MEANS: Mapping[str, tuple[float, ...]] = {
    "xysquares/spacing_8": (0.015625,) * 3,
    "dsprites": (0.042494423521889584,),
    "shapes3d": (0.5025850, 0.5787598, 0.6034500),
    "cars3d/64_bilinear": (0.8976676, 0.8891658, 0.8851475),
    "smallnorb/left_64_bilinear": (0.7520918401,),
    "mpi3d/toy": (0.22437, 0.22142, 0.22625),
    "mpi3d/realistic": (0.17987, 0.20475, 0.18148),
    "mpi3d/real": (0.12849, 0.16480, 0.13972),
}
"""Mean pixels of each channel, in [0, 1], over whole datasets, from disent's source (nmichlo/disent 0.8.0).
SmallNORB on its training split."""
