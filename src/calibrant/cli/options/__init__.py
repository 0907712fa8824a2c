"""Options that several commands share: how to read, judge, decide, and process many files."""
