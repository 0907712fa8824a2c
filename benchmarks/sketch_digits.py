"""What a sketch of 9, 10 and 12 digits is off by, a million rows of the five shapes of benchmarks/scale.py.

python benchmarks/sketch_digits.py
"""

from calibrant import Predictions
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import METRICS, SKCE, KdeECE
from calibrant.scale import Sketch
from scale import shapes

MEASURED = {key: METRICS[key] for key in ("ece-equal-mass", "rms-debiased", "ecce", "miscalibration")} | {
    "kde-ece, 0.02": KdeECE(bandwidth=0.02),
    "skce, 0.2": SKCE(ExponentialKernel(TotalVariation(), 0.2) @ WhiteKernel()),
}


def main():
    for shape, (p, y) in shapes(1_000_000).items():
        rows = Predictions(p, y)
        cells = [Sketch(digits=digits).update(p, y).one_vs_rest(1) for digits in (9, 10, 12)]
        for name, metric in MEASURED.items():
            exact = metric(rows)
            print(shape, name, *(f"{abs(metric(one) / exact - 1):.1e}" for one in cells))


if __name__ == "__main__":
    main()
