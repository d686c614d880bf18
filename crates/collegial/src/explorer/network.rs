//! One network on the page: counts, blocks, and its text.

use crate::Silent;
use crate::info::{self, InfoAnswer};
use crate::transformer::verdicts;
use collegial_arch::{Block, Layer, Spec};
use serde::Serialize;

use crate::explorer::RequestError;

/// One network.
#[derive(Serialize)]
pub struct Network {
    #[serde(flatten)]
    counted: InfoAnswer,
    /// Its kinds of blocks; none where it is a chain of its own.
    blocks: Vec<Block>,
    /// The chain of layers of one member, where it is a module.
    chain: Option<Chain>,
    /// The block or module whose kernel the paper's algorithms look at, as one member of its whole
    /// inner width, where there is one.
    analysed: Option<String>,
    /// Its spec, to be edited or given to the program.
    toml: String,
    /// Whether its name alone says all of it, so that the program takes the name.
    named: bool,
    /// Whether a search gives verdicts on its layers instead of designs.
    judged: bool,
}

/// m members of a chain of layers.
#[derive(Serialize)]
struct Chain {
    inputs: usize,
    members: usize,
    layers: Vec<Layer>,
}

impl Network {
    /// Counts a network.
    pub fn of(spec: &Spec) -> Result<Self, RequestError> {
        let request = info::Request { model: spec.clone().into(), ..info::Request::default() };
        Ok(Self {
            counted: info::run(&request, &Silent)?,
            blocks: spec.blocks().unwrap_or_default(),
            chain: spec.module().map(|module| {
                let member = module.member();
                Chain { inputs: member.input.channels, members: module.members(), layers: member.layers }
            }),
            analysed: analysed(spec),
            toml: spec.to_toml(),
            judged: verdicts::apply(spec),
            named: spec.name().parse::<Spec>().is_ok_and(|named| named == *spec),
        })
    }
}

fn analysed(spec: &Spec) -> Option<String> {
    let module = spec.analysed_module().ok()?;
    let inner = module.width().ok()?.checked_mul(module.members())?;
    let whole = module.scaled_to(inner).ok()?.with_members(1).ok()?;
    Some(Spec::from(whole).to_toml())
}
