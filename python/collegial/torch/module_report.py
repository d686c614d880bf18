"""What a module's search found, in words and as a table."""

from __future__ import annotations

from typing import Any

from .. import _collegial
from .module_curve import UNITS


def shown(document: dict[str, Any]) -> tuple[str, str]:
    """As text and HTML."""
    rows = [
        [f"{point['width']}", f"{point['cost_of_member']:,.0f}", f"{point['variance']:.4g}", f"{point['primal_multiplicity']:.2f}",
         f"{point['dual_multiplicity']:.2f}", f"{point['efficiency']:.3f} +- {2 * point['efficiency_error']:.3f}"]
        for point in document["curve"]
    ]
    law = f"alpha = {document['alpha']:.3f} on these widths, r^2 = {document['r_squared']:.3f}, {document['trials']} draws each"
    sentences = [*_gains(document), *_doubts(document), law]
    for row in (document["check"] or [])[1:]:
        low, high = row["ratio_ci"]
        expected = document["baseline_variance"] / row["predicted_variance"]
        sentences.append(
            f"{row['design']} drawn whole, {row['draws']} times: {row['ratio']:.2f} times less kernel variance ({low:.2f} to {high:.2f}), "
            f"{expected:.2f} times by the search"
        )
    unit = UNITS.get(document["cost"], document["cost"])
    return _collegial.table(sentences, ["width", unit, "variance", "m, same cost", "m, same variance", "efficiency"], rows)


def _gains(document: dict[str, Any]) -> list[str]:
    """What the draws that did not choose the width show: a design is named where they show a gain."""
    primal, dual, baseline = document["primal"], document["dual"], document["baseline"]
    unit = UNITS.get(document["cost"], document["cost"])
    if primal["gain"] == "baseline-is-best":
        return [f"There is nothing to gain: {baseline} is the best of these widths."]
    sentences = []
    if primal["gain"] == "better":
        low, high = primal["variance_ratio_ci"]
        sentences.append(
            f"same cost, {primal['design']}: {primal['variance_ratio']:.2f} ({low:.2f} to {high:.2f}) times less kernel variance than {baseline} "
            f"at {1 / primal['cost_ratio']:.1%} of its {unit}"
        )
    if dual["gain"] == "better":
        fewest, most = dual["members_ci"]
        times = sorted(dual["cost_ratio"] * dual["members"] / members for members in (fewest, most))
        sentences.append(
            f"same variance, {dual['design']}: {times[0]:.2f} times fewer {unit} than {baseline}" if fewest == most else
            f"same variance, {fewest} to {most} members of width {dual['width']}: {times[0]:.2f} to {times[1]:.2f} times fewer {unit} than {baseline}"
        )
    if not sentences:
        low, high = primal["efficiency_ci"]
        sentences.append(
            f"No gain is shown: members of width {primal['width']} are {primal['efficiency']:.2f} ({low:.2f} to {high:.2f}) times as efficient as "
            f"{baseline}. More trials tell more."
        )
    return sentences


def _doubts(document: dict[str, Any]) -> list[str]:
    """Where the law is wrong, and where draws do not decide between widths."""
    primal, sentences = document["primal"], []
    by_law = next(point["efficiency"] for point in document["curve"] if point["width"] == primal["width"])
    low, high = primal["efficiency_ci"]
    if document["variance_source"] == "law" and not low <= by_law <= high:
        sentences.append(
            f"The law does not hold for this module: by it members of width {primal['width']} are {by_law:.2f} times as efficient, by draws "
            f"{primal['efficiency']:.2f} ({low:.2f} to {high:.2f})."
        )
    alike = document["alike"]
    if len(alike) > 1 and document["variance_source"] == "measured":
        listed = ", ".join(map(str, alike[:-1])) + f" and {alike[-1]}"
        sentences.append(f"The draws do not tell widths {listed} apart; more trials do.")
    return sentences
