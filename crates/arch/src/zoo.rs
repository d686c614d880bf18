//! Names that people know, to answer unknown ones with the nearest.

use crate::Error;

/// The networks of the paper's tables and figures.
pub const KNOWN_NAMES: &[&str] = &[
    "resnext29-1x128d",
    "resnext29-3x64d",
    "resnext29-37x10d",
    "resnext29-28x12d",
    "resnext29-10x10d",
    "resnext29-8x12d",
    "resnext29-44x8d",
    "resnext29-60x6d",
    "resnext29-1x226d",
    "resnext29-8x64d",
    "resnext29-101x10d",
    "resnext38-1x96d",
    "resnext38-22x10d",
    "resnext50-1x64d",
    "resnext50-32x4d",
    "resnext50-12x10d",
    "resnext101-1x64d",
    "resnext101-32x4d",
    "resnext101-12x10d",
    "wrn28-10",
    "wrn28-5",
    "wrn36-5",
    "fc6-500",
    "fc6-200",
    "fc6-30x48",
    "bottleneck-128",
];

/// The forms that names take.
pub const NAME_FORMS: &str = "resnext29-37x10d (also 38, 50, 101, 152), wrn28-10, fc6-500, fc6-30x48, bottleneck-128, or the path of a TOML spec";

/// The answer to a name of no known form.
pub(crate) fn unknown(name: &str) -> Error {
    let mut nearest: Vec<(f64, &str)> = KNOWN_NAMES
        .iter()
        .map(|known| (strsim::jaro_winkler(&name.to_lowercase(), known), *known))
        .filter(|(similarity, _)| *similarity > 0.75)
        .collect();
    nearest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let hint = match nearest.as_slice() {
        [] => format!("names look like {NAME_FORMS}"),
        near => {
            let names: Vec<&str> = near.iter().take(3).map(|(_, known)| *known).collect();
            format!("did you mean {}?", names.join(" or "))
        }
    };
    Error::UnknownName { name: name.to_owned(), hint }
}
