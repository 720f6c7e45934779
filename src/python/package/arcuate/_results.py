"""Results with several parts. Images and arrays share the engine's memory."""

import numpy

from ._data import Image, Streamlines


class Result:
    """Parts by their names: images, streamlines, arrays and numbers; ``dir()`` lists them."""

    def __init__(self, raw):
        self._raw = raw

    def _array(self, name):
        array = self._raw.array(name)
        if array is None:
            raise AttributeError(f"This result has nothing named {name}")
        return array

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        facts = self._raw.facts()
        if name in facts:
            return facts[name]
        image = self._raw.image(name)
        if image is not None:
            return Image._of(image)
        streamlines = self._raw.streamlines(name)
        if streamlines is not None:
            return Streamlines._of(streamlines)
        return self._array(name)

    def __dir__(self):
        return [*super().__dir__(), *(name for name in self._raw.names() if name.isidentifier())]

    def __repr__(self):
        return f"<arcuate.{type(self).__name__}: {', '.join(self._raw.names())}>"


class Fod(Result):
    """Fibre orientation distributions and maps of their lobes.

    wm_fod (coefficients in MRtrix's basis, world axes), gm and csf (amounts), fractions, peaks, afd, afd_total,
    dispersion, complexity, dec, mask; with ``bootstrap``, cone and peak_dispersion; order.
    """

    def __init__(self, raw, scan):
        super().__init__(raw)
        #: The scan, whose residuals a bootstrap of ``track`` needs.
        self.scan = scan

    @property
    def responses(self):
        """The response functions in use, by tissue, as the text of MRtrix's files."""
        end = "_response"
        return {name[: -len(end)]: text for name, text in self._raw.facts().items() if name.endswith(end)}


class Pathway(Result):
    """The cheapest path between two regions and the voxels of nearly the same cost.

    u1, u2, u (costs from each region, and of the path through a voxel), pathway (a mask), path (streamlines with cost and
    fa per point), least, cost, length_mm, cost_per_mm, epsilon, joined, joined_from, volume_ml; through distributions
    excess_limit (costs are known up to this share above the least one, beyond it they are NaN).

    With ``null``: pairs_tried, pairs_joined, and the share of the random pairs whose path costs less per mm, on its
    costliest stretch (weakest_above) and along its whole length (cost_per_mm_above), NaN if there are too few. With
    ``sensitivity``: the image sensitivity, in percent.
    """


class Phantom(Result):
    """A synthetic head or block: scan (with gradients), mask, fibres (the true ones) and bundles (their names)."""


class Segmentation(Result):
    """Voxels and surface of a level set.

    labels (a mask), points and triangles of the surface in world mm, target, tolerance, steps, at_rest, leaked,
    volume_ml, area_mm2, diameter_mm; run (the parameters by step number, as the member run of a script). With
    ``reference``: dice, sensitivity, specificity, correct, mean_mm, hausdorff95_mm.
    """


class Weights(Result):
    """Weights of streamlines, and how much of the signal they explain.

    weights, intra, extra, free and rmse (images), streamlines (with the value commit), objective, total_rmse, iterations,
    converged, outside, remarks.
    """


class Connectome(Result):
    """Matrices of how streamlines connect labels.

    count, length (mean, mm), value (mean, if one was requested), labels (numbers of rows and columns), names, examined,
    one_end, no_end.
    """

    def to_pandas(self, matrix="count"):
        """A table of one matrix with the names of the labels."""
        import pandas

        return pandas.DataFrame(self._array(matrix), index=self.names, columns=self.names)


class Profile(Result):
    """Means along a bundle.

    centre (mean position of each node, world mm), share (0 to 1 along the bundle), mean, sd and count by the name of the
    value, length_mm, used, left_out, names.
    """

    def _by_name(self, kind):
        return {name: self._array(f"{name} {kind}") for name in self.names}

    @property
    def share(self):
        """Position of each node along the bundle, from 0 to 1."""
        nodes = len(self._array("centre"))
        return numpy.arange(nodes, dtype=numpy.float32) / numpy.float32(max(nodes - 1, 1))

    @property
    def mean(self):
        """Mean over the streamlines at each node, by name."""
        return self._by_name("mean")

    @property
    def sd(self):
        """Standard deviation at each node, by name."""
        return self._by_name("sd")

    @property
    def count(self):
        """Number of streamlines with a value at each node, by name."""
        return self._by_name("count")

    def to_pandas(self):
        """A row for each node, with the columns of the command's table."""
        import pandas

        centre = self._array("centre")
        columns = {"node": numpy.arange(len(centre)), "share": self.share}
        columns.update((f"{axis}_mm", centre[:, i]) for i, axis in enumerate("xyz"))
        for name in self.names:
            columns.update((f"{name} {kind}", self._array(f"{name} {kind}")) for kind in ("mean", "sd", "count"))
        return pandas.DataFrame(columns)
