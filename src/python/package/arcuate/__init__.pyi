"""Types of the package. The functions below the line are generated: a test compares them with the tables of parameters."""

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy

__version__: str
__all__: list[str]

class Error(Exception): ...
class InputError(Error, ValueError): ...
class ParameterError(InputError): ...
class FileError(Error, OSError): ...
class MemoryShortage(Error, MemoryError): ...
class BackendError(Error, RuntimeError): ...
class Remark(UserWarning): ...

class Image:
    def __init__(self, array: Any, affine: Any, bvals: Any = None, directions: Any = None) -> None: ...
    @classmethod
    def from_nibabel(cls, image: Any, bvals: Any = None, directions: Any = None) -> Image: ...
    @property
    def array(self) -> numpy.ndarray: ...
    @property
    def affine(self) -> numpy.ndarray: ...
    @property
    def gradients(self) -> tuple[numpy.ndarray, numpy.ndarray] | None: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray: ...
    def to_nibabel(self) -> Any: ...
    def save(self, path: str | os.PathLike[str], description: str = ...) -> None: ...

class Streamlines(Sequence[numpy.ndarray]):
    def __init__(self, points: numpy.ndarray, offsets: Any) -> None: ...
    @classmethod
    def from_list(cls, lines: Iterable[Any]) -> Streamlines: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> numpy.ndarray: ...  # type: ignore[override]
    @property
    def points(self) -> numpy.ndarray: ...
    @property
    def offsets(self) -> numpy.ndarray: ...
    @property
    def per_streamline(self) -> dict[str, numpy.ndarray]: ...
    @property
    def per_point(self) -> dict[str, numpy.ndarray]: ...
    @property
    def affine(self) -> numpy.ndarray | None: ...
    def to_pandas(self) -> Any: ...
    def save(self, path: str | os.PathLike[str], description: str = ...) -> None: ...

class Fit:
    fa: Image
    md: Image
    ad: Image
    rd: Image
    dec: Image
    direction: Image
    tensor: Image
    s0: Image
    mask: Image
    repaired: Image

def open(path: str | os.PathLike[str], *, progress: Callable[[str, float | None], Any] | None = None) -> Image | Streamlines: ...
def view(*files: str | os.PathLike[str]) -> subprocess.Popen[bytes]: ...

# Generated.
def fit(
    scan: Any,
    *,
    mask: Any = ...,
    backend: Any = ...,
    threads: Any = ...,
    progress: Any = ...,
    method: str = ...,
    iterations: float | str | None = ...,
    b_range: float | str | None = ...,
    min_eigenvalue: float | str | None = ...,
) -> Fit: ...
def track(
    fit: Any,
    *,
    seed: Any = ...,
    target: Any = ...,
    include: Any = ...,
    exclude: Any = ...,
    terminate: Any = ...,
    within: Any = ...,
    backend: Any = ...,
    threads: Any = ...,
    progress: Any = ...,
    seeds: float | str | None = ...,
    random_seed: float | str | None = ...,
    step: float | str | None = ...,
    angle: float | str | None = ...,
    fa: float | str | None = ...,
    min_length: float | str | None = ...,
    max_length: float | str | None = ...,
    max_steps: float | str | None = ...,
    integrator: str = ...,
    interpolation: str = ...,
    targets: str = ...,
    includes: str = ...,
    deflect: float | str | None = ...,
    one_way: bool = ...,
) -> Streamlines: ...
def density(
    streamlines: Any,
    *,
    template: Any = ...,
    backend: Any = ...,
    threads: Any = ...,
    progress: Any = ...,
    voxel: float | str | None = ...,
    measure: str = ...,
    sent: float | str | None = ...,
    by_direction: bool = ...,
) -> Image: ...
