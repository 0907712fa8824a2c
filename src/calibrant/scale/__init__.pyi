from calibrant.scale.assess import assess_sketch as assess_sketch
from calibrant.scale.dask_engine import sketch_dask as sketch_dask
from calibrant.scale.grouped import (
    GroupedSketch as GroupedSketch,
    read_sketch as read_sketch,
    write_sketch as write_sketch,
)
from calibrant.scale.local import (
    Sketched as Sketched,
    sketch_files as sketch_files,
)
from calibrant.scale.passes import fit_passes as fit_passes
from calibrant.scale.reading import (
    Reading as Reading,
    files_of as files_of,
)
from calibrant.scale.batch import Counters as Counters
from calibrant.scale.sketch import Sketch as Sketch
from calibrant.scale.spark_engine import (
    sketch_frame as sketch_frame,
    sketch_spark as sketch_spark,
)
