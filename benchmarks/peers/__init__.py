"""Every measure, test and calibrator beside every peer that has it, on the same data: `make benchmarks`."""
