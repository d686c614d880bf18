//! A design that was chosen: what it gains and costs, and the lines with which it is used.

use collegial_arch::{Designs, Overrides, Resnext, Spec, Stem};
use collegial_ntk::covariance::Images;
use collegial_search::{BlockInputs, ScoredBlocks};
use serde::Serialize;

use crate::explorer::RequestError;
use crate::export::Target;
use crate::message::{Call, Flags, Rendering as _, Setting};

/// What the page offers of one design.
#[derive(Debug, Serialize)]
pub struct Taken {
    /// The network's name.
    model: String,
    parameters: u64,
    flops: u64,
    activations: u64,
    /// Its counts over the baseline's.
    parameter_share: f64,
    flop_share: f64,
    activation_share: f64,
    /// How many times less mean kernel variance its blocks have; none without a closed form.
    score_ratio: Option<f64>,
    /// The command that exports it, and a line of Python for each library that builds it; none where
    /// no name and no constructor says all of it.
    lines: Vec<Line>,
}

/// Something to copy.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Line {
    name: &'static str,
    text: String,
}

impl Taken {
    /// Compares a network with its baseline.
    pub fn of(baseline: &Spec, network: &Spec, inputs: BlockInputs) -> Result<Self, RequestError> {
        let (before, after) = (baseline.totals()?, network.totals()?);
        let score = |spec: &Spec| {
            let inputs = if spec.module().is_some() { BlockInputs::White } else { inputs };
            ScoredBlocks::of(spec, inputs, &Images::natural()).ok().map(|blocks| blocks.score())
        };
        let share = |count: u64, own: u64| count as f64 / own as f64;
        Ok(Self {
            model: network.name(),
            parameters: after.parameters,
            flops: after.flops,
            activations: after.activations,
            parameter_share: share(after.parameters, before.parameters),
            flop_share: share(after.flops, before.flops),
            activation_share: share(after.activations, before.activations),
            score_ratio: score(baseline).zip(score(network)).map(|(before, after)| before / after),
            lines: lines(network),
        })
    }
}

fn lines(network: &Spec) -> Vec<Line> {
    let mut lines = vec![];
    let named = network.settings_beside_name();
    if let Some(settings) = &named {
        lines.push(Line { name: "command", text: export(network, settings) });
    }
    if let Spec::Resnext(network) = network {
        lines.extend(of_others(network).into_iter().flatten());
    }
    // `build` has no single blocks, takes the number of classes and no other setting.
    if let Some(Overrides { classes, inputs: None, outputs: None, image: _ }) = named
        && !matches!(network, Spec::Bottleneck(_) | Spec::Sequence(_))
    {
        let classes = classes.map_or(String::new(), |classes| format!(", classes={classes}"));
        let text = format!("collegial.torch.build(\"{}\"{classes})", network.name());
        lines.push(Line { name: "collegial.torch", text });
    }
    lines
}

fn export(network: &Spec, overrides: &Overrides) -> String {
    let Overrides { classes, inputs, outputs, image } = *overrides;
    let all = [("classes", classes), ("inputs", inputs), ("outputs", outputs), ("image", image)];
    let given = all.into_iter().filter_map(|(name, value)| Some((name, value?.to_string())));
    let to = ("to", Target::usual(network).name().to_owned());
    let setting = |(name, value): (&str, String)| Setting { name: name.to_owned(), value: Some(value) };
    let settings = std::iter::once(to).chain(given).map(setting).collect();
    Flags.call(&Call { verb: "export", model: Some(network.name()), settings })
}

/// Calls of the constructors that torchvision and timm have, where their arguments say all of it.
fn of_others(network: &Resnext) -> Option<[Line; 2]> {
    let Resnext {
        stem: Stem::Imagenet,
        blocks,
        design,
        classes,
        stem_channels: 64,
        outputs: 256,
        squeeze: None,
        ..
    } = network
    else {
        return None;
    };
    let Designs::Doubling(design) = design else { return None };
    // Both call blocks of four stages their own.
    let [_, _, _, _] = blocks[..] else { return None };
    let (m, [n, second]) = (design.multiplicity, design.widths);
    if n != second {
        return None;
    }
    let call = |library: &str, resnet: &str, groups: &str, width: &str| {
        format!(
            "{library}.{resnet}({library}.models.resnet.Bottleneck, {blocks:?}, {groups}={m}, {width}={n}, num_classes={classes})"
        )
    };
    Some([
        Line { name: "torchvision", text: call("torchvision", "models.ResNet", "groups", "width_per_group") },
        Line { name: "timm", text: call("timm", "models.resnet.ResNet", "cardinality", "base_width") },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(baseline: &str, network: &str) -> Taken {
        let [baseline, network] = [baseline, network].map(|name| name.parse::<Spec>().unwrap());
        Taken::of(&baseline, &network, BlockInputs::Network).unwrap()
    }

    fn text<'a>(taken: &'a Taken, name: &str) -> Option<&'a str> {
        taken.lines.iter().find(|line| line.name == name).map(|line| line.text.as_str())
    }

    #[test]
    fn a_design_is_compared_with_its_baseline() {
        let baseline: Spec = "resnext29-1x128d".parse().unwrap();
        let answer = collegial_search::DesignSearch::new(baseline).run().unwrap();
        let taken = taken("resnext29-1x128d", "resnext29-66x6d");
        let found = &answer.primal.network;
        assert!((taken.score_ratio.unwrap() / found.score_ratio - 1.0).abs() < 1e-9);
        assert!((taken.parameter_share * found.cost_ratio - 1.0).abs() < 1e-12);
        assert_eq!([taken.flops, taken.activations], [found.flops, found.activations]);
    }

    #[test]
    fn every_library_that_builds_it_has_a_line() {
        let imagenet = taken("resnet50", "resnext50-21x6d");
        assert_eq!(text(&imagenet, "command"), Some("collegial export resnext50-21x6d --to pytorch"));
        assert_eq!(
            text(&imagenet, "torchvision"),
            Some(
                "torchvision.models.ResNet(torchvision.models.resnet.Bottleneck, [3, 4, 6, 3], groups=21, width_per_group=6, num_classes=1000)"
            )
        );
        assert_eq!(
            text(&imagenet, "timm"),
            Some(
                "timm.models.resnet.ResNet(timm.models.resnet.Bottleneck, [3, 4, 6, 3], cardinality=21, base_width=6, num_classes=1000)"
            )
        );
        assert_eq!(text(&imagenet, "collegial.torch"), Some("collegial.torch.build(\"resnext50-21x6d\")"));
        // Other stems, and designs of their own for every stage, are in no other library.
        for network in ["resnext29-66x6d", "resnext50-19x8d-25x10d-42x10d-20x12d"] {
            let one = taken("resnet50", network);
            assert_eq!((text(&one, "torchvision"), text(&one, "timm")), (None, None), "{network}");
            assert!(text(&one, "collegial.torch").unwrap().contains(network));
        }
        // Nor is there a module for a block by itself.
        let block = taken("bottleneck-128", "bottleneck-76x5d");
        assert_eq!(text(&block, "command"), Some("collegial export bottleneck-76x5d --to onnx"));
        assert_eq!(block.lines.len(), 1);
    }
}
