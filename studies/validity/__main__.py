"""Run the simulations that are not done yet, and write the tables: `python -m studies.validity`."""

from studies.simulations.start import start

if __name__ == "__main__":
    start("validity")
