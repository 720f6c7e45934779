//! A document of the history whose regions store their masks as differences from the adjacent document: a hundred
//! strokes on a large image take kilobytes, not gigabytes.

use crate::data::region::RegionId;
use crate::data::{DataId, Grid, Mask, Region, Shape};
use crate::state::Document;
use crate::state::core::layer::Content;
use std::collections::HashMap;
use std::sync::Arc;

/// Voxels compared and stored together.
const BLOCK: usize = 1024;

#[derive(Clone, Debug)]
pub(in crate::state) struct PackedDocument {
    /// Packed regions have an empty shape here.
    document: Document,
    masks: Vec<PackedMask>,
}

/// One region's mask.
#[derive(Clone, Debug)]
struct PackedMask {
    region: RegionId,
    change: MaskChange,
}

#[derive(Clone, Debug)]
enum MaskChange {
    /// The adjacent region has the same shape.
    Same,
    /// Like that of the adjacent region, except for some blocks.
    Differs(Difference),
    /// The adjacent document has no such region on this grid: the differences from an empty mask are stored.
    Alone(Difference),
}

#[derive(Clone, Debug)]
struct Difference {
    id: DataId,
    grid: Arc<Grid>,
    /// Number of a block, and its voxels, eight per byte.
    blocks: Vec<(u32, Box<[u8]>)>,
}

impl Difference {
    /// The voxels of `mask` where it differs from `base`.
    fn new(mask: &Mask, base: Option<&Mask>) -> Self {
        let empty = [0u8; BLOCK];
        let blocks = mask.inside.chunks(BLOCK).enumerate();
        let differing = blocks.filter(|(i, block)| match base {
            Some(base) => base.inside[i * BLOCK..i * BLOCK + block.len()] != **block,
            None => empty[..block.len()] != **block,
        });
        let bits = |block: &[u8]| -> Box<[u8]> {
            let byte = |eight: &[u8]| {
                let bits = eight.iter().enumerate();
                bits.fold(0, |byte, (i, v)| byte | u8::from(*v != 0) << i)
            };
            block.chunks(8).map(byte).collect()
        };
        Self {
            id: mask.id(),
            grid: mask.grid.clone(),
            blocks: differing
                .map(|(i, block)| (i as u32, bits(block)))
                .collect(),
        }
    }

    fn apply(&self, base: Option<&Mask>) -> Mask {
        let mut inside: Arc<[u8]> = match base {
            Some(base) => base.inside.clone(),
            None => vec![0; self.grid.voxel_count()].into(),
        };
        let values = Arc::make_mut(&mut inside);
        for (i, bits) in &self.blocks {
            let from = *i as usize * BLOCK;
            let to = values.len().min(from + BLOCK);
            for (k, v) in values[from..to].iter_mut().enumerate() {
                *v = bits[k / 8] >> (k % 8) & 1;
            }
        }
        Mask::restored(self.id, self.grid.clone(), inside)
    }

    fn bytes(&self) -> usize {
        self.blocks
            .iter()
            .map(|(_, bits)| bits.len() + size_of::<(u32, Box<[u8]>)>())
            .sum()
    }
}

impl PackedDocument {
    pub fn new(document: Document) -> Self {
        Self {
            document,
            masks: Vec::new(),
        }
    }

    pub fn document_mut(&mut self) -> &mut Document {
        &mut self.document
    }

    /// Its tractograms, with the size of their points in bytes.
    pub fn tractograms(&self) -> impl Iterator<Item = (DataId, usize)> {
        let layers = self.document.layers.iter();
        layers.filter_map(|layer| match &layer.content {
            Content::Tractogram(lines) => Some((lines.id(), lines.points.len() * 12)),
            _ => None,
        })
    }

    /// Requires that nothing is packed.
    pub fn into_document(self) -> Document {
        debug_assert!(
            self.masks.is_empty(),
            "a step is unpacked before it is used"
        );
        self.document
    }

    /// Packs the masks as differences from those of the adjacent document.
    pub fn pack_against(&mut self, adjacent: &Document) {
        if !self.document.regions.iter().any(|r| is_packable(r)) {
            return;
        }
        let others = by_id(adjacent);
        for region in self.document.regions.iter_mut().filter(|r| is_packable(r)) {
            let Shape::Mask(mask) = &*region.shape else {
                continue;
            };
            let other = others.get(&region.id);
            let change = match other.map(|o| (&o.shape, mask_of(o))) {
                Some((shape, _)) if Arc::ptr_eq(shape, &region.shape) => MaskChange::Same,
                Some((_, Some(base))) if same_grid(base, mask) => {
                    MaskChange::Differs(Difference::new(mask, Some(base)))
                }
                _ => MaskChange::Alone(Difference::new(mask, None)),
            };
            self.masks.push(PackedMask {
                region: region.id,
                change,
            });
            Arc::make_mut(region).shape = nothing();
        }
    }

    /// Undoes [`Packed::pack_against`] the same document.
    pub fn unpack_against(&mut self, adjacent: &Document) {
        if self.masks.is_empty() {
            return;
        }
        let others = by_id(adjacent);
        let masks = std::mem::take(&mut self.masks);
        let masks: HashMap<RegionId, MaskChange> =
            masks.into_iter().map(|m| (m.region, m.change)).collect();
        for region in &mut self.document.regions {
            let Some(what) = masks.get(&region.id) else {
                continue;
            };
            let other = others.get(&region.id);
            let shape = match what {
                MaskChange::Same => other.map(|o| o.shape.clone()),
                MaskChange::Differs(difference) => {
                    let base = other.and_then(|o| mask_of(o));
                    Some(Arc::new(Shape::Mask(difference.apply(base))))
                }
                MaskChange::Alone(difference) => {
                    Some(Arc::new(Shape::Mask(difference.apply(None))))
                }
            };
            if let Some(shape) = shape {
                Arc::make_mut(region).shape = shape;
            }
        }
    }

    pub fn mask_bytes(&self) -> usize {
        let packed = self.masks.iter().map(|m| match &m.change {
            MaskChange::Same => 0,
            MaskChange::Differs(d) | MaskChange::Alone(d) => d.bytes(),
        });
        let whole = self.document.regions.iter().filter_map(|r| mask_of(r));
        packed.sum::<usize>() + whole.map(|m| m.inside.len()).sum::<usize>()
    }
}

/// A mask cropped to its voxels is already small.
fn is_packable(region: &Region) -> bool {
    mask_of(region).is_some_and(|mask| Arc::ptr_eq(mask.frame(), &mask.grid))
}

fn mask_of(region: &Region) -> Option<&Mask> {
    match &*region.shape {
        Shape::Mask(mask) => Some(mask),
        Shape::Sphere { .. } | Shape::Box { .. } => None,
    }
}

fn same_grid(a: &Mask, b: &Mask) -> bool {
    Arc::ptr_eq(&a.grid, &b.grid)
}

fn by_id(document: &Document) -> HashMap<RegionId, &Arc<Region>> {
    document.regions.iter().map(|r| (r.id, r)).collect()
}

/// Placeholder for a packed mask.
fn nothing() -> Arc<Shape> {
    Arc::new(Shape::Sphere {
        centre: glam::DVec3::ZERO,
        radius_mm: 0.0,
    })
}
