"""Will an encoder that was trained on one dataset serve on another? Accuracy of simple classifiers on its codes.

Bonheme and Grześ, "How good are variational autoencoders at transfer learning?" (2023), section 4.3, table 1 and
appendix A: a classifier is fitted to each label of the target dataset, from the codes of an encoder that was trained on
the source dataset, and again from those of one trained on the target. As in the authors' code: posterior means, no
scaling, accuracy, one tenth of the rows held out and the others shuffled, gradient-boosted trees and cross-validated
logistic regression with scikit-learn's default settings, but for folds that are not stratified. Controls that
the paper does not have: a random encoder, PCA, and the most frequent class. Figures 7 and
8 show what both domains share.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import threadpoolctl
from numpy.typing import ArrayLike, NDArray

from benchmark_data import draws
from benchmark_data.errors import InvalidInput, UnknownName
from benchmark_data.factors import Indices, check_integers
from benchmark_data.variants.pairs import train_and_test_rows
from leaderboard import figures
from leaderboard.arrays import as_plain_array, check_codes, varying
from leaderboard.metrics import downstream

if TYPE_CHECKING:
    from jaxtyping import Bool, Real

__all__ = ["averages", "draw", "measure"]

CLASSIFIERS: tuple[downstream.Classifier, ...] = ("gbt", "logistic")
"""Gradient-boosted trees and logistic regression, see `leaderboard.metrics.downstream`."""

TITLES: dict[str, str] = {"gbt": "gradient-boosted trees", "logistic": "logistic regression"}
"""Classifier -> its name in words."""

MAJORITY = "most frequent class"
"""The source in the rows of the most frequent class: codes that are not more accurate are of no use."""


def held_out(rows: ArrayLike, size: int) -> NDArray[np.bool_]:
    """Describe which rows of a dataset are for testing: the published division of its transfer pairs.

    It is `benchmark_data.variants.pairs.train_and_test_rows`, and does not depend on which rows were encoded. They are
    held out from the classifiers: an encoder that was trained on the target has seen them, unless it was trained on the
    part ``train`` of the split ``holdout``, which divides rows alike.

    Args:
        rows: rows of the dataset, int (n,), in [0, size).
        size: how many rows the dataset has.

    Returns:
        Whether each row is held out, shape (n,).

    Raises:
        InvalidInput: not integers, or a row that does not exist.

    Example:
        >>> held_out(range(1000), 1000).sum()
        np.int64(100)
    """
    row_indices = check_integers("rows", rows)
    if len(row_indices) and not 0 <= row_indices.min() <= row_indices.max() < size:
        raise InvalidInput(
            f"rows: expected rows in [0, {size - 1}], received rows in [{row_indices.min()}, {row_indices.max()}]."
        )
    return np.isin(row_indices, train_and_test_rows(size)[1])


def measure(
    representations: Mapping[str, Real[ArrayLike, "n _"]],
    labels: Real[ArrayLike, "n F"],
    names: Sequence[str],
    *,
    classifiers: Sequence[downstream.Classifier] = CLASSIFIERS,
    test: Bool[ArrayLike, " n"] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how well each label of the target dataset can be read from each representation of it.

    Args:
        representations: what they come from, such as ``"solids"``, ``"random encoder"`` or ``"PCA"``, to codes of the
            target's images, shape (n, L), all of the same images in the same order.
        labels: class ids, shape (n, F).
        names: of the labels, F of them.
        classifiers: of ``"gbt"`` and ``"logistic"``.
        test: whether each row is held out, bool (n,), as from ``held_out``. By default the rows are divided as those of
            a dataset that has no others.
        seed: for ties between latents in the trees.

    Returns:
        A row per representation, classifier and label: ``source``, ``classifier``, ``label``, ``train`` and ``test``,
        the accuracies, and ``unseen``, the share of held-out rows whose class does not occur among the others, which
        every classifier gets wrong. The most frequent class comes last, with the classifier ``"constant"``.

    Raises:
        InvalidInput: no representations, arrays that do not match, an unknown classifier, a constant label, or fewer
            than two rows on either side of the division.
        MissingExtra: ``"gbt"`` without numba.

    Example:
        >>> from benchmark_data import draws
        >>> labels = np.arange(200).reshape(-1, 1) % 2
        >>> noise = draws.normal(0, range(200), 1)
        >>> table = measure({"known": labels + 0.1 * noise, "noise": noise}, labels, ["parity"])
        >>> table.set_index(["source", "classifier"]).test.round(2).to_dict()["known", "logistic"]
        1.0
    """
    if not representations:
        raise InvalidInput("representations: expected at least one, received none.")
    if unknown := [name for name in classifiers if name not in CLASSIFIERS]:
        raise InvalidInput(f"classifiers: expected some of {', '.join(CLASSIFIERS)}, received {unknown}.")
    classes = as_plain_array(labels, "labels")
    if classes.ndim != 2 or classes.shape[1] != len(names):
        raise InvalidInput(
            f"labels: expected shape (n, {len(names)}), a column for each name, received shape {classes.shape}."
        )
    checked_codes = {name: check_codes(codes, f"codes of {name}") for name, codes in representations.items()}
    for name, codes in checked_codes.items():
        if len(codes) != len(classes):
            raise InvalidInput(
                f"codes of {name}: expected {len(classes)} rows, as in labels, received {len(codes)}. Encode the same "
                "images of the target dataset with every encoder."
            )
    train, rest = _split_rows(len(classes), test)
    _check_varying(names, classes, train)
    rows: list[tuple[str, str, str, float, float]] = []
    for name, codes in checked_codes.items():
        for classifier in classifiers:
            # Products with few latents: BLAS threads would only wait for each other.
            with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
                # A label with nearly as many classes as samples; the column `unseen` says what that means.
                warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
                scores = downstream.accuracies(
                    codes[train],
                    classes[train],
                    codes_test=codes[rest],
                    factors_test=classes[rest],
                    classifier=classifier,
                    seed=seed,
                )
            for label, train_score, test_score in zip(names, scores.train.tolist(), scores.test.tolist(), strict=True):
                rows.append((name, classifier, label, train_score, test_score))
    for label, column in zip(names, classes.T, strict=True):
        values, counts = np.unique(column[train], return_counts=True)
        mode = values[counts.argmax()]
        rows.append(
            (MAJORITY, "constant", label, float(np.mean(column[train] == mode)), float(np.mean(column[rest] == mode)))
        )
    table = pd.DataFrame(rows, columns=["source", "classifier", "label", "train", "test"])
    unseen = {
        label: float(np.mean(~np.isin(column[rest], column[train])))
        for label, column in zip(names, classes.T, strict=True)
    }
    return table.assign(unseen=table["label"].map(unseen))


def averages(table: pd.DataFrame) -> pd.DataFrame:
    """Average accuracies over labels, and over seeds if the table has several: table 1 of the paper.

    Args:
        table: as from ``measure``; rows of several runs of one source differ in a column ``seed``, and those of
            several targets by ``target``.

    Returns:
        A row per target, source and classifier in the order of the table: ``train`` and ``test``, and ``deviation``,
        the standard deviation of ``test`` over seeds (n - 1 degrees of freedom), NaN for a single one.

    Raises:
        InvalidInput: a column is missing.

    Example:
        >>> rows = [("a", "constant", "x", 0.5, 0.4), ("a", "constant", "y", 0.7, 0.8)]
        >>> averages(pd.DataFrame(rows, columns=["source", "classifier", "label", "train", "test"])).round(2).values
        array([['a', 'constant', 0.6, 0.6, nan]], dtype=object)
    """
    figures.check_columns(table, ["source", "classifier", "label", "train", "test"])
    keys = [key for key in ("target", "source", "classifier") if key in table]
    per_run = [*keys, "seed"] if "seed" in table else keys
    runs = table.groupby(per_run, sort=False, dropna=False)[["train", "test"]].mean().reset_index()
    grouped = runs.groupby(keys, sort=False)
    return grouped[["train", "test"]].mean().assign(deviation=grouped["test"].std()).reset_index()


def by_label(table: pd.DataFrame, *, classifier: str = "gbt") -> pd.DataFrame:
    """Lay accuracies on held-out rows out as appendix A of the paper: a row per source, a column per label.

    Args:
        table: as from ``measure``, of one target; rows of several seeds are averaged.
        classifier: the one to show.

    Returns:
        The accuracies, with the most frequent class last.

    Raises:
        UnknownName: there is no such classifier in the table.
    """
    figures.check_columns(table, ["source", "classifier", "label", "train", "test"])
    if classifier not in set(table["classifier"]):
        raise UnknownName("classifier", classifier, set(table["classifier"]))
    shown_rows = table[table["classifier"].isin([classifier, "constant"])]
    labels, sources = shown_rows["label"].unique(), shown_rows["source"].unique()
    wide = shown_rows.pivot_table(index="source", columns="label", values="test", aggfunc="mean", observed=True)
    order = sorted(sources, key=lambda source: source == MAJORITY)  # which comes last
    return wide.loc[order, list(labels)].rename_axis(columns=None)


def draw(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Draw the accuracies on held-out rows: a panel per classifier, a group of bars per label, the average first.

    Args:
        table: as from ``measure``, of one target; rows of several seeds are averaged.
        path: the PNG file to write.

    Raises:
        InvalidInput: a column is missing, or the file cannot be written.
        MissingExtra: matplotlib is not installed.
    """
    figures.check_columns(table, ["source", "classifier", "label", "train", "test"])
    shown_classifiers = [name for name in table["classifier"].unique() if name != "constant"]
    if not shown_classifiers:
        raise InvalidInput("table: expected a classifier, received only the most frequent class.")
    count = table["label"].nunique() + 1
    figure, axes = figures.panels(len(shown_classifiers), 1, width=max(4.0, 0.9 * count + 2), height=2.4, sharex=True)
    for panel, classifier in zip(axes[:, 0], shown_classifiers, strict=True):
        wide = by_label(table, classifier=classifier)
        wide.insert(0, "average", wide.mean(axis=1), allow_duplicates=True)  # a label may have that name
        width = 0.8 / len(wide)
        for i, (source, values) in enumerate(wide.iterrows()):
            colour = "0.8" if source == MAJORITY else figures.COLOURS[i % 7]
            panel.bar(np.arange(count) + (i + 0.5) * width - 0.4, values, width, color=colour, label=source)
        panel.set_xticks(range(count), wide.columns, rotation=30 if count > 6 else 0, fontsize=8)
        panel.axvline(0.5, color="0.6", linewidth=0.8)
        panel.set_ylim(0, 1)
        panel.set_ylabel("test accuracy")
        panel.set_title(TITLES.get(classifier, classifier), fontsize=9)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside right upper")
    figures.save(figure, path)


def _split_rows(n: int, test: ArrayLike | None) -> tuple[Indices, Indices]:
    mask = held_out(np.arange(n), n) if test is None else np.asarray(test)
    if mask.shape != (n,) or mask.dtype != np.bool_:
        raise InvalidInput(f"test: expected booleans of shape ({n},), received {mask.dtype} of shape {mask.shape}.")
    train_rows, test_rows = np.flatnonzero(~mask), np.flatnonzero(mask)
    if len(train_rows) < 2 or len(test_rows) < 2:
        raise InvalidInput(
            f"rows: expected at least two to fit to and two to test on, received {len(train_rows)} and "
            f"{len(test_rows)}. Encode more rows."
        )
    # Rows of a dataset are sorted by its factors: folds of neighbouring rows would lack classes.
    return train_rows[draws.permutation(0, len(train_rows))], test_rows


def _check_varying(names: Sequence[str], classes: NDArray[Any], train_rows: Indices) -> None:
    constant = [name for name, varies in zip(names, varying(classes[train_rows]), strict=True) if not varies]
    if constant:
        raise InvalidInput(
            f"label{'s' * (len(constant) > 1)} {', '.join(constant)}: expected at least two classes among the rows to "
            "fit to, received one. Leave such labels out of labels and names."
        )
