"""The subcommands of `calibrant`: each module checks the options of one before anything is read, and runs it."""
