//! The kernels: `kernels/<stem>.cu`, and the PTX that `kernels/make_ptx.py` builds from it.

/// The kernels of one `.cu` file. PTX for compute capability 7.0 also runs on every newer card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelFile {
    /// File name without extension.
    pub stem: &'static str,
    /// Text of the PTX, compiled into the program.
    pub ptx: &'static str,
    /// `extern "C"` names: `<stem>_<verb>`.
    pub entries: &'static [&'static str],
}

/// The self-test of a card.
pub const PROBE: KernelFile = KernelFile {
    stem: "probe",
    ptx: include_str!("../../../kernels/ptx/probe.sm70.ptx"),
    entries: &["probe_fill"],
};

/// Geodesic rays.
pub const GEODESIC: KernelFile = KernelFile {
    stem: "geodesic",
    ptx: include_str!("../../../kernels/ptx/geodesic.sm70.ptx"),
    entries: &[
        "geodesic_trace_linear_1",
        "geodesic_trace_linear_2",
        "geodesic_trace_linear_4",
        "geodesic_trace_spline_1",
        "geodesic_trace_spline_2",
        "geodesic_trace_spline_4",
        "geodesic_share4_linear_2",
        "geodesic_share4_linear_4",
        "geodesic_share8_linear_2",
        "geodesic_share8_linear_4",
        "geodesic_lobes_8_1",
        "geodesic_lobes_8_2",
        "geodesic_lobes_8_4",
        "geodesic_lobes_12_1",
        "geodesic_lobes_12_2",
        "geodesic_lobes_12_4",
        "geodesic_cell",
        "geodesic_paper",
        "geodesic_fields",
        "geodesic_gather",
        "geodesic_seeds",
        "geodesic_sharpen",
        "geodesic_extend",
        "geodesic_halve",
    ],
};

/// Streamlines as they are drawn.
pub const DRAWN_LINES: KernelFile = KernelFile {
    stem: "drawn_lines",
    ptx: include_str!("../../../kernels/ptx/drawn_lines.sm70.ptx"),
    entries: &[
        "drawn_lines_examine",
        "drawn_lines_place",
        "drawn_lines_pack",
    ],
};

/// Density maps.
pub const DENSITY: KernelFile = KernelFile {
    stem: "density",
    ptx: include_str!("../../../kernels/ptx/density.sm70.ptx"),
    entries: &["density_passes", "density_add"],
};

/// Labels at the ends of streamlines.
pub const CONNECTIVITY: KernelFile = KernelFile {
    stem: "connectivity",
    ptx: include_str!("../../../kernels/ptx/connectivity.sm70.ptx"),
    entries: &["connectivity_ends"],
};

/// Selection of streamlines, and their values.
pub const TRACTOGRAM: KernelFile = KernelFile {
    stem: "tractogram",
    ptx: include_str!("../../../kernels/ptx/tractogram.sm70.ptx"),
    entries: &[
        "tractogram_select",
        "tractogram_lengths",
        "tractogram_means",
        "tractogram_image",
    ],
};

/// Cost fields.
pub const EIKONAL: KernelFile = KernelFile {
    stem: "eikonal",
    ptx: include_str!("../../../kernels/ptx/eikonal.sm70.ptx"),
    entries: &[
        "eikonal_clear",
        "eikonal_seed",
        "eikonal_floors_godunov6",
        "eikonal_floors_hopf_lax26",
        "eikonal_spread_godunov6",
        "eikonal_spread_hopf_lax26",
        "eikonal_spread_selling",
        "eikonal_spread_hybrid",
        "eikonal_gather",
    ],
};

/// Metrics of tensors, and Selling's steps in them.
pub const METRIC: KernelFile = KernelFile {
    stem: "metric",
    ptx: include_str!("../../../kernels/ptx/metric.sm70.ptx"),
    entries: &[
        "metric_costs",
        "metric_terms",
        "metric_count_readers",
        "metric_list_readers",
    ],
};

/// Costs in displayed images.
pub const PATHWAY: KernelFile = KernelFile {
    stem: "pathway",
    ptx: include_str!("../../../kernels/ptx/pathway.sm70.ptx"),
    entries: &["pathway_fill", "pathway_scatter"],
};

/// Least costs in positions and directions.
pub const LIFTED: KernelFile = KernelFile {
    stem: "lifted",
    ptx: include_str!("../../../kernels/ptx/lifted.sm70.ptx"),
    entries: &[
        "lifted_costs",
        "lifted_clear",
        "lifted_seed",
        "lifted_spread",
        "lifted_gather",
    ],
};

/// Level sets.
pub const LEVEL_SET: KernelFile = KernelFile {
    stem: "level_set",
    ptx: include_str!("../../../kernels/ptx/level_set.sm70.ptx"),
    entries: &[
        "level_set_step_isotropic",
        "level_set_step_orthogonal",
        "level_set_step_sheared",
        "level_set_extra_isotropic",
        "level_set_extra_orthogonal",
        "level_set_extra_sheared",
        "level_set_redistance_isotropic",
        "level_set_redistance_orthogonal",
        "level_set_redistance_sheared",
        "level_set_paper",
        "level_set_many_isotropic",
        "level_set_many_orthogonal",
        "level_set_settle",
        "level_set_many_settle",
    ],
};

/// Streamlines.
pub const TRACKING: KernelFile = KernelFile {
    stem: "tracking",
    ptx: include_str!("../../../kernels/ptx/tracking.sm70.ptx"),
    entries: &[
        "tracking_follow_linear_1",
        "tracking_follow_linear_2",
        "tracking_follow_linear_4",
        "tracking_follow_spline_1",
        "tracking_follow_spline_2",
        "tracking_follow_spline_4",
        "tracking_deflect_linear",
        "tracking_deflect_spline",
        "tracking_gather",
        "tracking_seeds",
        "tracking_lengths",
    ],
};

/// COMMIT.
pub const COMMIT: KernelFile = KernelFile {
    stem: "commit",
    ptx: include_str!("../../../kernels/ptx/commit.sm70.ptx"),
    entries: &[
        "commit_basis",
        "commit_peaks",
        "commit_apply_flat",
        "commit_apply_1",
        "commit_apply_2",
        "commit_apply_4",
        "commit_apply_fast",
        "commit_contract_1",
        "commit_contract_2",
        "commit_contract_4",
        "commit_samples",
        "commit_sums",
        "commit_spread_1",
        "commit_spread_2",
        "commit_spread_4",
        "commit_adjoint_flat",
        "commit_adjoint_1",
        "commit_adjoint_2",
        "commit_adjoint_4",
        "commit_adjoint_fast",
        "commit_mix",
        "commit_part",
        "commit_step",
        "commit_advance",
        "commit_groups",
        "commit_measure",
        "commit_combine",
    ],
};

/// Spherical deconvolution.
pub const CSD: KernelFile = KernelFile {
    stem: "csd",
    ptx: include_str!("../../../kernels/ptx/csd.sm70.ptx"),
    entries: &["csd_project", "csd_fit_8", "csd_fit_12"],
};

/// Tensors of a scan, their maps and their bootstrap.
pub const TENSOR_FIT: KernelFile = KernelFile {
    stem: "tensor_fit",
    ptx: include_str!("../../../kernels/ptx/tensor_fit.sm70.ptx"),
    entries: &[
        "tensor_fit_solve",
        "tensor_fit_repair",
        "tensor_fit_residuals",
        "tensor_fit_repeat_1",
        "tensor_fit_repeat_4",
        "tensor_fit_maps",
        "tensor_fit_shapes",
    ],
};

/// Streamlines through distributions.
pub const ODF_TRACKING: KernelFile = KernelFile {
    stem: "odf_tracking",
    ptx: include_str!("../../../kernels/ptx/odf_tracking.sm70.ptx"),
    entries: &[
        "odf_tracking_arcs_8",
        "odf_tracking_arcs_12",
        "odf_tracking_lobes_8",
        "odf_tracking_lobes_12",
        "odf_tracking_gather",
    ],
};

/// Every kernel file.
pub const ALL: &[KernelFile] = &[
    PROBE,
    TENSOR_FIT,
    TRACKING,
    GEODESIC,
    EIKONAL,
    METRIC,
    PATHWAY,
    LIFTED,
    LEVEL_SET,
    COMMIT,
    CSD,
    ODF_TRACKING,
    DRAWN_LINES,
    DENSITY,
    CONNECTIVITY,
    TRACTOGRAM,
];
