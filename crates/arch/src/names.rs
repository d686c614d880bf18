//! From names to specs: `resnext29-37x10d`, `resnet50`, `regnet_x_400mf`, `wrn28-10`, `fc6-30x48`,
//! `bottleneck-128`.

use crate::bottleneck::Bottleneck;
use crate::design::number;
use crate::error::{MAX_NAME, shortened};
use crate::fully_connected::FullyConnected;
use crate::resnext::{Resnext, SQUEEZE, Stem};
use crate::stage_design::{Designs, StageDesign};
use crate::transformer::names as transformers;
use crate::wide_resnet::WideResnet;
use crate::{Error, Spec, library, regnet_models, unsupported, zoo};

/// Reads a name; one of a well-known family without specs is answered with the reason, an unknown
/// one with the nearest known names.
pub(crate) fn parse(name: &str) -> Result<Spec, Error> {
    if let Some(spec) = library::parse(name) {
        return spec;
    }
    let transformer = transformers::find(&name.to_ascii_lowercase());
    if let (None, Some(known)) = (&transformer, unsupported::reason(name)) {
        return Err(known);
    }
    if let Some(network) = transformer {
        let spec = Spec::Transformer(network?);
        spec.check()?;
        return Ok(spec);
    }
    let spec = match_form(&name.to_ascii_lowercase()).unwrap_or_else(|| Err(zoo::unknown(name))).map_err(
        |error| match error {
            // The name as it was written, not as it was read.
            Error::UnknownName { hint, .. } => Error::UnknownName { name: name.to_owned(), hint },
            other => other,
        },
    )?;
    spec.check()?;
    Ok(spec)
}

/// Checks a name that a spec gives itself. Programs call files after it, so that it must never be a
/// path; the comma is in names of fully connected networks.
pub(crate) fn check(name: &str) -> Result<(), Error> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.,".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || name.starts_with('.') || !name.bytes().all(allowed) {
        let name = shortened(name);
        return Err(Error::Invalid(format!(
            "a spec cannot be called {name}: names have 1 to {MAX_NAME} letters, digits and -_., and do not begin \
             with a dot"
        )));
    }
    Ok(())
}

/// `None` where the text has the form of no name.
fn match_form(name: &str) -> Option<Result<Spec, Error>> {
    if let Some(rest) = name.strip_prefix("wide_resnet") {
        return wide(rest);
    }
    let (gated, plain) = match name.strip_prefix("se") {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    if let Some(rest) = plain.strip_prefix("resnext").or_else(|| plain.strip_prefix("resnet")) {
        return resnext(rest, gated.then_some(SQUEEZE));
    }
    if name.starts_with("regnet") {
        return regnet(name);
    }
    if let Some(rest) = name.strip_prefix("wrn") {
        let (depth, factor) = rest.split_once('-')?;
        let depth = number("the depth of a Wide ResNet", depth)?;
        let factor = number("the widening factor", factor)?;
        return Some(
            both(depth, factor).and_then(|(d, k)| Ok(Spec::WideResnet(WideResnet::of_depth(d, k)?))),
        );
    }
    if let Some(rest) = name.strip_prefix("bottleneck-") {
        let design = StageDesign::parse(rest).or_else(|| {
            let width = number("the width of a bottleneck", rest)?;
            Some(width.and_then(|width| StageDesign::new(1, [width; 2])))
        })?;
        return Some(design.map(|design| Spec::Bottleneck(Bottleneck::paper(design))));
    }
    fully_connected(name.strip_prefix("fc")?)
}

/// `29-37x10d`, `50_32x4d` as torchvision writes it, `20_1x64d_cifar10`, `50d` and `50d_32x4d` as
/// timm calls the stem of ResNet-D, or `50` alone for the plain ResNet-50 (1x64d).
fn resnext(rest: &str, squeeze: Option<usize>) -> Option<Result<Spec, Error>> {
    let (rest, classes) = match rest.strip_suffix("_cifar100") {
        Some(rest) => (rest, Some(100)),
        None => match rest.strip_suffix("_cifar10").or_else(|| rest.strip_suffix("_svhn")) {
            Some(rest) => (rest, Some(10)),
            None => (rest, None),
        },
    };
    let (depth, designs) = rest.split_once(['-', '_']).unwrap_or((rest, "1x64d"));
    let (depth, small) = match depth.strip_suffix("cifar") {
        Some(depth) => (depth, true),
        None => (depth, classes.is_some()),
    };
    let (depth, stem) = match (depth.strip_suffix('c'), depth.strip_suffix('d')) {
        (Some(depth), _) => (depth, Some(Stem::C)),
        (_, Some(depth)) => (depth, Some(Stem::D)),
        _ => (depth, None),
    };
    let depth = number("the depth of a ResNeXt", depth)?;
    let designs = Designs::parse(designs)?;
    Some(both(depth, designs).and_then(|(depth, designs)| {
        let name = format!("resnext{depth}-{designs}");
        let network = match (small, stem) {
            (true, _) => Resnext::cifar(depth, designs),
            (false, None) => Resnext::of_depth(depth, designs),
            (false, Some(_)) => Resnext::imagenet(depth, designs),
        };
        let network = network.ok_or_else(|| Error::UnknownName { name, hint: DEPTHS.into() })?;
        let (classes, stem) = (classes.unwrap_or(network.classes), stem.unwrap_or(network.stem));
        Ok(Spec::Resnext(Resnext { classes, stem, squeeze, ..network }))
    }))
}

const DEPTHS: &str = "ResNeXt names have a depth of 29, 38, 26, 50, 101 or 152, or 9k + 2 for CIFAR (stems c and d: 26, \
                      50, 101, 152); describe others in a TOML spec";

/// `50_2`: torchvision's wide ResNets are ResNets with an inner width of 64 times the factor.
fn wide(rest: &str) -> Option<Result<Spec, Error>> {
    let (depth, factor) = rest.split_once('_')?;
    let depth = number("the depth of a wide ResNet", depth)?;
    let factor = number("the widening factor", factor)?;
    Some(both(depth, factor).and_then(|(depth, factor)| {
        let width = crate::error::product("the inner width", &[64, factor])?;
        let design = StageDesign::new(1, [width; 2])?;
        let hint = "wide ResNets with names are wide_resnet50_2 and wide_resnet101_2, and wrn28-10 for CIFAR";
        let unknown =
            || Error::UnknownName { name: format!("wide_resnet{depth}_{factor}"), hint: hint.into() };
        let network = Resnext::imagenet(depth, Designs::Doubling(design)).ok_or_else(unknown)?;
        Ok(Spec::Resnext(network))
    }))
}

/// `regnet_x_400mf`, or with other designs `regnet_x_400mf-4x8d-8x8d-20x8d-48x8d`.
fn regnet(name: &str) -> Option<Result<Spec, Error>> {
    if let Some(network) = regnet_models::find(name) {
        return Some(Ok(Spec::Regnet(network)));
    }
    // Sizes may have a hyphen before them, so that the designs begin at the second or third.
    let ends = name.match_indices(['-', ',']).map(|(end, _)| end);
    let (network, designs) = ends
        .into_iter()
        .find_map(|end| Some((regnet_models::find(&name[..end])?, Designs::parse(&name[end + 1..])?)))?;
    Some(designs.and_then(|designs| {
        let stages: Vec<StageDesign> = match designs {
            Designs::PerStage(designs) => designs,
            Designs::Doubling(design) => match design.design() {
                Some(design) => return Ok(Spec::Regnet(network.with_design(design)?)),
                None => vec![design; network.stages()],
            },
        };
        Ok(Spec::Regnet(network.with_stage_designs(&stages)?))
    }))
}
/// `6-500`, `6-30x48`, `3-100,50`, `3-4x100,50`.
fn fully_connected(rest: &str) -> Option<Result<Spec, Error>> {
    let (depth, shape) = match rest.split_once('-') {
        Some((depth, shape)) => (depth, Some(shape)),
        None => (rest, None),
    };
    let depth = number("the number of weight matrices", depth)?;
    let (members, widths) = match shape.map(|shape| shape.split_once('x').unwrap_or(("1", shape))) {
        Some((members, widths)) => {
            let widths: Option<Vec<_>> =
                widths.split(',').map(|width| number("the width of a member", width)).collect();
            (number("the number of members", members)?, widths?)
        }
        None => (Ok(1), vec![]),
    };
    let widths: Result<Vec<usize>, Error> = widths.into_iter().collect();
    Some(both(depth, both(members, widths)).and_then(|(depth, (members, widths))| {
        let widths = hidden_widths(depth, &widths)?;
        Ok(Spec::FullyConnected(FullyConnected::mnist(members, widths)))
    }))
}

/// One width stands for all depth - 1 hidden layers.
fn hidden_widths(depth: usize, widths: &[usize]) -> Result<Vec<usize>, Error> {
    let hidden =
        crate::error::within("the number of weight matrices", depth, 1, crate::error::MAX_LAYERS)? - 1;
    match widths {
        &[width] if hidden > 0 => Ok(vec![width; hidden]),
        _ if widths.len() == hidden => Ok(widths.to_vec()),
        _ => Err(Error::Invalid(format!(
            "{depth} weight matrices have {hidden} hidden widths between them, but {} were given",
            widths.len()
        ))),
    }
}

fn both<A, B>(a: Result<A, Error>, b: Result<B, Error>) -> Result<(A, B), Error> {
    Ok((a?, b?))
}
