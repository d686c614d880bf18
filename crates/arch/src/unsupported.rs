//! Unsupported networks that are well known, each with the reason and with the way to ask of it.

use std::fmt;

use crate::Error;

/// The part of the program that does not support a network, and the end of the sentence about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// Splitting changes nothing there.
    BySearch(&'static str),
    /// The theory may have an answer, but no name and no spec stand for the network.
    ByName(&'static str),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BySearch(reason) => write!(f, "by a search: {reason}"),
            Self::ByName(reason) => write!(f, "by name: {reason}"),
        }
    }
}

/// The error of a name of such a network.
pub(crate) fn reason(name: &str) -> Option<Error> {
    let lower = name.to_ascii_lowercase();
    let begins = |prefix: &&str| {
        let Some(rest) = lower.strip_prefix(prefix) else { return false };
        // `resnet18` is not the beginning of `resnet180`.
        !(prefix.ends_with(|last: char| last.is_ascii_digit())
            && rest.starts_with(|next: char| next.is_ascii_digit()))
    };
    let (_, reason) = FAMILIES.iter().find(|(prefixes, _)| prefixes.iter().any(begins))?;
    Some(Error::Unsupported { name: name.to_owned(), reason: *reason })
}

/// Beginnings of names, and why such networks are unsupported.
const FAMILIES: &[(&[&str], Unsupported)] = &[
    (
        &["resnet18", "resnet34", "seresnet18", "seresnet34"],
        Unsupported::BySearch(
            "it has basic blocks: one hidden layer, and splitting that changes nothing; take a ResNet with \
             bottleneck blocks, such as resnet50",
        ),
    ),
    (
        &[
            "vit",
            "deit",
            "swin",
            "beit",
            "cait",
            "eva",
            "xcit",
            "llama",
            "mistral",
            "mixtral",
            "roberta",
            "distilbert",
            "gpt",
        ],
        Unsupported::ByName(
            "it is another transformer than those with names (collegial models lists them); its Hugging Face config.json, or a \
             TOML spec of kind transformer, can be given by its path",
        ),
    ),
    (
        &["mobilenet", "efficientnet", "mnasnet", "semnasnet", "maxvit"],
        Unsupported::ByName(
            "the middle convolutions of its blocks are depthwise, members of width 1 that can only grow; \
             collegial.torch.suggest(model) answers for the PyTorch model, a TOML bottleneck with width = 1 for one block",
        ),
    ),
    (
        &["convnext", "inception_next"],
        Unsupported::BySearch(
            "with no activation between its depthwise and its first 1x1 convolution, its blocks have one hidden layer, and splitting \
             that changes nothing",
        ),
    ),
    (
        &["vgg", "alexnet", "lenet"],
        Unsupported::ByName(
            "it is a plain chain of convolutions, without blocks that members could stand in for; \
             collegial.torch.search compares widths of any PyTorch module",
        ),
    ),
    (
        &["shufflenet"],
        Unsupported::ByName(
            "its blocks shuffle channels between groups, which no spec describes; collegial.torch.search compares widths of \
             any PyTorch module",
        ),
    ),
    (
        &["densenet", "squeezenet", "googlenet", "inception"],
        Unsupported::ByName(
            "its blocks put branches side by side instead of adding them, which no spec describes; collegial.torch.search \
             compares widths of any PyTorch module",
        ),
    ),
    (
        &["res2net", "res2next", "skresnet", "skresnext"],
        Unsupported::ByName(
            "several convolutions lie side by side between the 1x1 ones of its blocks, which no spec describes; \
             collegial.torch.search compares widths of any PyTorch module",
        ),
    ),
    (
        &["resnest"],
        Unsupported::ByName(
            "the middle convolution of its blocks splits what it gives and weighs the parts by attention, which no spec \
             describes; collegial.torch.search compares widths of any PyTorch module",
        ),
    ),
    (
        &[
            "ecaresnet",
            "gcresnet",
            "cspresnet",
            "tresnet",
            "nf_resnet",
            "resnetv2",
            "resnetblur",
            "regnetz",
            "hrnet",
            "dla",
            "dpn",
        ],
        Unsupported::ByName(
            "no spec describes it, but its blocks are bottlenecks: collegial.torch.suggest(model) answers for the PyTorch \
             model",
        ),
    ),
];
