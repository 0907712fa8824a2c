"""Run the simulations that are not done yet, and write the tables: `python -m studies.groups`."""

from studies.simulations.start import start

if __name__ == "__main__":
    start("groups")
