"""How often a search for groups finds what is off, and what is not; what a fix costs and gains."""
