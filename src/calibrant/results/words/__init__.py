"""Results in words: what the terminal and pages say of them, and how they print."""
