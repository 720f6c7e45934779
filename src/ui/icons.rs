//! Code points of the Phosphor subset in `assets/fonts` (regular weight, drawn at 16 points).

pub const RESET: &str = "\u{e038}";
pub const ARROW_RIGHT: &str = "\u{e06c}";
pub const UNDO: &str = "\u{e08a}";
pub const REDO: &str = "\u{e08c}";
pub const CAMERA: &str = "\u{e10e}";
pub const CARET_DOWN: &str = "\u{e136}";
pub const CARET_RIGHT: &str = "\u{e13a}";
/// Exchanges two items.
pub const SWAP: &str = "\u{e140}";
pub const CHECK: &str = "\u{e182}";
pub const CHECK_CIRCLE: &str = "\u{e184}";
pub const COMPASS: &str = "\u{e1c8}";
pub const COPY: &str = "\u{e1ca}";
pub const MAXIMISE: &str = "\u{e1d0}";
pub const CROSSHAIR: &str = "\u{e1d6}";
pub const EYE: &str = "\u{e220}";
pub const EYE_OFF: &str = "\u{e224}";
pub const FLAG: &str = "\u{e244}";
pub const SAVE: &str = "\u{e248}";
pub const FOLDER: &str = "\u{e256}";
pub const IMAGE: &str = "\u{e2ca}";
pub const INFORMATION: &str = "\u{e2ce}";
/// Streamlines, and the task Track.
pub const PATH: &str = "\u{e39c}";
pub const PLAY: &str = "\u{e3d0}";
pub const PLUS: &str = "\u{e3d4}";
pub const HELP: &str = "\u{e3e8}";
/// Further actions on a row.
pub const MORE: &str = "\u{e1fe}";
/// Layout: one view.
pub const SINGLE: &str = "\u{e45e}";
/// Layout: two by two.
pub const GRID: &str = "\u{e464}";
pub const LAYERS: &str = "\u{e466}";
pub const TARGET: &str = "\u{e47c}";
pub const TRASH: &str = "\u{e4a6}";
pub const WARNING: &str = "\u{e4e0}";
pub const CLOSE: &str = "\u{e4f6}";
/// Maps computed from a scan.
pub const MAP: &str = "\u{e566}";
/// Regions and masks.
pub const REGION: &str = "\u{e602}";
pub const CPU: &str = "\u{e610}";
pub const GPU: &str = "\u{e612}";
pub const FILE_UP: &str = "\u{e61e}";
/// Layout: 3-D next to three slices.
pub const SCENE_FIRST: &str = "\u{e6d6}";
/// The task View.
pub const BRAIN: &str = "\u{e74e}";
/// The task Pathways.
pub const CURVE: &str = "\u{eb00}";
pub const TERMINAL: &str = "\u{eae8}";
pub const EXPORT: &str = "\u{eaf0}";
pub const PAUSE: &str = "\u{e39e}";
pub const STEP: &str = "\u{e5a6}";
pub const REWIND: &str = "\u{e6a8}";
/// The task Segment.
pub const POLYGON: &str = "\u{e6d0}";
/// The task Filter.
pub const FUNNEL: &str = "\u{e266}";
