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
    def save(self, path: str | os.PathLike[str], description: str = ..., *, overwrite: bool = ...) -> None: ...

class Streamlines(Sequence[numpy.ndarray]):
    def __init__(self, points: numpy.ndarray, offsets: Any) -> None: ...
    @classmethod
    def from_nibabel(cls, given: Any) -> Streamlines: ...
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
    def groups(self) -> dict[str, numpy.ndarray]: ...
    @property
    def affine(self) -> numpy.ndarray | None: ...
    selected: numpy.ndarray | None
    def with_values(self, name: str, values: Any) -> Streamlines: ...
    def to_nibabel(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def save(self, path: str | os.PathLike[str], description: str = ..., *, overwrite: bool = ...) -> None: ...

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

class Phantom:
    scan: Image
    mask: Image
    fibres: Streamlines
    bundles: list[str]

class Fod:
    wm_fod: Image
    gm: Image
    csf: Image
    fractions: Image
    peaks: Image
    afd: Image
    afd_total: Image
    dispersion: Image
    complexity: Image
    dec: Image
    cone: Image
    peak_dispersion: Image
    mask: Image
    order: int
    scan: Image
    @property
    def responses(self) -> dict[str, str]: ...

class Pathway:
    u1: Image
    u2: Image
    u: Image
    pathway: Image
    path: Streamlines
    least: float
    epsilon: float
    joined: bool
    joined_from: float
    volume_ml: float
    cost: float
    length_mm: float
    cost_per_mm: float
    excess_limit: float
    pairs_tried: int
    pairs_joined: int
    weakest_above: float
    cost_per_mm_above: float
    sensitivity: Image

class Segmentation:
    labels: Image
    points: numpy.ndarray
    triangles: numpy.ndarray
    target: float
    tolerance: float
    steps: int
    at_rest: bool
    leaked: bool
    remark: str
    volume_ml: float
    area_mm2: float
    diameter_mm: float
    run: str
    dice: float
    sensitivity: float
    specificity: float
    correct: float
    mean_mm: float
    hausdorff95_mm: float

class Weights:
    weights: numpy.ndarray
    intra: Image
    extra: Image
    free: Image
    rmse: Image
    streamlines: Streamlines
    objective: float
    total_rmse: float
    iterations: int
    converged: bool
    outside: int
    remarks: list[str]

class Connectome:
    count: numpy.ndarray
    length: numpy.ndarray
    value: numpy.ndarray
    labels: list[int]
    names: list[str]
    examined: int
    one_end: int
    no_end: int
    def to_pandas(self, matrix: str = ...) -> Any: ...

class Profile:
    centre: numpy.ndarray
    length_mm: float
    used: int
    left_out: int
    names: list[str]
    @property
    def share(self) -> numpy.ndarray: ...
    @property
    def mean(self) -> dict[str, numpy.ndarray]: ...
    @property
    def sd(self) -> dict[str, numpy.ndarray]: ...
    @property
    def count(self) -> dict[str, numpy.ndarray]: ...
    def to_pandas(self) -> Any: ...

def world_directions(bvecs: Any, affine: Any) -> numpy.ndarray: ...
def select(
    streamlines: Any,
    *,
    include: Any = ...,
    exclude: Any = ...,
    target: Any = ...,
    within: Any = ...,
    ends: bool = ...,
    group: str | None = ...,
    length: Any = ...,
    values: dict[str, Any] | None = ...,
    images: Iterable[Any] = ...,
    stop: str | None = ...,
    invert: bool = ...,
    number: int | None = ...,
    random_seed: int = ...,
    backend: str = ...,
    threads: int | None = ...,
    progress: Callable[[str, float | None], Any] | None = ...,
) -> Streamlines: ...
def open(path: str | os.PathLike[str], *, progress: Callable[[str, float | None], Any] | None = None) -> Image | Streamlines: ...
def view(*given: Any, **named: Any) -> subprocess.Popen[bytes]: ...

# Generated.
def phantom(
    *,
    kind: Any = ...,
    seed: Any = ...,
    backend: Any = ...,
    threads: Any = ...,
    progress: Any = ...,
    snr: float | str | None = ...,
    shells: float | str | None = ...,
    b0: float | str | None = ...,
    spacing: float | str | None = ...,
) -> Phantom: ...
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
def fod(
    scan: Any,
    *,
    mask: Any = ...,
    responses: Any = ...,
    response_algorithm: Any = ...,
    backend: Any = ...,
    threads: Any = ...,
    progress: Any = ...,
    method: str = ...,
    order: float | str | None = ...,
    precision: str = ...,
    bootstrap: float | str | None = ...,
    random_seed: float | str | None = ...,
    response_order: float | str | None = ...,
    erode: float | str | None = ...,
    white_fa: float | str | None = ...,
    single_fibre_share: float | str | None = ...,
    grey_share: float | str | None = ...,
    csf_share: float | str | None = ...,
    single_fibre_voxels: float | str | None = ...,
    peaks: float | str | None = ...,
    min_amplitude: float | str | None = ...,
    min_share: float | str | None = ...,
) -> Fod: ...
def track(
    fit: Any,
    *,
    seed: Any = ...,
    target: Any = ...,
    include: Any = ...,
    exclude: Any = ...,
    terminate: Any = ...,
    within: Any = ...,
    tissues: Any = ...,
    scan: Any = ...,
    responses: Any = ...,
    odf_basis: Any = ...,
    odf_frame: Any = ...,
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
    bootstrap: float | str | None = ...,
    one_way: bool = ...,
    method: str = ...,
    seed_interface: bool = ...,
    select: float | str | None = ...,
    cutoff: float | str | None = ...,
    samples: float | str | None = ...,
    no_back_track: bool = ...,
) -> Streamlines: ...
def rays(
    fit: Any,
    *,
    seed: Any = ...,
    target: Any = ...,
    include: Any = ...,
    exclude: Any = ...,
    terminate: Any = ...,
    within: Any = ...,
    odf_basis: Any = ...,
    odf_frame: Any = ...,
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
    one_way: bool = ...,
    directions: float | str | None = ...,
    through: float | str | None = ...,
    sharpen: float | str | None = ...,
    precision: str = ...,
    keep_every: float | str | None = ...,
    both_ways: bool = ...,
    no_loop_guard: bool = ...,
    form: str = ...,
    cut: float | str | None = ...,
    speed_exponent: float | str | None = ...,
    speed_floor: float | str | None = ...,
    speed_reference: float | str | None = ...,
    cutoff: float | str | None = ...,
) -> Streamlines: ...
def pathway(
    fit: Any,
    from_: Any,
    to: Any,
    *,
    within: Any = ...,
    exclude: Any = ...,
    costly: Any = ...,
    null: Any = ...,
    null_full: Any = ...,
    sensitivity: Any = ...,
    odf_basis: Any = ...,
    odf_frame: Any = ...,
    backend: Any = ...,
    threads: Any = ...,
    progress: Any = ...,
    min_fa: float | str | None = ...,
    costly_factor: float | str | None = ...,
    local_solver: str = ...,
    metric: str = ...,
    alpha: float | str | None = ...,
    epsilon: float | str | None = ...,
    curvature_price: float | str | None = ...,
    directions: str = ...,
    background_speed: float | str | None = ...,
    min_amplitude: float | str | None = ...,
) -> Pathway: ...
def segment(
    image: Any = ...,
    *,
    probe: Any = ...,
    add: Any = ...,
    remove: Any = ...,
    mask: Any = ...,
    threshold: Any = ...,
    fill: Any = ...,
    volume: Any = ...,
    layer: Any = ...,
    layer_range: Any = ...,
    grow_here: Any = ...,
    not_here: Any = ...,
    steps: Any = ...,
    ignore_leaks: Any = ...,
    reference: Any = ...,
    script: Any = ...,
    backend: Any = ...,
    threads: Any = ...,
    progress: Any = ...,
    target: float | str | None = ...,
    tolerance: float | str | None = ...,
    smoothness: float | str | None = ...,
    intensity: float | str | None = ...,
    region: float | str | None = ...,
    edge: float | str | None = ...,
    edge_contrast: float | str | None = ...,
    layer_weight: float | str | None = ...,
    bias: float | str | None = ...,
    paper: bool = ...,
    rescaling: float | str | None = ...,
    redistance_every: float | str | None = ...,
) -> Segmentation: ...
def commit(
    streamlines: Any,
    scan: Any,
    *,
    mask: Any = ...,
    peaks: Any = ...,
    start: Any = ...,
    gamma: Any = ...,
    pulse: Any = ...,
    between: Any = ...,
    scheme: Any = ...,
    backend: Any = ...,
    threads: Any = ...,
    progress: Any = ...,
    model: str = ...,
    along: float | str | None = ...,
    across: float | str | None = ...,
    free: float | str | None = ...,
    force_model: bool = ...,
    radii: float | str | None = ...,
    blur: float | str | None = ...,
    lasso: float | str | None = ...,
    group: float | str | None = ...,
    keep_b0: bool = ...,
    raw_signal: bool = ...,
    raw_kernels: bool = ...,
    iterations: float | str | None = ...,
    tolerance: float | str | None = ...,
    operator: str = ...,
    precision: str = ...,
) -> Weights: ...
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
def connectome(
    streamlines: Any,
    labels: Any,
    *,
    value: Any = ...,
    backend: Any = ...,
    threads: Any = ...,
    progress: Any = ...,
    radius: float | str | None = ...,
) -> Connectome: ...
def profile(
    streamlines: Any,
    *,
    values: Any = ...,
    images: Any = ...,
    start: Any = ...,
    backend: Any = ...,
    threads: Any = ...,
    progress: Any = ...,
    nodes: float | str | None = ...,
    reverse: bool = ...,
) -> Profile: ...
