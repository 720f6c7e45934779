//! Actions on snapshots.

/// Largest number of snapshots; a further one replaces the oldest.
pub const MAXIMUM_SNAPSHOTS: usize = 8;

/// Snapshots of the document, and comparison with one.
#[derive(Clone, Debug)]
pub enum SnapshotAction {
    Take,
    /// Counted from the oldest.
    Rename {
        number: usize,
        name: String,
    },
    /// The number of a snapshot, counted from the oldest; `None` ends the comparison.
    Compare(Option<usize>),
    /// Compares with the last snapshot, or ends the comparison.
    ToggleComparing,
    /// Position as a fraction of the pane's width.
    MoveDivider(f32),
}
