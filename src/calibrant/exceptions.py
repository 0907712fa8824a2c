"""What is raised, and what is warned of, because of input."""


class InputError(ValueError):
    """Bad input: the message says what is required, what was found, where, and what to do."""


class FileError(InputError):
    """A file that cannot be read: it is damaged, or holds something else than its name or its use says.

    Examples
    --------
    >>> issubclass(FileError, InputError)
    True
    """


class DataWarning(UserWarning):
    """The data is accepted, but something about it is worth a second look."""
