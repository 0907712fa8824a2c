"""Run the simulations that are not done yet, and write the table: `python -m studies.forecast_calibrators`."""

from studies.simulations.start import start

if __name__ == "__main__":
    start("forecast_calibrators")
