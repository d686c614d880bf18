//! One Python file that trains a network with PyTorch: its module, its recipe as constants, and a
//! training loop.
//!
//! The module is the source of the Python package's own file, so that there is one definition of
//! each family; the rest is `train.py` beside this file, in which lines such as `# NETWORK` mark
//! what is put in.

use crate::Loss;
use crate::data::{Augment, Kind, Normalise};
use crate::recipe::{AdamConstants, Builtin, Parametrisation, Recipe, UpdateRule};
use collegial_arch::{Activation, Designs, Regnet, Resnext, Spec, StageDesign, Stem};

use crate::export::Error;

const TEMPLATE: &str = include_str!("train.py");
const RESNEXT: &str = include_str!("families/resnext.py");
const REGNET: &str = include_str!("families/regnet.py");
const WIDE_RESNET: &str = include_str!("families/wide_resnet.py");
const FULLY_CONNECTED: &str = include_str!("families/fully_connected.py");

/// The paper's recipe for a network, by its classes and the size of its images.
pub fn recipe_for(spec: &Spec) -> Builtin {
    let by_image = |image: usize, classes: usize| match (image, classes) {
        (..=32, ..=10) => Builtin::Cifar10,
        (..=32, ..=100) => Builtin::Cifar100,
        (..=32, _) => Builtin::Imagenet32,
        (..=64, _) => Builtin::Imagenet64,
        _ => Builtin::Imagenet,
    };
    match spec {
        Spec::Resnext(network) => by_image(network.image, network.classes),
        Spec::Regnet(network) => by_image(network.image, network.classes),
        Spec::WideResnet(network) => by_image(network.image, network.classes),
        Spec::FullyConnected(network) if network.inputs != 3072 => Builtin::Mnist,
        Spec::FullyConnected(network) => by_image(32, network.outputs),
        _ => Builtin::Cifar10,
    }
}

/// The data set of a recipe, whose constants normalise the images.
pub fn data_for(recipe: Builtin) -> Result<Kind, Error> {
    match recipe {
        Builtin::Mnist => Ok(Kind::Mnist),
        Builtin::Cifar10 => Ok(Kind::Cifar10),
        Builtin::Cifar100 => Ok(Kind::Cifar100),
        Builtin::Imagenet => Ok(Kind::ClassFolders),
        Builtin::Imagenet32 | Builtin::Imagenet64 => Err(no_reader(recipe)),
    }
}

fn no_reader(recipe: Builtin) -> Error {
    Error::Invalid(format!(
        "the exported script reads MNIST, CIFAR and class folders, not the images of the recipe {recipe}; give the \
         recipe cifar10, cifar100, mnist, imagenet or a TOML file"
    ))
}

/// The same for the data set that a checkpoint was trained on; `None` where the script takes the
/// constants of its training images.
pub fn data_of(kind: Kind) -> Result<Option<Kind>, Error> {
    match kind {
        Kind::DownsampledImageNet => Err(no_reader(Builtin::Imagenet32)),
        Kind::Mnist | Kind::Cifar10 | Kind::Cifar100 | Kind::ClassFolders => Ok(Some(kind)),
        _ => Ok(None),
    }
}

/// Refuses settings that the script cannot follow: it would train another way without a word.
fn expressible(recipe: &Recipe) -> Result<(), Error> {
    let setting = match recipe {
        Recipe { rates_by_fan_in: Some(width), .. } => format!("rates_by_fan_in = {width}"),
        Recipe { loss: Loss::L2, .. } => "loss = \"l2\"".into(),
        Recipe { parametrisation: Parametrisation::Ntk, .. } => "parametrisation = \"ntk\"".into(),
        _ => return Ok(()),
    };
    Err(Error::Invalid(format!(
        "the exported script has one rate for all layers, cross-entropy and the standard parametrisation, and this \
         recipe has {setting}; train it with --engine torch, or change it with --set"
    )))
}

/// The file.
pub fn script(spec: &Spec, recipe: &Recipe, data: Option<Kind>) -> Result<String, Error> {
    expressible(recipe)?;
    let (source, call) = match spec {
        Spec::Resnext(network) => (RESNEXT, resnext(network)?),
        Spec::Regnet(network) => (REGNET, regnet(network)?),
        Spec::WideResnet(network) => {
            let (depth, factor, stages) = (network.depth, network.factor, network.stages);
            let classes = network.classes;
            let call =
                format!("WideResNet(depth={depth}, factor={factor}, stages={stages}, classes={classes})");
            (WIDE_RESNET, call)
        }
        Spec::FullyConnected(network) => {
            let (inputs, outputs, widths) = (network.inputs, network.outputs, &network.widths);
            let (members, activation) = (network.members, activation(network.activation));
            let call = format!(
                "FullyConnected({inputs}, {outputs}, widths={widths:?}, members={members}, activation=\"{activation}\")"
            );
            (FULLY_CONNECTED, call)
        }
        _ => {
            return Err(Error::Invalid(format!(
                "{model} has no PyTorch module; resnext, wrn and fc models have one (onnx and safetensors \
             take all)",
                model = spec.name()
            )));
        }
    };
    Ok(TEMPLATE
        .replacen("# MODEL DOCSTRING", &docstring(spec), 1)
        .replacen("# NETWORK\n", body(source), 1)
        .replacen("# RECIPE\n", &constants(spec, recipe, data)?, 1)
        .replacen("NETWORK_CALL", &call, 1)
        .replacen("OPTIMISER_CALL", &optimiser(recipe.optimiser), 1))
}

fn docstring(spec: &Spec) -> String {
    let (model, version) = (spec.name(), env!("CARGO_PKG_VERSION"));
    format!(
        "\"\"\"Trains {model} with PyTorch; written by collegial {version}.\n\n    \
         python FILE --data DIR\n    torchrun --nproc_per_node=8 FILE --data DIR\n\n\
         The weights it saves can be tested with `collegial evaluate`, and those of `collegial train` go on with --weights. Needs\n\
         torch and safetensors; torchvision too for photographs.\n\"\"\""
    )
}

/// A family's source without its docstring and imports, which the template has.
pub(crate) fn body(source: &str) -> &str {
    let mut imports = source.lines().filter(|line| line.starts_with("import ") || line.starts_with("from "));
    let last = imports.next_back().unwrap_or_default();
    source.split_once(last).map_or(source, |(_, body)| body.trim_start_matches('\n'))
}

fn resnext(network: &Resnext) -> Result<String, Error> {
    let Resnext { blocks, design, classes, stem_channels, outputs, .. } = network;
    let stem = match network.stem {
        Stem::Small => "small",
        Stem::Imagenet => "imagenet",
        Stem::C => "c",
        Stem::D => "d",
    };
    let squeeze = network.squeeze.map_or(String::new(), |squeeze| format!(", squeeze={squeeze}"));
    let (members, width) = match design.design() {
        Some(design) => (design.multiplicity.to_string(), design.width.to_string()),
        None => per_stage(design, network.stages())?,
    };
    Ok(format!(
        "ResNeXt({blocks:?}, members={members}, width={width}, classes={classes}, stem=\"{stem}\", \
         stem_channels={stem_channels}, outputs={outputs}{squeeze})"
    ))
}

fn regnet(network: &Regnet) -> Result<String, Error> {
    let Regnet { blocks, outputs, classes, stem_channels, .. } = network;
    let squeeze = network.squeeze.map_or("None".to_owned(), |squeeze| squeeze.to_string());
    let (members, width) = per_stage(&network.design, network.stages())?;
    Ok(format!(
        "RegNet({blocks:?}, outputs={outputs:?}, members={members}, width={width}, classes={classes}, \
         stem_channels={stem_channels}, squeeze={squeeze})"
    ))
}

/// Members and pairs of widths of all stages, as Python lists.
fn per_stage(design: &Designs, stages: usize) -> Result<(String, String), Error> {
    let designs: Vec<StageDesign> = (0..stages).map(|stage| design.stage(stage)).collect::<Result<_, _>>()?;
    let members: Vec<usize> = designs.iter().map(|design| design.multiplicity).collect();
    let widths: Vec<[usize; 2]> = designs.iter().map(|design| design.widths).collect();
    Ok((format!("{members:?}"), format!("{widths:?}")))
}

fn activation(activation: Activation) -> &'static str {
    match activation {
        Activation::None => "none",
        Activation::Relu => "relu",
        Activation::Erf => "erf",
        Activation::Tanh => "tanh",
        Activation::Gelu => "gelu",
        Activation::Sigmoid => "sigmoid",
        Activation::Silu => "silu",
        Activation::HardSwish => "hard-swish",
        Activation::Relu6 => "relu6",
        Activation::LeakyRelu => "leaky-relu",
    }
}

fn optimiser(rule: UpdateRule) -> String {
    let adam = |name: &str, constants: AdamConstants| {
        let AdamConstants { betas: [a, b], epsilon, weight_decay } = constants;
        format!(
            "torch.optim.{name}(network.parameters(), lr=LEARNING_RATE, betas=({a:?}, {b:?}), eps={epsilon:?}, weight_decay={weight_decay:?})"
        )
    };
    match rule {
        UpdateRule::Sgd { momentum, nesterov, weight_decay } => {
            let nesterov = python_bool(nesterov);
            format!(
                "torch.optim.SGD(network.parameters(), lr=LEARNING_RATE, momentum={momentum:?}, weight_decay={weight_decay:?}, nesterov={nesterov})"
            )
        }
        UpdateRule::Adam(constants) => adam("Adam", constants),
        UpdateRule::AdamW(constants) => adam("AdamW", constants),
    }
}

fn constants(spec: &Spec, recipe: &Recipe, data: Option<Kind>) -> Result<String, Error> {
    let document = serde_json::to_string(spec).map_err(crate::Error::Header)?;
    let statistics = data.and_then(Normalise::published);
    let column = |pick: fn(&(f64, f64)) -> f64| {
        statistics.map_or("None".into(), |all| format!("{:?}", all.iter().map(pick).collect::<Vec<_>>()))
    };
    let (pad, flip, jitter) = match recipe.augment {
        Augment::None => (0, false, "None".into()),
        Augment::Shift { pad, flip } => (pad, flip, "None".into()),
        Augment::ResizedCrop { jitter } => (0, false, format!("{jitter:?}")),
    };
    let image = match spec {
        Spec::Resnext(network) => network.image,
        Spec::Regnet(network) => network.image,
        Spec::WideResnet(network) => network.image,
        _ => 224,
    };
    let schedule = &recipe.schedule;
    Ok([
        format!("MODEL = \"{}\"", spec.name()),
        "# What `collegial` calls this network; it goes with the weights.".into(),
        format!("SPEC = '{document}'"),
        format!("EPOCHS = {}", recipe.epochs),
        format!("BATCH = {}", recipe.batch),
        "# Train on the first images only; None takes all.".into(),
        format!("LIMIT = {}", recipe.limit.map_or("None".into(), |limit| limit.to_string())),
        "# Images that are computed at once, from which batch norms take their statistics.".into(),
        format!("MICRO_BATCH = {}", recipe.micro_batch()),
        format!("LEARNING_RATE = {:?}", recipe.learning_rate),
        "# Epochs after which the rate is multiplied by FACTOR, and epochs over which it rises from nothing.".into(),
        format!("MILESTONES = {:?}", schedule.milestones),
        format!("FACTOR = {:?}", schedule.factor),
        format!("WARM_UP = {:?}", schedule.warm_up),
        "# Of pixels divided by 255, per channel; None takes those of the training images, ImageNet's for photographs.".into(),
        format!("MEAN = {}", column(|pair| pair.0)),
        format!("DEVIATION = {}", column(|pair| pair.1)),
        "# Small images: a border, a random window, a mirror. Photographs: random parts whose colours change by up to JITTER.".into(),
        format!("PAD = {pad}"),
        format!("FLIP = {}", python_bool(flip)),
        format!("JITTER = {jitter}"),
        format!("IMAGE = {image}\n"),
    ]
    .join("\n"))
}

fn python_bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(model: &str, changes: &[&str]) -> String {
        let spec: Spec = model.parse().unwrap();
        let recipe = recipe_for(&spec);
        let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        script(&spec, &recipe.with(&changes).unwrap(), Some(data_for(recipe).unwrap())).unwrap()
    }

    #[test]
    fn the_template_imports_what_the_families_use() {
        for source in [RESNEXT, REGNET, WIDE_RESNET, FULLY_CONNECTED] {
            let imports =
                source.lines().filter(|line| line.starts_with("import ") || line.starts_with("from "));
            for import in
                imports.map(|line| line.replace("from torch import nn", "from torch import distributed, nn"))
            {
                assert!(TEMPLATE.lines().any(|line| line == import), "{import}");
            }
            assert!(!body(source).contains("\nimport") && source.ends_with(body(source)));
        }
    }

    #[test]
    fn nothing_is_left_open() {
        for (model, expected) in [
            (
                "resnext29-37x10d",
                "return ResNeXt([3, 3, 3], members=37, width=10, classes=10, stem=\"small\"",
            ),
            (
                "resnext29-37x10d-19x20_24d-9x40d",
                "return ResNeXt([3, 3, 3], members=[37, 19, 9], width=[[10, 10], [20, 24], [40, 40]], classes=10",
            ),
            (
                "resnext50-32x4d",
                "return ResNeXt([3, 4, 6, 3], members=32, width=4, classes=1000, stem=\"imagenet\"",
            ),
            (
                "regnet_x_400mf",
                "return RegNet([1, 2, 7, 12], outputs=[32, 64, 160, 400], members=[2, 4, 10, 25]",
            ),
            ("wrn28-10", "return WideResNet(depth=28, factor=10, stages=3, classes=10)"),
            ("fc3-30x48", "return FullyConnected(784, 10, widths=[48, 48], members=30, activation=\"relu\")"),
        ] {
            let text = written(model, &[]);
            assert!(text.contains(expected), "{text}");
            for mark in ["# MODEL", "# NETWORK", "# RECIPE", "_CALL"] {
                assert!(!text.contains(mark), "{model}: {mark}");
            }
        }
    }

    #[test]
    fn the_recipe_is_printed() {
        let text = written("resnext29-37x10d", &["epochs=9", "schedule.warm_up=2"]);
        for line in [
            "EPOCHS = 9",
            "BATCH = 128",
            "LEARNING_RATE = 0.1",
            "MILESTONES = [150.0, 225.0]",
            "WARM_UP = 2.0",
            "MEAN = [0.4914, 0.4822, 0.4465]",
            "DEVIATION = [0.247, 0.2435, 0.2616]",
            "PAD = 4",
            "FLIP = True",
            "JITTER = None",
            "    optimiser = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE, momentum=0.9, weight_decay=0.0005, nesterov=False)",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(written("fc3-8", &[]).contains(
            "torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.999), eps=1e-8"
        ));
        assert!(written("resnext50-32x4d", &[]).contains("MICRO_BATCH = 32\n"));
    }

    #[test]
    fn settings_that_the_script_cannot_follow_are_refused() {
        let spec: Spec = "fc3-8".parse().unwrap();
        for change in ["rates_by_fan_in=16", "loss=l2", "parametrisation=ntk"] {
            let recipe = recipe_for(&spec).with(&[change.to_owned()]).unwrap();
            let said = script(&spec, &recipe, Some(Kind::Mnist)).unwrap_err().to_string();
            assert!(said.contains(change.split('=').next().unwrap()), "{change}: {said}");
        }
    }

    #[test]
    fn data_sets_by_kind() {
        assert_eq!(data_of(Kind::Cifar10).unwrap(), Some(Kind::Cifar10));
        assert_eq!(data_of(Kind::FashionMnist).unwrap(), None);
        assert!(data_of(Kind::DownsampledImageNet).is_err() && data_for(Builtin::Imagenet64).is_err());
    }
}
