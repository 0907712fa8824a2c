"""Measurements of the stack and of the advice, in units that are kept in files, so that a run can continue."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
from stack_models import Model, simulated

from calibrant import Predictions, __version__, recommend
from calibrant.advice.advise import SMALL_PVALUE
from calibrant.advice.cross_fit import cross_fit, draw_folds
from calibrant.calibrators import StackedCalibration, calibrate, parse
from calibrant.calibrators.combinations.folds import Unseen, out_of_fold
from calibrant.calibrators.combinations.shared_stages import SharedStages
from calibrant.calibrators.combinations.stack import LARGEST_MATRIX, default_members, folds_for
from calibrant.hypotest import OmnibusTest
from calibrant.lab.store import filename, pack_json
from calibrant.metrics import NLL, Brier

CONSIDERED = {"two": ("spline>guard", "ts>guard"), "many": ("sms", "iop-deep"), "most": ("iop-diag",)}
"""Calibrators that are not default members for all numbers of rows, or for any, and are tried as members."""

OTHERS = {"two": ("platt>guard", "beta>guard"), "many": ("iop-diag", "svs>iop-diag", "sms>iop-diag"), "most": ()}
"""Single calibrators."""

TOGETHER = (
    {"svs", "sms"},
    {"svs", "iop-deep"},
    {"sms", "iop-deep"},
    {"svs", "sms", "iop-deep"},
    {"guard-light", "ts>guard-light"},
    {"guard-light", "ts>guard-light", "spline>guard"},
)
"""Members that are also left out together."""

SINGLE = ("identity", "ts", "svs", "sms", "iop-diag", "svs>iop-diag", "sms>iop-diag", "iop-deep")
SINGLE_OF_TWO = ("identity", "ts>guard", "platt>guard", "spline>guard", "svs", "beta>guard")
"""What the advice is compared with; which of them is best is known only afterwards."""

SETS, TESTED_SETS = 20, 1000
"""Calibrated data sets of one unit, to advise and to test only."""


class Unit:
    """A frozen dataclass with `name` and `compute`."""

    @property
    def filename(self):
        """Name of the file that holds the values; it depends on all settings and on the version of the package."""
        return filename(self.name, hashlib.sha256(repr((__version__, self)).encode()).hexdigest(), ".json")

    def find(self, store):
        """Return the values, or None if they are not there."""
        content = store.find(self)
        return None if content is None else json.loads(content)

    def content(self):
        """Return what the file holds."""
        return pack_json(self.compute())


@dataclass(frozen=True)
class Drawn(Unit):
    """Of rows drawn from a model."""

    model: Model
    n: int
    draw: int

    def __repr__(self):
        return repr(
            (type(self).__name__, self.model.group, self.model.name, self.model.arguments[1:], self.n, self.draw)
        )

    @property
    def name(self):
        return f"{type(self).__name__} {self.model.group}, {self.model.name}, {self.n} rows, draw {self.draw}"


def scores(log_probs, labels):
    """Return log loss and Brier score."""
    p = Predictions.from_logits(log_probs, labels)
    return [float(NLL()(p)), float(Brier()(p))]


class Fits(Drawn):
    """Log loss and Brier score on new rows of single calibrators, of the stack, and of stacks of other members.

    What may be a member is fitted once, to all rows and in folds, for all of these: "all" is the stack of everything
    that is considered, "without ..." the same without some.
    """

    def compute(self):
        some, judged = self.model.drawn(self.n, self.draw)
        k, data = some.n_classes, (some.log_probs, some.labels, some.weights)
        shape = "two" if k == 2 else "many" if k <= LARGEST_MATRIX else "most"
        stack = default_members(k, some.n_samples)
        members = tuple(dict.fromkeys((*stack, *CONSIDERED[shape])))
        others = OTHERS[shape]
        singles = SharedStages([parse(name, scores="logits") for name in (*members, *others)])
        singles.learn(*data)
        after = dict(zip((*members, *others), singles.transform(judged.log_probs), strict=True))
        found = {"identity": scores(judged.log_probs, judged.labels)}
        found |= {name: scores(log_probs, judged.labels) for name, log_probs in after.items()}
        whole = SharedStages([parse(name, scores="logits") for name in members])
        whole.fits = singles.fits
        unseen = out_of_fold(whole, *data, folds_for(some.n_samples))
        for title, part in ({"stack": stack} | parts(members, k)).items():
            seen_by = [unseen.log_probs[members.index(name)] for name in part]
            mixed = StackedCalibration().mixed(unseen._replace(log_probs=seen_by), some.weights.sum())
            found[title] = scores(mixed.transform([after[name] for name in part]), judged.labels)
        return found


def parts(members, k):
    """Return the members of the largest stack and of parts of it."""
    left_out = [{one} for one in members] + [some for some in TOGETHER if some <= set(members)]
    found = {f"without {', '.join(sorted(some))}": tuple(x for x in members if x not in some) for some in left_out}
    kept = default_members(k, 0, keep_argmax=True)
    return {"all": members} | found | ({"stack-order": kept} if set(kept) <= set(members) else {})


class Compared(Drawn):
    """Log loss and Brier score on new rows of the stack and of three of its rivals."""

    def compute(self):
        some, judged = self.model.drawn(self.n, self.draw)
        return {
            name: fitted_scores(parse(name, scores="logits"), some, judged) for name in ("ts", "svs", "sms", "stack")
        }


class Followed(Drawn):
    """What is advised, and log loss and Brier score on new rows of it, of the stack and of single calibrators."""

    def compute(self):
        some, judged = self.model.drawn(self.n, self.draw)
        if np.ptp(some.labels) == 0:
            return None
        advice = recommend(some, rng=0)
        names = SINGLE_OF_TWO if some.n_classes == 2 else SINGLE
        after = {name: fitted_scores(parse(name, scores="logits"), some, judged) for name in (*names, "stack")}
        advised = calibrate(advice.calibrator, judged)
        return advice.name, after | {"advice": scores(advised.log_probs, judged.labels)}


def fitted_scores(calibrator, some, judged):
    """Return the scores of a calibrator that is fitted to some predictions, on others."""
    after = calibrate(calibrator.fit(some.log_probs, some.labels, classes=some.classes), judged)
    return scores(after.log_probs, judged.labels)


@dataclass(frozen=True)
class Alone(Unit):
    """What is advised for calibrated predictions."""

    k: int
    n: int
    block: int

    @property
    def name(self):
        return f"Alone {self.k} classes, {self.n} rows, block {self.block}"

    def compute(self):
        return [self.advised(seed) for seed in range(SETS * self.block, SETS * (self.block + 1))]

    def advised(self, seed):
        return recommend(calibrated(self.n, self.k, seed), rng=seed, n_resamples=499).name


@dataclass(frozen=True)
class Tested(Unit):
    """How many of calibrated predictions the test finds: with few rows the advice leaves at least the others alone."""

    k: int
    n: int
    block: int

    @property
    def name(self):
        return f"Tested {self.k} classes, {self.n} rows, block {self.block}"

    def compute(self):
        seeds = range(TESTED_SETS * self.block, TESTED_SETS * (self.block + 1))
        return sum(OmnibusTest(99)(calibrated(self.n, self.k, seed), rng=seed).pvalue <= SMALL_PVALUE for seed in seeds)


def calibrated(n, k, seed):
    """Return predictions whose labels are drawn from them."""
    rng = np.random.default_rng([seed, k, n])
    logits = 2.0 * rng.normal(size=(n, k))
    return Predictions.from_logits(logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1))


@dataclass(frozen=True)
class Nesting(Unit):
    """Cross-fitted log loss of a stack minus that of a fully nested cross-validation."""

    k: int
    n: int
    seed: int

    @property
    def name(self):
        return f"Nesting {self.k} classes, {self.n} rows, seed {self.seed}"

    def compute(self):
        p = Predictions.from_logits(*simulated(self.k, (self.seed, self.n), self.n))
        folds = draw_folds(p, 5, np.random.default_rng(self.seed))
        shared = NLL()(cross_fit(StackedCalibration(), p, folds, lambda: None).predictions)
        return float(shared - nested_loss(p, folds, StackedCalibration()))


def nested_loss(p, folds, stack):
    """Return the log loss if, for every fold, everything begins anew: weights and map never saw it."""
    result = np.empty_like(p.probs)
    for rows in folds:
        inner, labels = [], []
        outside = [other for other in folds if other is not rows]
        for other in outside:
            known = np.concatenate([one for one in outside if one is not other])
            inner.append(list(members_of(p, known, stack).transform(p.log_probs[other])))
            labels.append(p.labels[other])
        labels = np.concatenate(labels)
        unseen = Unseen([np.concatenate(parts) for parts in zip(*inner, strict=True)], labels, np.ones(len(labels)))
        members = members_of(p, np.concatenate(outside), stack)
        result[rows] = stack.mixed(unseen, len(labels)).transform(list(members.transform(p.log_probs[rows])))
    return -result[np.arange(p.n_samples), p.labels].mean()


def members_of(p, rows, stack):
    """Return members of a stack fitted to some rows."""
    stages = SharedStages(stack.members_for(p.n_classes, p.n_samples))
    stages.learn(p.log_probs[rows], p.labels[rows], p.weights[rows])
    return stages
