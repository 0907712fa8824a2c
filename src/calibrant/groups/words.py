"""What a search has found, in words."""

from math import pi

from calibrant.results import FoundGroup, GroupFindings

MOST_NAMED = 2
"""Groups that the headline names."""

PER_SD = 2 * pi**0.5
"""By how many standard deviations a normal forecast is shifted, if the mean of its transforms is moved by 1: a small
shift by b moves it by b times the mean of the squared normal density, 1 / (2 sqrt(pi))."""


def headline(found: GroupFindings) -> str:
    """Say in one sentence what was found."""
    looked = found.n_cells + found.n_leaves
    what = "forecasts" if found.of_forecasts else "predictions"
    if not found.found:
        return f"No group was found in which {what} are off, among {looked:,} looked at."
    main = [group for group in found.found if group.stands_alone]
    if whole := [group for group in main if not group.columns]:
        named = " and ".join(f"{group.direction} on all rows ({_means(group)})" for group in whole)
        return f"{what.capitalize()} are {named}. Fix this first, then search again."
    named = " and ".join(f"{group.direction} where {_of(group)} ({_means(group)})" for group in main[:MOST_NAMED])
    more = len(main) - MOST_NAMED
    rest = f"; {more} more group{'s' if more > 1 else ''}" if more > 0 else ""
    return f"{what.capitalize()} are {named}{rest}."


def explain(found: GroupFindings) -> str:
    """Say what the outcome means: how many were looked at, with which error, and what could have been found."""
    sentences = [_all_rows(found)]
    if found.found:
        overlap = found.n_found - sum(group.stands_alone for group in found.found)
        were = "was" if found.n_found == 1 else "were"
        sentences.append(f"Of {_looked(found)}, {found.n_found:,} {were} found{_overlapping(overlap)}.")
        if any(group.is_on_half for group in found.found):
            sentences.append(
                "Rows and means of a leaf are those of the half of the rows that the tree was not grown on."
            )
        one = "forecast" if found.of_forecasts else "prediction"
        sentences.append(
            f"If no {one} were off, anything would be found with a probability of {found.alpha:.0%} at most."
        )
    else:
        looked = _looked(found)
        sentences.append(f"{looked[0].upper()}{looked[1:]} were tested.")
        sentences += _could(found)
    return " ".join(sentences)


def _looked(found: GroupFindings) -> str:
    twice = ", each counted for place and for width" if found.of_forecasts else ""
    cells = f"{_counted(found.n_cells, 'group')} of up to {_counted(found.depth, 'column')}"
    return cells + (f" and {_counted(found.n_leaves, 'leaf', 'leaves')} of a tree" if found.n_leaves else "") + twice


def _counted(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def _overlapping(count: int) -> str:
    if not count:
        return ""
    is_one = count == 1
    return f"; {count:,} overlap{'s' * is_one} with the others and {'is' if is_one else 'are'} explained by them"


def _all_rows(found: GroupFindings) -> str:
    whole = found.overall
    if found.of_forecasts:
        return (
            f"All {found.n_samples:,} rows together: targets lie at {whole.observed:.1%} of their forecasts on average "
            f"(50% if right), and 90% intervals hold {whole.coverage:.1%} of them."
        )
    clear = " (beyond chance)" if whole.adjusted <= found.alpha else ""
    return f"All {found.n_samples:,} rows together: {_means(whole)}{clear}."


def _could(found: GroupFindings) -> list[str]:
    """Say what would have been found, for the sizes at both ends."""
    if not found.detectable:
        return []
    sizes = {each.n_rows: each for each in (found.detectable[0], found.detectable[-1])}
    if found.of_forecasts:
        parts = [
            f"by {each.size * PER_SD:.2f} standard deviations in a group of {each.n_rows:,} rows ({each.share:.0%})"
            for each in sizes.values()
        ]
        errors = f"Normal forecasts that are shifted {' or '.join(parts)}"
    else:
        parts = [f"by {each.size:.3f} in a group of {each.n_rows:,} rows ({each.share:.0%})" for each in sizes.values()]
        errors = f"Predictions that are off {' or '.join(parts)}"
    return [f"{errors} would have been found with a probability of about 80%; smaller errors may exist."]


def _of(group: FoundGroup) -> str:
    return f"{group.label}, of {group.event}" if group.event else group.label


def _means(group: FoundGroup) -> str:
    if group.what == "spread":
        return f"90% intervals hold {group.coverage:.1%}"
    if group.what == "bias":
        return f"targets lie at {group.observed:.1%} of their forecasts on average, not 50%"
    return f"{group.predicted:.1%} predicted, {group.observed:.1%} observed"
