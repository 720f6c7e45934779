"""Exceptions of the package. Their texts are the engine's sentences."""


class Error(Exception):
    """Base of all exceptions of this package."""


class InputError(Error, ValueError):
    """Wrong data: what was found, what was expected, what to do."""


class ParameterError(InputError):
    """A wrong keyword argument."""


class FileError(Error, OSError):
    """A file that cannot be read or written."""


class MemoryShortage(Error, MemoryError):
    """The machine lacks memory."""


class BackendError(Error, RuntimeError):
    """The backend cannot be used, or a graphics card failed."""


class Remark(UserWarning):
    """A remark about a file that was opened."""
