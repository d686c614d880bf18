//! Next steps: commands that build, train or export what was found.

use collegial_arch::{Design, Resnext, Spec, Stem};
use collegial_search::{DesignAnswer, Gain, StageAnswer};

use super::super::{Request, called};
use crate::{Error, Message};

/// How to export the network that was asked about, its groups as others call them, and how to draw
/// whole networks.
pub(super) fn steps(
    request: &Request,
    baseline: &Spec,
    answer: &DesignAnswer,
    stages: Option<&StageAnswer>,
) -> Result<Vec<Message>, Error> {
    let (network, design) = match (stages, chosen(request, answer)) {
        (Some(stages), _) => (baseline.with_stage_designs(&stages.kept.primal.designs)?, None),
        (None, Some(design)) => (baseline.with_design(design)?, Some(design)),
        (None, None) => return Ok(vec![]),
    };
    if network == *baseline {
        return Ok(vec![]);
    }
    let mut lines = called::export(&request.model, baseline, &network);
    let grouped = matches!(baseline, Spec::Resnext(network) if in_torchvision(network));
    if let (true, Some(Design { multiplicity, width })) = (grouped, design) {
        let or = if lines.is_empty() { "" } else { "or " };
        let groups =
            format!("{or}groups={multiplicity}, width_per_group={width}, as torchvision and timm call them");
        lines.push(groups.into());
    }
    if grouped && !request.check {
        let draw = called::again(request, "check");
        lines.extend(draw.map(|command| command.then(" draws whole networks")));
    }
    Ok(lines)
}

/// The same as lines of a terminal.
pub(super) fn indented(lines: &[Message]) -> impl Iterator<Item = Message> {
    let indented =
        |(at, line): (usize, &Message)| line.clone().after(if at == 0 { "next: " } else { "      " });
    lines.iter().enumerate().map(indented)
}

/// The primal where it gains or a budget was set, which the dual need not keep; else the dual where
/// it gains.
fn chosen(request: &Request, answer: &DesignAnswer) -> Option<Design> {
    match (answer.primal.gain, answer.dual.gain) {
        _ if request.budget.is_some() => Some(answer.primal.design),
        (Gain::Better, _) => Some(answer.primal.design),
        (_, Gain::Better) => Some(answer.dual.design),
        _ => None,
    }
}

/// Whether groups and their width make its blocks; gates and other stems are timm's.
fn in_torchvision(network: &Resnext) -> bool {
    network.squeeze.is_none() && matches!(network.stem, Stem::Small | Stem::Imagenet)
}
