"""Small numerical routines of our own, lighter than an import of SciPy's; and how many threads others may use."""
