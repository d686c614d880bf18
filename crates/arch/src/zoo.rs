//! Names that people know, by family: to list them, and to answer unknown ones with the nearest.

use serde::Serialize;

use crate::counts::Totals;
use crate::transformer::names as transformers;
use crate::{Error, Spec, regnet_models};

/// Networks that are told apart by a few numbers in their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Family {
    /// What it is called.
    pub title: &'static str,
    /// The forms that its names take, and what they stand for.
    pub form: &'static str,
    /// Names worth listing.
    pub names: Vec<String>,
}

/// One line of a list of models.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// The title of its family.
    pub family: &'static str,
    /// Its name, which reads back as its spec.
    pub name: String,
    /// What it counts.
    #[serde(flatten)]
    pub counts: Totals,
}

/// Titles, forms and the names of the paper's tables and figures and of torchvision.
const FAMILIES: &[(&str, &str, &[&str])] = &[
    (
        "ResNeXt for CIFAR",
        "resnext29-37x10d: 37 members of width 10, depth 9k + 2 (38 and 101 as resnext38cifar-..., resnext101cifar-...)",
        &[
            "resnext20-1x64d",
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
            "resnext38cifar-1x64d",
            "resnext56-1x64d",
            "resnext272-1x64d",
        ],
    ),
    (
        "ResNeXt for 64x64 images",
        "resnext38-22x10d: four stages of three blocks",
        &["resnext38-1x96d", "resnext38-22x10d"],
    ),
    (
        "ResNet and ResNeXt for ImageNet",
        "resnext50-32x4d (also 26, 101, 152); resnet50 is resnext50-1x64d, wide_resnet50_2 is resnext50-1x128d, \
         resnext50_32x4d is understood; resnet50c and resnet50d have those stems, seresnet50 has gates",
        &[
            "resnext50-1x64d",
            "resnext50-1x128d",
            "resnext50-32x4d",
            "resnext50-12x10d",
            "resnext101-1x64d",
            "resnext101-1x128d",
            "resnext101-32x4d",
            "resnext101-32x8d",
            "resnext101-64x4d",
            "resnext101-12x10d",
            "resnext152-1x64d",
            "resnext50d-1x64d",
            "resnext50d-32x4d",
            "seresnext50-1x64d",
            "seresnext50-32x4d",
            "seresnext101-32x8d",
        ],
    ),
    (
        "RegNet",
        "regnet_y_400mf as torchvision has it, regnety-400mf as pycls and timm (regnety_004) have it",
        &[],
    ),
    ("Wide ResNet", "wrn28-10: depth 28, ten times as wide", &["wrn28-10", "wrn28-5", "wrn36-5"]),
    (
        "Fully connected",
        "fc6-30x48: six weight matrices, 30 members of width 48",
        &["fc6-500", "fc6-200", "fc6-30x48"],
    ),
    ("Bottleneck block", "bottleneck-37x10d: one block by itself", &["bottleneck-128"]),
    (
        "Vision transformer",
        "vit_b_16 and swin_t as torchvision has them, vit_base_patch16_224, deit_small_patch16_224 and \
         swin_tiny_patch4_window7_224 as timm has them: counts, variances and verdicts, no training",
        transformers::VISION,
    ),
    (
        "Transformer of text",
        "gpt2-xl and bert-large as Hugging Face has them; llama-4096x32x8x14336 is a layer as Llama has it, by width, heads, \
         key/value heads and feed-forward width (x32 behind it: 32 such layers), at 2,048 tokens",
        transformers::TEXT,
    ),
];

/// Names that torchvision and timm have for networks of these families, which are understood but
/// not listed.
const ALIASES: &[(&str, &[&str])] = &[
    (
        "ResNet and ResNeXt for ImageNet",
        &[
            "resnet26",
            "resnet50",
            "resnet101",
            "resnet152",
            "resnet50c",
            "resnet50d",
            "resnet101d",
            "resnet152d",
            "resnext50_32x4d",
            "resnext50d_32x4d",
            "resnext101_32x4d",
            "resnext101_32x8d",
            "resnext101_64x4d",
            "wide_resnet50_2",
            "wide_resnet101_2",
            "seresnet50",
            "seresnet101",
            "seresnext50_32x4d",
            "seresnext101_32x8d",
        ],
    ),
    (
        "Vision transformer",
        &[
            "vit_base_patch16_224",
            "vit_base_patch32_224",
            "vit_large_patch16_224",
            "vit_large_patch32_224",
            "vit_huge_patch14_224",
            "swin_tiny_patch4_window7_224",
            "swin_small_patch4_window7_224",
            "swin_base_patch4_window7_224",
        ],
    ),
];

/// The forms that names take.
pub const NAME_FORMS: &str = "resnext29-37x10d, resnet50, regnet_x_400mf, wrn28-10, fc6-500, fc6-30x48, bottleneck-128, \
                              vit_b_16, gpt2, llama-4096x32x8x14336, or the path of a TOML spec";

/// Every family with the names worth listing.
pub fn families() -> Vec<Family> {
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    FAMILIES
        .iter()
        .map(|&(title, form, names)| {
            let names = match title {
                "RegNet" => regnet_models::all().map(|(name, _)| name).collect(),
                _ => owned(names),
            };
            Family { title, form, names }
        })
        .collect()
}

/// Every listed model with its counts.
pub fn models() -> Result<Vec<Model>, Error> {
    let mut all = Vec::new();
    for family in families() {
        for name in family.names {
            let counts = name.parse::<Spec>()?.totals()?;
            all.push(Model { family: family.title, name, counts });
        }
    }
    Ok(all)
}

/// The names of other libraries with the family and the counts of what they mean.
pub fn aliases() -> Result<Vec<Model>, Error> {
    let listed =
        ALIASES.iter().flat_map(|&(family, names)| names.iter().map(move |&name| (family, name.to_owned())));
    let all = listed.chain(regnet_models::timm().map(|name| ("RegNet", name)));
    all.map(|(family, name)| Ok(Model { family, counts: name.parse::<Spec>()?.totals()?, name })).collect()
}

/// The answer to a name of no known form.
pub(crate) fn unknown(name: &str) -> Error {
    let lower = name.to_lowercase();
    let aliases = ALIASES.iter().flat_map(|(_, names)| *names).map(ToString::to_string);
    let known = families().into_iter().flat_map(|family| family.names).chain(aliases);
    let mut nearest: Vec<(f64, String)> = known
        .map(|known| (strsim::jaro_winkler(&lower, &known), known))
        .filter(|(similarity, _)| *similarity > 0.75)
        .collect();
    nearest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let hint = match nearest.as_slice() {
        [] => format!("names look like {NAME_FORMS}"),
        near => {
            let names: Vec<&str> = near.iter().take(3).map(|(_, known)| known.as_str()).collect();
            format!("did you mean {}?", names.join(" or "))
        }
    };
    Error::UnknownName { name: name.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every name that is suggested is understood, and a slip of one letter finds it.
    #[test]
    fn aliases_are_understood_and_found() {
        let (titles, aliases) = (families().into_iter().map(|family| family.title), aliases().unwrap());
        let titles: Vec<&str> = titles.collect();
        assert!(aliases.iter().all(|alias| titles.contains(&alias.family)));
        let named = |name: &str| aliases.iter().find(|alias| alias.name == name).unwrap().counts.parameters;
        assert_eq!((named("resnet50"), named("regnety_016")), (25_557_032, 11_202_430));
        for (slip, meant) in [("resnet5O", "resnet50"), ("wide_resnet50-2", "wide_resnet50_2")] {
            let sentence = unknown(slip).to_string();
            assert!(sentence.contains(&format!("did you mean {meant}")), "{sentence}");
        }
    }
}
