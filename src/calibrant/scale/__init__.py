"""Predictions beyond one machine and one day: a mergeable sketch, and engines that fill it."""

from typing import TYPE_CHECKING

from calibrant._border.lazy import attributes

if TYPE_CHECKING:
    from calibrant.scale.assess import assess_sketch
    from calibrant.scale.dask_engine import sketch_dask
    from calibrant.scale.grouped import GroupedSketch
    from calibrant.scale.local import Sketched, sketch_files
    from calibrant.scale.passes import fit_passes
    from calibrant.scale.reading import Reading, files_of
    from calibrant.scale.saved import read_sketch, write_sketch
    from calibrant.scale.sketch import Counters, Sketch
    from calibrant.scale.spark_engine import sketch_frame, sketch_spark

__all__ = [
    "Counters",
    "GroupedSketch",
    "Reading",
    "Sketch",
    "Sketched",
    "assess_sketch",
    "files_of",
    "fit_passes",
    "read_sketch",
    "sketch_dask",
    "sketch_files",
    "sketch_frame",
    "sketch_spark",
    "write_sketch",
]

__getattr__ = attributes(
    __name__,
    {
        "assess_sketch": "calibrant.scale.assess",
        "sketch_dask": "calibrant.scale.dask_engine",
        "GroupedSketch": "calibrant.scale.grouped",
        "Sketched": "calibrant.scale.local",
        "sketch_files": "calibrant.scale.local",
        "fit_passes": "calibrant.scale.passes",
        "Reading": "calibrant.scale.reading",
        "files_of": "calibrant.scale.reading",
        "read_sketch": "calibrant.scale.saved",
        "write_sketch": "calibrant.scale.saved",
        "Counters": "calibrant.scale.sketch",
        "Sketch": "calibrant.scale.sketch",
        "sketch_frame": "calibrant.scale.spark_engine",
        "sketch_spark": "calibrant.scale.spark_engine",
    },
)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
