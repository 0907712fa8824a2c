"""What the omnibus test looks at: statistics that need no fit to the labels, evaluated on many redraws of them."""

from calibrant.hypotest.evidence.classes import ClassEvidence
from calibrant.hypotest.evidence.kernel import KernelEvidence
from calibrant.hypotest.evidence.line import LineEvidence
from calibrant.hypotest.evidence.parts import Evidence, ImpossibleEvidence, Part
from calibrant.hypotest.evidence.ranked import RankedEvidence

__all__ = [
    "ClassEvidence",
    "Evidence",
    "ImpossibleEvidence",
    "KernelEvidence",
    "LineEvidence",
    "Part",
    "RankedEvidence",
]
