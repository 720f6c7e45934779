"""Arcuate's solvers under NumPy: diffusion tensors, streamlines and their density.

For research only: not a medical device.
"""

from . import _generated
from ._data import Fit, Image, Streamlines
from ._engine import VERSION as __version__
from ._errors import BackendError, Error, FileError, InputError, MemoryShortage, ParameterError, Remark
from ._functions import density, fit, open, track, view

for _function in (fit, track, density):
    _generated.describe(_function)
del _function

__all__ = [
    "BackendError",
    "Error",
    "FileError",
    "Fit",
    "Image",
    "InputError",
    "MemoryShortage",
    "ParameterError",
    "Remark",
    "Streamlines",
    "density",
    "fit",
    "open",
    "track",
    "view",
]
