//! Commands of a shell that run one after another.

/// One line of commands of which each is run once. Maps of one estimation are written by one command, since a second one
/// would find the files of the first in their folder.
pub fn chain(commands: impl IntoIterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for command in commands {
        if !all.iter_mut().any(|earlier| includes(earlier, &command)) {
            all.push(command);
        }
    }
    all.join(" && ")
}

/// Whether an earlier command does all that another one does; it is given the other's maps if they differ in nothing else.
fn includes(earlier: &mut String, command: &str) -> bool {
    if earlier == command {
        return true;
    }
    let (Some(known), Some(other)) = (around_maps(earlier), around_maps(command)) else {
        return false;
    };
    if (known.0, known.2) != (other.0, other.2) {
        return false;
    }
    let mut maps: Vec<&str> = known.1.split(',').collect();
    for map in other.1.split(',') {
        if !maps.contains(&map) {
            maps.push(map);
        }
    }
    *earlier = format!("{} --maps {} {}", known.0, maps.join(","), known.2);
    true
}

/// The list of maps in a command, with the text before and after it.
fn around_maps(command: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = command.rsplit_once(" --maps ")?;
    let (maps, after) = rest.split_once(' ')?;
    Some((before, maps, after))
}
