//! From names to specs: `resnext29-37x10d`, `wrn28-10`, `fc6-30x48`, `bottleneck-128`.

use crate::bottleneck::Bottleneck;
use crate::design::number;
use crate::error::MAX_NAME;
use crate::fully_connected::FullyConnected;
use crate::resnext::Resnext;
use crate::stage_design::{Designs, StageDesign};
use crate::wide_resnet::WideResnet;
use crate::{Error, Spec, zoo};

/// Reads a name; an unknown one is answered with the nearest known names.
pub(crate) fn parse(name: &str) -> Result<Spec, Error> {
    let spec = match_form(name).unwrap_or_else(|| Err(zoo::unknown(name)))?;
    spec.check()?;
    Ok(spec)
}

/// Checks a name that a spec gives itself. Programs call files after it, so that it must never be a path; the comma is
/// in names of fully connected networks.
pub(crate) fn check(name: &str) -> Result<(), Error> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.,".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || name.starts_with('.') || !name.bytes().all(allowed) {
        return Err(Error::BadName { name: name.to_owned() });
    }
    Ok(())
}

/// `None` where the text has the form of no name.
fn match_form(name: &str) -> Option<Result<Spec, Error>> {
    if let Some(rest) = name.strip_prefix("resnext").or_else(|| name.strip_prefix("resnet")) {
        return resnext(rest);
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

/// `29-37x10d`, or `50` alone for the plain ResNet-50 (1x64d).
fn resnext(rest: &str) -> Option<Result<Spec, Error>> {
    let (depth, designs) = rest.split_once('-').unwrap_or((rest, "1x64d"));
    let depth = number("the depth of a ResNeXt", depth)?;
    let designs = Designs::parse(designs)?;
    Some(both(depth, designs).and_then(|(depth, designs)| {
        let name = format!("resnext{depth}-{designs}");
        Resnext::of_depth(depth, designs).map(Spec::Resnext).ok_or_else(|| Error::UnknownName {
            name,
            hint: "ResNeXt depths with names are 29, 38, 50, 101 and 152; describe others in a TOML spec"
                .into(),
        })
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
    let hidden = crate::error::within("the number of weight matrices", depth, 1, 10_000)? - 1;
    match widths {
        &[width] if hidden > 0 => Ok(vec![width; hidden]),
        _ if widths.len() == hidden => Ok(widths.to_vec()),
        _ => Err(Error::Inconsistent(format!(
            "{depth} weight matrices have {hidden} hidden widths between them, but {} were given",
            widths.len()
        ))),
    }
}

fn both<A, B>(a: Result<A, Error>, b: Result<B, Error>) -> Result<(A, B), Error> {
    Ok((a?, b?))
}
