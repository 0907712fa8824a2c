"""What commands do, in modules that may import everything: commands import them after the options are checked."""
