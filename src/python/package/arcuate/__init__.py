"""Arcuate's solvers under NumPy: tensors, fibre orientations, streamlines, pathways, level sets, COMMIT.

For research only: not a medical device.
"""

from . import _functions, _generated
from ._data import Fit, Image, Streamlines, world_directions
from ._engine import VERSION as __version__
from ._errors import BackendError, Error, FileError, InputError, MemoryShortage, ParameterError, Remark
from ._functions import (
    commit,
    connectome,
    density,
    fit,
    fod,
    open,
    pathway,
    phantom,
    profile,
    rays,
    segment,
    select,
    track,
    view,
)
from ._results import Connectome, Fod, Pathway, Phantom, Profile, Segmentation, Weights

_generated.describe_all(_functions)

__all__ = [
    "BackendError",
    "Connectome",
    "Error",
    "FileError",
    "Fit",
    "Fod",
    "Image",
    "InputError",
    "MemoryShortage",
    "ParameterError",
    "Pathway",
    "Phantom",
    "Profile",
    "Remark",
    "Segmentation",
    "Streamlines",
    "Weights",
    "commit",
    "connectome",
    "density",
    "fit",
    "fod",
    "open",
    "pathway",
    "phantom",
    "profile",
    "rays",
    "segment",
    "select",
    "track",
    "view",
    "world_directions",
]
