"""Sums over all pairs of rows of a kernel times a product of residuals, without the n x n matrix.

`pairs` is compiled, `twin` says the same in plain NumPy, `engine` chooses between them; `sorted1d` is for one predicted
probability and the exponential kernel, in O(n log n).
"""

from types import ModuleType

# Importing numba and loading the compiled code takes as long as the twin takes for about 6500 rows of ten classes. The
# bar is at a tenth of that, about 2000 rows: the code is loaded once, and whoever calls once often calls again.
_WORTH_LOADING = 5e7


def engine(n_rows: int, n_classes: int, n_calls: int = 1) -> ModuleType:
    """Return `pairs`, or `twin` if all calls together take less time than loading the compiled code.

    The choice depends on the numbers given and on nothing else, so that a result can be repeated to the last bit.
    """
    from calibrant._native import twin

    if n_calls * n_rows**2 * (n_classes + 2) < _WORTH_LOADING:
        return twin
    from calibrant._native import pairs

    return pairs


def must_compile() -> bool:
    """Whether the compiled code is not on this machine yet, so that the next call takes seconds longer."""
    from calibrant._native.compile import is_cached
    from calibrant._native.jobs import sum_job

    return not is_cached(sum_job)
