//! The published RegNets by name.
//!
//! Rules are those of pycls (`configs/dds_baselines`) and, for the largest, of torchvision. The two
//! round widths differently, so that three names mean other networks there; pycls' networks are
//! `regnetx-400mf` (also timm's `regnetx_004`), torchvision's `regnet_x_400mf`. Where both agree,
//! the name is torchvision's.

use crate::regnet::{LinearRule, Regnet, Rounding};

/// A published size: hundreds of megaflops (multiply-accumulates) and the rule.
struct Published {
    hundreds: usize,
    rule: LinearRule,
    torchvision: bool,
    pycls: bool,
}

const fn published(
    hundreds: usize,
    depth: usize,
    initial_width: usize,
    [slope, step]: [f64; 2],
    group_width: usize,
) -> Published {
    let torchvision = matches!(hundreds, 4 | 8 | 16 | 32 | 80 | 160 | 320 | 1280);
    let rule = LinearRule { depth, initial_width, slope, step, group_width };
    Published { hundreds, rule, torchvision, pycls: hundreds < 1000 }
}

/// RegNetX: without gates.
const X: &[Published] = &[
    published(2, 13, 24, [36.44, 2.49], 8),
    published(4, 22, 24, [24.48, 2.54], 16),
    published(6, 16, 48, [36.97, 2.24], 24),
    published(8, 16, 56, [35.73, 2.28], 16),
    published(16, 18, 80, [34.01, 2.25], 24),
    published(32, 25, 88, [26.31, 2.25], 48),
    published(40, 23, 96, [38.65, 2.43], 40),
    published(64, 17, 184, [60.83, 2.07], 56),
    published(80, 23, 80, [49.56, 2.88], 120),
    published(120, 19, 168, [73.36, 2.37], 112),
    published(160, 22, 216, [55.59, 2.1], 128),
    published(320, 23, 320, [69.86, 2.0], 168),
];

/// RegNetY: with gates.
const Y: &[Published] = &[
    published(2, 13, 24, [36.44, 2.49], 8),
    published(4, 16, 48, [27.89, 2.09], 8),
    published(6, 15, 48, [32.54, 2.32], 16),
    published(8, 14, 56, [38.84, 2.4], 16),
    published(16, 27, 48, [20.71, 2.65], 24),
    published(32, 21, 80, [42.63, 2.66], 24),
    published(40, 22, 96, [31.41, 2.24], 64),
    published(64, 25, 112, [33.22, 2.27], 72),
    published(80, 17, 192, [76.82, 2.19], 56),
    published(120, 19, 168, [73.36, 2.37], 112),
    published(160, 18, 200, [106.23, 2.48], 112),
    published(320, 20, 232, [115.89, 2.53], 232),
    published(1280, 27, 456, [160.83, 2.52], 264),
];

/// The letter in a family's names, what its gates squeeze by, and its sizes.
const FAMILIES: [(char, Option<usize>, &[Published]); 2] = [('x', None, X), ('y', Some(4), Y)];

impl Published {
    /// `400mf`, `1_6gf`, `8gf`.
    fn torchvision_size(&self) -> String {
        match (self.hundreds, self.hundreds % 10) {
            (..=9, _) => format!("{}mf", 100 * self.hundreds),
            (_, 0) => format!("{}gf", self.hundreds / 10),
            (_, rest) => format!("{}_{rest}gf", self.hundreds / 10),
        }
    }

    /// `400mf`, `1.6gf`, `8.0gf`, `12gf`.
    fn pycls_size(&self) -> String {
        match self.hundreds {
            ..=9 => format!("{}mf", 100 * self.hundreds),
            10..=99 => format!("{}.{}gf", self.hundreds / 10, self.hundreds % 10),
            _ => format!("{}gf", self.hundreds / 10),
        }
    }

    fn network(&self, rounding: Rounding, squeeze: Option<usize>) -> Regnet {
        let network = self.rule.network(rounding);
        let network = network.unwrap_or_else(|error| unreachable!("a published rule: {error}"));
        Regnet { squeeze, ..network }
    }

    /// Its names and networks: torchvision's, and pycls' if that is another.
    fn named(&self, letter: char, squeeze: Option<usize>) -> Vec<(String, Regnet)> {
        let mut named = Vec::new();
        if self.torchvision {
            let name = format!("regnet_{letter}_{}", self.torchvision_size());
            named.push((name, self.network(Rounding::Torchvision, squeeze)));
        }
        let pycls = self.network(Rounding::Nearest, squeeze);
        if self.pycls && named.iter().all(|(_, network)| *network != pycls) {
            named.push((format!("regnet{letter}-{}", self.pycls_size()), pycls));
        }
        named
    }
}

/// Every name, with its network.
pub(crate) fn all() -> impl Iterator<Item = (String, Regnet)> {
    FAMILIES.into_iter().flat_map(|(letter, squeeze, sizes)| {
        sizes.iter().flat_map(move |published| published.named(letter, squeeze))
    })
}

/// timm's names: `regnetx_004`.
pub(crate) fn timm() -> impl Iterator<Item = String> {
    FAMILIES.into_iter().flat_map(|(letter, _, sizes)| {
        sizes.iter().map(move |published| format!("regnet{letter}_{:03}", published.hundreds))
    })
}

/// The published network with the same stages, whatever its designs; one with the same designs
/// first.
pub(crate) fn like(network: &Regnet) -> Option<(String, Regnet)> {
    let same = |other: &Regnet| {
        (&other.blocks, &other.outputs, other.squeeze, other.stem_channels)
            == (&network.blocks, &network.outputs, network.squeeze, network.stem_channels)
    };
    all().find(|(_, other)| same(other))
}

/// The network of a name in lower case, by torchvision's, pycls' or timm's spelling.
pub(crate) fn find(name: &str) -> Option<Regnet> {
    FAMILIES.into_iter().find_map(|(letter, squeeze, sizes)| {
        if let Some(size) = name.strip_prefix(&format!("regnet_{letter}_")) {
            let found = sizes.iter().find(|model| model.torchvision && model.torchvision_size() == size)?;
            return Some(found.network(Rounding::Torchvision, squeeze));
        }
        let size = name.strip_prefix(&format!("regnet{letter}"))?.strip_prefix(['-', '_'])?;
        let spelled = |model: &&Published| {
            (model.pycls && model.pycls_size() == size) || format!("{:03}", model.hundreds) == size
        };
        Some(sizes.iter().find(spelled)?.network(Rounding::Nearest, squeeze))
    })
}
