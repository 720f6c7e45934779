//! Scans and their sources: the origin of each source, and the source of each origin.

use super::{Origin, Origins, PhantomPart};
use crate::io::Reading;
use crate::state::alignment::AlignedBy;
use crate::state::core::layer::OriginId;
use crate::state::tensors::recipe::ScanSource;
use std::path::Path;

impl Origins {
    /// The origin of a scan.
    pub fn scan(&self, source: &ScanSource) -> OriginId {
        match source {
            ScanSource::Phantom { head } => self.add(Origin::Phantom {
                head: *head,
                part: PhantomPart::Dwi,
            }),
            ScanSource::File { dwi, gradients } => {
                self.add(Origin::file(dwi).with_gradients(gradients.clone()))
            }
            ScanSource::Tensors { file, layout } => {
                let reading = Reading {
                    tensors: Some(*layout),
                    ..Reading::default()
                };
                self.add(Origin::opened(file.clone(), reading))
            }
            ScanSource::Distributions {
                file,
                layout,
                transform,
            } => {
                let reading = Reading {
                    distributions: Some(*layout),
                    ..Reading::default()
                };
                let input = self.add(Origin::opened(file.clone(), reading));
                match transform.as_deref() {
                    None => input,
                    Some(transform) => self.add(Origin::Moved {
                        input,
                        transform: *transform,
                        aligned_by: AlignedBy::File,
                    }),
                }
            }
            ScanSource::Turned { base, turn } => self.reoriented(self.scan(base), Some(*turn)),
        }
    }

    /// The source of a scan, for the recipes of results.
    pub fn source(&self, id: OriginId) -> ScanSource {
        match self.get(id) {
            Origin::Phantom { head, .. } => ScanSource::Phantom { head: *head },
            Origin::Reoriented { input, turn } => self.source(*input).with_turn(Some(*turn)),
            Origin::File {
                file,
                reading:
                    Reading {
                        tensors: Some(layout),
                        ..
                    },
                ..
            } => ScanSource::Tensors {
                file: file.clone(),
                layout: *layout,
            },
            Origin::File {
                file,
                reading:
                    Reading {
                        distributions: Some(layout),
                        ..
                    },
                ..
            } => ScanSource::Distributions {
                file: file.clone(),
                layout: *layout,
                transform: None,
            },
            Origin::Moved {
                input, transform, ..
            } => match self.source(*input) {
                ScanSource::Distributions { file, layout, .. } => ScanSource::Distributions {
                    file,
                    layout,
                    transform: Some(Box::new(*transform)),
                },
                // Other scans stay at the position of their file (`Document::can_move`).
                source => source,
            },
            Origin::File {
                file, gradients, ..
            } => ScanSource::File {
                dwi: file.clone(),
                gradients: gradients.clone(),
            },
            _ => ScanSource::File {
                dwi: self.path(id).map(Path::to_owned).unwrap_or_default(),
                gradients: Vec::new(),
            },
        }
    }
}
