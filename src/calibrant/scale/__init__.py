"""Predictions beyond one machine and one day: a mergeable sketch, and engines that fill it."""

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
