"""The likelihood of a softmax, Newton's method, and work in blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from calibrant._core.blocks import keep_argmax
from calibrant.calibrators.fitting import newton
from calibrant.calibrators.fitting.newton import minimise
from calibrant.calibrators.fitting.softmax import Diagonal, Full, PenalisedLikelihood
from naming import each


class TestLikelihood:
    """The derivatives that Newton's method relies on."""

    @staticmethod
    def problem(family, k, n=70):
        rng = np.random.default_rng(k)
        scores = np.log(rng.dirichlet(np.ones(k), n))
        shape = family(scores).shape
        likelihood = PenalisedLikelihood(
            family(scores), rng.integers(0, k, n), rng.random(n), penalty=rng.random(shape), target=rng.random(shape)
        )
        return likelihood, rng.normal(size=shape).ravel(), rng.normal(size=shape).ravel()

    @each("family", [Diagonal, Full])
    @each("k", [2, 5, 40])
    def test_gradient_and_product_are_derivatives(self, family, k):
        likelihood, x, v = self.problem(family, k)
        h = 1e-5
        (above, gradient_above), (below, gradient_below) = likelihood(x + h * v), likelihood(x - h * v)
        _, gradient = likelihood(x)
        assert gradient @ v == pytest.approx((above - below) / (2 * h), rel=5e-6)
        product = likelihood.product(v)
        assert product == pytest.approx((gradient_above - gradient_below) / (2 * h), rel=5e-6, abs=5e-7)

    @each("family", [Diagonal, Full])
    @each("k", [2, 5])
    def test_the_hessian_and_its_diagonal_agree_with_products(self, family, k):
        likelihood, x, _ = self.problem(family, k)
        likelihood(x)
        columns = np.column_stack([likelihood.product(unit) for unit in np.eye(len(x))])
        assert likelihood.hessian() == pytest.approx(columns, abs=1e-12)
        assert likelihood.diagonal() == pytest.approx(np.diag(columns), abs=1e-12)

    @pytest.mark.parametrize("family", [Diagonal, Full])
    def test_factor_and_conjugate_gradients_find_the_same_minimum(self, family, monkeypatch):
        likelihood, x, _ = self.problem(family, 6)
        by_factor = minimise(likelihood, x)
        monkeypatch.setattr(newton, "_FEW_PARAMETERS", 0)
        by_products = minimise(likelihood, x)
        assert by_factor.converged
        assert by_products.converged
        assert by_factor.x == pytest.approx(by_products.x, abs=1e-8)

    def test_rows_in_blocks_give_the_same_sums(self):
        whole, x, v = self.problem(Diagonal, 5)
        parts, _, _ = self.problem(Diagonal, 5)
        parts.family.entries = 20
        assert parts(x)[0] == pytest.approx(whole(x)[0], abs=1e-14)
        assert parts.product(v) == pytest.approx(whole.product(v), abs=1e-14)

    @pytest.mark.parametrize("n_threads", [2, 3])
    def test_the_number_of_threads_does_not_matter(self, n_threads):
        one, x, _ = self.problem(Diagonal, 5)
        several, _, _ = self.problem(Diagonal, 5)
        one.family.entries = several.family.entries = 20
        one.family.n_threads, several.family.n_threads = 1, n_threads
        assert np.array_equal(one(x)[1], several(x)[1])

    def test_a_step_that_raises_the_value_is_shortened(self):
        class Steep:
            """sqrt(1 + x^2), where Newton's method diverges from any start beyond 1."""

            def __call__(self, x):
                self.x = x
                return float(np.sqrt(1 + x @ x)), x / np.sqrt(1 + x @ x)

            def hessian(self):
                return np.array([[(1 + self.x @ self.x) ** -1.5]])

            def diagonal(self):
                return self.hessian()[0]

            def product(self, v):
                return self.hessian() @ v

        found = minimise(Steep(), np.array([3.0]))
        assert found.converged
        assert found.x == pytest.approx(0.0, abs=1e-6)


class TestArgmax:
    @given(st.data())
    def test_the_largest_entry_stays_where_it_was(self, data):
        k = data.draw(st.integers(2, 6))
        before = np.array([data.draw(st.lists(st.floats(-30, 0), min_size=k, max_size=k))])
        shrunk = softmax(before / np.exp(16), axis=1)  # Many entries are equal after rounding.
        kept = keep_argmax(before, shrunk.copy())
        assert kept.argmax() == before.argmax()
        assert kept == pytest.approx(shrunk, rel=1e-14)

    def test_what_is_not_rounding_is_not_hidden(self):
        after = np.array([[0.4, 0.6]])
        assert keep_argmax(np.log([[0.6, 0.4]]), after.copy()).tolist() == after.tolist()
