//! Commands for regions.

use super::{Entry, EntryAction};
use crate::data::Region;
use crate::state::{
    Action, FigureAction, FigureSubject, RegionAction, RegionsChange, State, Tool, ViewAction,
};

pub(super) fn entries(state: &State) -> Vec<Entry> {
    let regions = &state.document.regions;
    let mut all = Vec::new();
    let selected = state.runtime.regions.selected;
    if let Some(region) = selected.and_then(|id| state.document.region(id)) {
        all.extend(of_selected(region));
    } else if !regions.is_empty() {
        // The panel asks the user to click one.
        all.push(change("Grow, smooth, combine a region"));
    }
    if regions.len() > 1 {
        for (as_labels, name) in [
            (true, "Export all regions as label map…"),
            (false, "Export all regions as masks…"),
        ] {
            all.push(entry(
                name,
                "save, write",
                EntryAction::Regions { as_labels },
            ));
        }
        for (shown, name) in [(true, "Show all regions"), (false, "Hide all regions")] {
            let changing = regions.iter().filter(|r| r.visible != shown);
            let others: Vec<_> = changing.map(|r| r.id).collect();
            if !others.is_empty() {
                let change = Action::Region(RegionAction::ChangeSeveral {
                    regions: others,
                    change: RegionsChange::Show(shown),
                });
                all.push(entry(name, "", EntryAction::Act(change)));
            }
        }
    }
    for region in regions {
        let name = format!("Select region {}", region.name);
        let select = Action::Region(RegionAction::Select(Some(region.id)));
        all.push(entry(&name, "", EntryAction::Act(select)));
    }
    all
}

fn of_selected(region: &Region) -> [Entry; 6] {
    let named = |verb: &str| format!("{verb} region {}", region.name);
    [
        change(&named("Grow, smooth, combine")),
        entry(
            &format!("Figures of an image in region {}", region.name),
            "measure, statistics, mean, histogram, volume, ROI",
            EntryAction::Act(Action::Figures(FigureAction::Measure(
                FigureSubject::Region(region.id),
            ))),
        ),
        entry(
            &named(if region.visible { "Hide" } else { "Show" }),
            "",
            EntryAction::Act(Action::Region(RegionAction::Toggle(region.id))),
        ),
        entry(
            &named("Duplicate"),
            "copy",
            EntryAction::Act(Action::Region(RegionAction::Duplicate(region.id))),
        ),
        entry(
            &format!("{} as mask…", named("Export")),
            "save, write",
            EntryAction::Region(region.id),
        ),
        entry(
            &named("Delete"),
            "remove",
            EntryAction::Act(Action::Region(RegionAction::Delete(region.id))),
        ),
    ]
}

fn change(name: &str) -> Entry {
    entry(
        name,
        "dilate, erode, shrink, union, intersection, difference, subtract, islands, largest part, fill holes, interpolate",
        EntryAction::Act(Action::View(ViewAction::SetTool(Tool::Change))),
    )
}

fn entry(name: &str, synonyms: &'static str, run: EntryAction) -> Entry {
    Entry {
        name: name.to_owned(),
        synonyms,
        key: "",
        run,
    }
}
