//! The module that stands for a network in Algorithm 2 as printed: one of its blocks, or a whole
//! module.

use std::fmt;

use collegial_arch::{Module, Spec};
use serde::{Serialize, Serializer};

/// What the analysis was made on. Serialises as its sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Analysed {
    /// The block of a network's first stage.
    Block {
        /// Channels of its input.
        inputs: usize,
        /// Channels of its 3x3 convolution.
        width: usize,
        /// Channels of its output.
        outputs: usize,
        /// Blocks of the network that are exactly this one.
        alike: usize,
        /// Blocks of the network.
        blocks: usize,
    },
    /// All of it: a module that is no part of a network.
    Module {
        /// Its name.
        name: String,
    },
}

impl Analysed {
    /// What stands for `spec`, whose analysed module is `module`.
    pub(super) fn of(spec: &Spec, module: &Module) -> Self {
        match (spec, module) {
            (Spec::Resnext(network), Module::Bottleneck(block)) => Self::Block {
                inputs: block.inputs,
                width: block.width,
                outputs: block.outputs,
                alike: network.blocks[0] - 1,
                blocks: network.blocks.iter().sum(),
            },
            _ => Self::Module { name: module.name() },
        }
    }
}

impl fmt::Display for Analysed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block { inputs, width, outputs, alike, blocks } => write!(
                f,
                "the block of stage 1 ({inputs} -> {width} -> {width} -> {outputs} channels): {alike} of the network's {blocks} blocks are exactly this one, the others differ in width or shortcut"
            ),
            Self::Module { name } => write!(f, "the whole module {name}"),
        }
    }
}

impl Serialize for Analysed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_modules() {
        let of = |name: &str| {
            let spec: Spec = name.parse().unwrap();
            Analysed::of(&spec, &spec.analysed_module().unwrap())
        };
        let block = of("resnext29-1x128d");
        let expected = Analysed::Block { inputs: 256, width: 128, outputs: 256, alike: 2, blocks: 9 };
        assert_eq!(block, expected);
        assert_eq!(
            serde_json::to_value(&block).unwrap(),
            "the block of stage 1 (256 -> 128 -> 128 -> 256 channels): 2 of the network's 9 blocks are exactly this one, the others differ in width or shortcut"
        );
        assert_eq!(serde_json::to_value(of("fc6-500")).unwrap(), "the whole module fc6-500");
    }
}
