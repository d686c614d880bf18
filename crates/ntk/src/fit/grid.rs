//! The widths at which a module is measured where the user names none.

use collegial_arch::Module;

use crate::Error;

/// The default width grid: 1, 16, 32, ..., 256 for a bottleneck block, on which the paper's α =
/// 1.60 comes out; for other modules sixteen ratios of their own width, 1/16 to 1 (every width
/// where there are fewer than 16).
pub fn default_widths(module: &Module) -> Result<Vec<usize>, Error> {
    if matches!(module, Module::Bottleneck(_)) {
        return Ok([1].into_iter().chain((16..=256).step_by(16)).collect());
    }
    let base = module.width()?;
    let mut widths: Vec<usize> = (1..=16).map(|ratio| (base * ratio).div_ceil(16)).collect();
    widths.dedup();
    Ok(widths)
}

/// The widths in ascending order, each once.
pub(super) fn ascending(widths: &[usize]) -> Result<Vec<usize>, Error> {
    if widths.contains(&0) {
        return Err(Error::Invalid("one of the widths is 0; widths must be at least 1".into()));
    }
    let mut sorted = widths.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    match sorted.len() {
        0 | 1 => Err(Error::Invalid(format!(
            "a fit needs at least two different widths, but {found} was given",
            found = sorted.len()
        ))),
        _ => Ok(sorted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_arch::Spec;

    fn grid(name: &str) -> Vec<usize> {
        default_widths(&name.parse::<Spec>().unwrap().module().unwrap()).unwrap()
    }

    #[test]
    fn grids_cover_the_modules_widths() {
        assert_eq!(grid("bottleneck-128").len(), 17);
        assert_eq!(grid("bottleneck-128")[..3], [1, 16, 32]);
        assert_eq!(grid("fc3-5"), [1, 2, 3, 4, 5]);
        assert_eq!(grid("fc6-500")[15], 500);
        assert_eq!(grid("fc6-500").len(), 16);
    }
}
