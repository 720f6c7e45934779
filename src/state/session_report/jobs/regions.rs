//! Regions: their volumes, and the statistics of an image within them.

use super::contents::number;
use super::{Report, fixed};
use crate::data::{Region, Volume};
use crate::io::html::Column;
use crate::jobs::JobError;
use crate::solvers::region::statistics;
use crate::state::core::layer::Content;

/// The histogram is not shown.
const BINS: usize = 1;

impl Report<'_> {
    /// The image whose values regions are measured in: the FA of the tensors, else the lowest image with one value per
    /// voxel; its name, its volume and the frame.
    fn measured_image(&self) -> Option<(String, Volume, usize)> {
        let state = self.state;
        let fa = state.fa_layer().and_then(|id| state.document.layer(id));
        let mut layers = state.document.layers.iter();
        let is_measured = |content: &Content| match content {
            Content::Image(_) => content.scalar().is_some(),
            _ => false,
        };
        let layer = fa.or_else(|| layers.find(|l| is_measured(&l.content)))?;
        let (volume, frame) = state.column_image(layer.id)?;
        Some((layer.name.clone(), volume.clone(), frame))
    }

    /// A row for each region.
    pub(super) fn regions(&mut self) -> Result<(), JobError> {
        let regions = &self.state.document.regions;
        if regions.is_empty() {
            return Ok(());
        }
        self.page.heading(2, "Regions");
        let Some((name, volume, frame)) = self.measured_image() else {
            self.page
                .note("No image is open whose voxels measure the regions.");
            return Ok(());
        };
        let mut rows = Vec::new();
        for region in regions {
            self.control.check()?;
            rows.push(self.region_row(region, (&volume, frame)));
        }
        let columns = [
            Column::text("Region"),
            Column::text("Role"),
            Column::number("Voxels"),
            Column::number("Volume, ml"),
            Column::number(&format!("{name}, mean")),
            Column::number("SD"),
        ];
        let caption = format!(
            "Volumes of the regions, and the values of {name} in them, as with arcuate region --stats"
        );
        self.page.table(&caption, &columns, &rows);
        Ok(())
    }

    fn region_row(&self, region: &Region, image: (&Volume, usize)) -> Vec<String> {
        let grid = &image.0.grid;
        let backend = self.worker.backend();
        let mask = backend.install(|| region.shape.mask_on(grid));
        let mut row = vec![region.name.clone(), region.role.name().to_owned()];
        match statistics(image, &mask, BINS, &self.control.silent()) {
            Ok(found) => row.extend([
                number(found.voxels),
                fixed(found.volume_ml, 3),
                fixed(found.mean, 4),
                fixed(found.sd, 4),
            ]),
            // The region lies outside the image, or no voxel has a value.
            Err(_) => {
                let voxel_ml = mask.grid.world_from_voxel.matrix3.determinant().abs() * 1e-3;
                let voxels = mask.count();
                let volume = fixed(voxels as f64 * voxel_ml, 3);
                row.extend([
                    number(voxels),
                    volume,
                    fixed(f64::NAN, 0),
                    fixed(f64::NAN, 0),
                ]);
            }
        }
        row
    }
}
