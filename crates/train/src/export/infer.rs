//! From the names and shapes of tensors to the spec: files of torchvision and timm do not say what
//! they hold.
//!
//! A guess only has to be right where the file is a network of ours; whether it is one is checked
//! tensor by tensor when the network is filled. What no tensor shows is the image size (a data
//! set's own is used where there is one) and the activation of a fully connected network, which is
//! taken for the paper's ReLU.

use std::collections::BTreeMap;

use collegial_arch::{
    Activation, Designs, FullyConnected, Regnet, Resnext, Spec, StageDesign, Stem, WideResnet,
};

/// Shapes by name, as PyTorch has them.
pub type Shapes = BTreeMap<String, Vec<usize>>;

/// The spec of a network with these tensors.
///
/// # Errors
///
/// The end of a sentence about the file, where they are not those of a network that is known.
pub fn spec(shapes: &Shapes) -> Result<Spec, String> {
    let spec = if shapes.contains_key("fc1.weight") {
        fully_connected(shapes)
    } else if shapes.contains_key("layer1.0.conv3.weight") {
        resnext(shapes)
    } else if shapes.contains_key("trunk_output.block1.block1-0.f.c.0.weight") {
        regnet(shapes)
    } else if shapes.contains_key("layer1.0.conv2.weight") {
        wide_resnet(shapes)
    } else {
        Err(format!(
            "those of a ResNeXt (layer1.0.conv3.weight), a RegNet \
             (trunk_output.block1.block1-0.f.c.0.weight), a Wide ResNet (layer1.0.conv2.weight) or a \
             fully connected network (fc1.weight) are missing, it begins with {}",
            shapes.keys().next().map_or("no tensor at all".to_owned(), |name| format!("{name:?}"))
        ))
    }?;
    spec.check().map_err(|error| error.to_string())?;
    Ok(spec)
}

fn resnext(shapes: &Shapes) -> Result<Spec, String> {
    let (stem, stem_channels) = stem(shapes)?;
    let [outputs, ..] = shape::<4>(shapes, "layer1.0.conv3.weight")?;
    let [classes, _] = shape(shapes, "fc.weight")?;
    let blocks = blocks(shapes, |stage, block| format!("layer{stage}.{block}.conv1.weight"));
    let designs: Vec<StageDesign> = (1..=blocks.len())
        .map(|stage| stage_design(shapes, |layer| format!("layer{stage}.0.conv{layer}.weight")))
        .collect::<Result<_, _>>()?;
    let design = Designs::per_stage(&designs);
    let image = match blocks.len() {
        _ if stem.quarters() => 224,
        ..=3 => 32,
        _ => 64,
    };
    // A gate's hidden layer shows what it squeezes the block's outputs by.
    let hidden = shapes.get("layer1.0.se.fc1.weight").and_then(|shape| shape.first());
    let squeeze = hidden.map(|&hidden| ratio("layer1.0.conv3.weight", outputs, hidden)).transpose()?;
    Ok(Spec::Resnext(Resnext { stem, blocks, design, classes, image, stem_channels, outputs, squeeze }))
}

/// How images enter a ResNeXt, and the channels behind that. A ResNet-D's projections stand behind
/// a pool, and so in the second place.
fn stem(shapes: &Shapes) -> Result<(Stem, usize), String> {
    if shapes.contains_key("conv1.0.weight") {
        let [channels, ..] = shape::<4>(shapes, "conv1.6.weight")?;
        let averaging =
            shapes.get("layer1.0.downsample.1.weight").is_some_and(|projection| projection.len() == 4);
        return Ok((if averaging { Stem::D } else { Stem::C }, channels));
    }
    let [channels, _, kernel, _] = shape(shapes, "conv1.weight")?;
    match kernel {
        3 => Ok((Stem::Small, channels)),
        7 => Ok((Stem::Imagenet, channels)),
        side => Err(format!("conv1.weight has a kernel of side {side}; 3 and 7 are known")),
    }
}

fn regnet(shapes: &Shapes) -> Result<Spec, String> {
    let name = |stage: usize, block: usize, layer: &str| {
        format!("trunk_output.block{stage}.block{stage}-{block}.f.{layer}.0.weight")
    };
    let [stem_channels, ..] = shape::<4>(shapes, "stem.0.weight")?;
    let [classes, _] = shape(shapes, "fc.weight")?;
    let blocks = blocks(shapes, |stage, block| name(stage, block, "c"));
    let (mut outputs, mut designs) = (vec![], vec![]);
    for stage in 1..=blocks.len() {
        let [channels, ..] = shape::<4>(shapes, &name(stage, 0, "c"))?;
        outputs.push(channels);
        designs.push(stage_design(shapes, |layer| name(stage, 0, ["a", "b"][layer - 1]))?);
    }
    let design = Designs::PerStage(designs);
    // A gate's hidden layer shows what it squeezes the block's inputs by.
    let squeeze =
        match shapes.get("trunk_output.block1.block1-0.f.se.fc1.weight").and_then(|shape| shape.first()) {
            Some(&hidden) => Some(ratio("stem.0.weight", stem_channels, hidden)?),
            None => None,
        };
    Ok(Spec::Regnet(Regnet { blocks, outputs, design, squeeze, classes, image: 224, stem_channels }))
}

/// The members of a stage's first block, by the names of its layers 1 and 2: the 3x3 convolution
/// shows the width of what goes into one of them.
fn stage_design(shapes: &Shapes, name: impl Fn(usize) -> String) -> Result<StageDesign, String> {
    let [outer, width, ..] = shape::<4>(shapes, &name(2))?;
    // That a tensor is missing is said when the network is filled.
    let inner = shapes.get(&name(1)).and_then(|shape| shape.first()).map_or(outer, |&rows| rows);
    let members = ratio(&name(1), inner, width)?;
    let widths = [width, ratio(&name(2), outer, members)?];
    StageDesign::new(members, widths).map_err(|error| error.to_string())
}

fn wide_resnet(shapes: &Shapes) -> Result<Spec, String> {
    let [channels, _, side, _] = shape(shapes, "conv1.weight")?;
    if (channels, side) != (16, 3) {
        return Err(format!(
            "its blocks have two convolutions, but conv1.weight has {channels} channels and a kernel of side \
             {side}; a Wide ResNet has 16 and 3, and ResNet-18 and 34 are not read"
        ));
    }
    let [channels, ..] = shape::<4>(shapes, "layer1.0.conv1.weight")?;
    let [classes, _] = shape(shapes, "fc.weight")?;
    let (factor, blocks) = (
        ratio("layer1.0.conv1.weight", channels, 16)?,
        blocks(shapes, |stage, block| format!("layer{stage}.{block}.conv1.weight")),
    );
    let stages = blocks.len();
    let depth = blocks[0].saturating_mul(2 * stages).saturating_add(4);
    let image = if stages > 3 { 64 } else { 32 };
    Ok(Spec::WideResnet(WideResnet { depth, factor, stages, classes, image }))
}

/// With two layers or more, the second shows the width of a member: its columns are one member's.
fn fully_connected(shapes: &Shapes) -> Result<Spec, String> {
    let depth = (1..).take_while(|layer| shapes.contains_key(&format!("fc{layer}.weight"))).count();
    let layers: Vec<[usize; 2]> =
        (1..=depth).map(|layer| shape(shapes, &format!("fc{layer}.weight"))).collect::<Result<_, _>>()?;
    let [rows, inputs] = layers[0];
    let members = match layers.get(1) {
        Some([_, width]) => ratio("fc1.weight", rows, *width)?,
        None => 1,
    };
    let mut widths = vec![];
    for (layer, [rows, _]) in layers.iter().enumerate() {
        widths.push(ratio(&format!("fc{}.weight", layer + 1), *rows, members)?);
    }
    let outputs = widths.pop().unwrap_or(0);
    Ok(Spec::FullyConnected(FullyConnected {
        inputs,
        outputs,
        members,
        activation: Activation::Relu,
        widths,
    }))
}

/// Blocks per stage, as many as are numbered without a gap, by the name of a tensor that each has;
/// there is at least one.
fn blocks(shapes: &Shapes, name: impl Fn(usize, usize) -> String) -> Vec<usize> {
    let has = |stage: usize, block: usize| shapes.contains_key(&name(stage, block));
    let stages = (1..).take_while(|&stage| has(stage, 0)).count().max(1);
    (1..=stages).map(|stage| (0..).take_while(|&block| has(stage, block)).count()).collect()
}

fn shape<const AXES: usize>(shapes: &Shapes, name: &str) -> Result<[usize; AXES], String> {
    let shape = shapes.get(name).ok_or_else(|| format!("it has no tensor {name}"))?;
    let other = || format!("{name} has shape {shape:?}, {AXES} axes were expected");
    shape.as_slice().try_into().map_err(|_| other())
}

fn ratio(name: &str, rows: usize, width: usize) -> Result<usize, String> {
    if width == 0 || rows == 0 || !rows.is_multiple_of(width) {
        return Err(format!("the {rows} rows of {name} are not a multiple of {width}"));
    }
    Ok(rows / width)
}
