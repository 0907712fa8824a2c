"""Memory that a call takes."""

import tracemalloc


def peak_memory(function):
    """Return the largest number of bytes that Python held at once."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
