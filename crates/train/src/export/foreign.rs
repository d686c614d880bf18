//! Foreign files: their tensor names translated to torchvision's.

use collegial_arch::Spec;

use crate::export::infer::Shapes;

/// Prefixes that `DistributedDataParallel` and `torch.compile` put in front of every name.
const WRAPPERS: [&str; 2] = ["module.", "_orig_mod."];

/// A tensor that every RegNet of timm has.
const TIMM_REGNET: &str = "s1.b1.conv3.conv.weight";

/// How the tensors of a file are called here.
pub struct Names {
    /// The length of the prefix of all names.
    prefix: usize,
    timm_regnet: bool,
}

impl Names {
    /// By the names of all tensors.
    pub fn of(shapes: &Shapes) -> Self {
        let all_begin = |start: &str| !shapes.is_empty() && shapes.keys().all(|name| name.starts_with(start));
        let mut prefix = String::new();
        while let Some(wrapper) = WRAPPERS.iter().find(|wrapper| all_begin(&format!("{prefix}{wrapper}"))) {
            prefix.push_str(wrapper);
        }
        let timm_regnet = shapes.contains_key(&format!("{prefix}{TIMM_REGNET}"));
        Self { prefix: prefix.len(), timm_regnet }
    }

    /// Whether any name differs.
    pub fn differ(&self) -> bool {
        self.prefix > 0 || self.timm_regnet
    }

    /// Our name of a tensor; one that is not known keeps its own.
    pub fn ours(&self, name: &str) -> String {
        let bare = name.get(self.prefix..).unwrap_or(name);
        let translated = if self.timm_regnet { torchvision_regnet(bare) } else { None };
        translated.unwrap_or_else(|| bare.to_owned())
    }
}

/// torchvision's name of a tensor that timm's RegNets have: `s2.b3.conv1.bn.weight` is
/// `trunk_output.block2.block2-2.f.a.1.weight`.
fn torchvision_regnet(name: &str) -> Option<String> {
    // A convolution and its norm.
    let pair = |rest: &str| {
        let (layer, field) = rest.split_once('.')?;
        let index = ["conv", "bn"].iter().position(|known| *known == layer)?;
        Some(format!("{index}.{field}"))
    };
    if let Some(rest) = name.strip_prefix("stem.") {
        return Some(format!("stem.{}", pair(rest)?));
    }
    if let Some(field) = name.strip_prefix("head.fc.") {
        return Some(format!("fc.{field}"));
    }
    let mut parts = name.splitn(4, '.');
    let stage: usize = parts.next()?.strip_prefix('s')?.parse().ok()?;
    let block: usize = parts.next()?.strip_prefix('b')?.parse().ok()?;
    let (layer, rest) = (parts.next()?, parts.next()?);
    let layer = match layer {
        "conv1" => format!("f.a.{}", pair(rest)?),
        "conv2" => format!("f.b.{}", pair(rest)?),
        "conv3" => format!("f.c.{}", pair(rest)?),
        "downsample" => format!("proj.{}", pair(rest)?),
        "se" => format!("f.se.{rest}"),
        _ => return None,
    };
    Some(format!("trunk_output.block{stage}.block{stage}-{}.{layer}", block.checked_sub(1)?))
}

/// timm's name of a RegNet's tensor, the inverse of `torchvision_regnet`.
pub fn timm_regnet(name: &str) -> String {
    let pair = |rest: &str| match rest.split_once('.') {
        Some(("0", field)) => Some(format!("conv.{field}")),
        Some(("1", field)) => Some(format!("bn.{field}")),
        _ => None,
    };
    let of_block = |rest: &str| {
        let (stage, rest) = rest.split_once(".block")?;
        let (place, layer) = rest.split_once('.')?;
        let block: usize = place.split_once('-')?.1.parse().ok()?;
        let layer = match layer.split_once('.')? {
            ("proj", rest) => format!("downsample.{}", pair(rest)?),
            ("f", rest) => match rest.split_once('.')? {
                ("se", rest) => format!("se.{rest}"),
                (letter, rest) => {
                    let number = 1 + ["a", "b", "c"].iter().position(|known| *known == letter)?;
                    format!("conv{number}.{}", pair(rest)?)
                }
            },
            _ => return None,
        };
        Some(format!("s{stage}.b{}.{layer}", block + 1))
    };
    let translated = match name.split_once('.') {
        Some(("stem", rest)) => pair(rest).map(|rest| format!("stem.{rest}")),
        Some(("fc", field)) => Some(format!("head.fc.{field}")),
        Some(("trunk_output", rest)) => rest.strip_prefix("block").and_then(of_block),
        _ => None,
    };
    translated.unwrap_or_else(|| name.to_owned())
}

/// The first tensor of a layer that the network does not have.
pub fn tensor_besides<'a>(shapes: &'a Shapes, spec: &Spec) -> Result<Option<&'a str>, collegial_arch::Error> {
    let layers = spec.graph()?.counts()?.layers;
    let known: std::collections::BTreeSet<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
    let layer = |name: &'a str| name.rsplit_once('.').map_or(name, |(layer, _)| layer);
    Ok(shapes.keys().map(String::as_str).find(|name| !known.contains(layer(name))))
}

/// What no tensor tells about a network, so that a file may be another one's. Projections behind an
/// average pool (`average-down`) are told: the pool takes the first place, and the norm a third that
/// plain projections do not have.
pub fn doubt(spec: &Spec) -> Option<&'static str> {
    match spec {
        Spec::Resnext(_) => Some(
            "a network with blur pools, dilation or its strides in other layers has the same tensors and would be another one",
        ),
        Spec::FullyConnected(_) => Some("its activation, which they do not show, is taken for ReLU"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Names {
        Names::of(&all.iter().map(|name| ((*name).to_owned(), vec![])).collect())
    }

    #[test]
    fn wrappers_are_taken_off_where_all_names_have_them() {
        assert_eq!(names(&["module.fc.weight", "module.fc.bias"]).ours("module.fc.bias"), "fc.bias");
        assert_eq!(names(&["module._orig_mod.fc.bias"]).ours("module._orig_mod.fc.bias"), "fc.bias");
        let some = names(&["module.fc.weight", "fc.bias"]);
        assert!(!some.differ() && some.ours("module.fc.weight") == "module.fc.weight");
        assert!(!names(&[]).differ());
    }

    #[test]
    fn regnets_of_timm() {
        let names = names(&["module.s1.b1.conv3.conv.weight", "module.stem.bn.weight"]);
        for (theirs, ours) in [
            ("module.stem.bn.weight", "stem.1.weight"),
            ("module.s1.b1.conv1.conv.weight", "trunk_output.block1.block1-0.f.a.0.weight"),
            ("module.s4.b12.conv2.bn.running_var", "trunk_output.block4.block4-11.f.b.1.running_var"),
            ("module.s2.b1.downsample.conv.weight", "trunk_output.block2.block2-0.proj.0.weight"),
            ("module.s2.b1.se.fc2.bias", "trunk_output.block2.block2-0.f.se.fc2.bias"),
            ("module.head.fc.bias", "fc.bias"),
            ("module.s2.b0.conv1.conv.weight", "s2.b0.conv1.conv.weight"),
            ("module.final_conv.conv.weight", "final_conv.conv.weight"),
        ] {
            assert_eq!(names.ours(theirs), ours);
        }
    }

    /// timm's `avg_down`: a pool, the convolution and its norm, where plain projections have two.
    #[test]
    fn average_down_shows_in_the_names() {
        let spec: Spec = "resnet50".parse().unwrap();
        let layers = spec.graph().unwrap().counts().unwrap().layers;
        let weighed = layers.iter().filter(|layer| layer.counts.parameters > 0);
        let plain: Shapes = weighed.map(|layer| (format!("{}.weight", layer.name), vec![])).collect();
        assert_eq!(tensor_besides(&plain, &spec).unwrap(), None);
        let behind_a_pool = |name: &String| match name.split_once("downsample.") {
            Some((block, rest)) => {
                let (place, field) = rest.split_once('.').unwrap();
                format!("{block}downsample.{}.{field}", place.parse::<usize>().unwrap() + 1)
            }
            None => name.clone(),
        };
        let averaged: Shapes = plain.keys().map(|name| (behind_a_pool(name), vec![])).collect();
        assert_eq!(tensor_besides(&averaged, &spec).unwrap(), Some("layer1.0.downsample.2.weight"));
    }

    /// Every layer of a network with gates, there and back.
    #[test]
    fn regnets_for_timm() {
        let spec: Spec = "regnet_y_400mf".parse().unwrap();
        for layer in spec.graph().unwrap().counts().unwrap().layers {
            let ours = format!("{}.weight", layer.name);
            let theirs = timm_regnet(&ours);
            match torchvision_regnet(&theirs) {
                Some(back) => assert_eq!(back, ours),
                // Sums and products have no weights, and no names there.
                None => assert!(layer.counts.parameters == 0, "{theirs}"),
            }
        }
    }
}
