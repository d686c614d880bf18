//! Well-known networks that have no spec here, and why: some that the theory says nothing about, and
//! others that can be asked in another way.

use crate::Error;

/// What is known of a network without a spec; both hold the end of a sentence.
enum Known {
    /// Splitting changes nothing there.
    Outside(&'static str),
    /// The theory may have an answer, but no name and no spec stand for the network.
    Unnamed(&'static str),
}

/// Why a name is not one of ours, if it is known at all.
pub(crate) fn reason(name: &str) -> Option<Error> {
    let lower = name.to_ascii_lowercase();
    let begins = |prefix: &&str| {
        let Some(rest) = lower.strip_prefix(prefix) else { return false };
        // `resnet18` is not the beginning of `resnet180`.
        !(prefix.ends_with(|last: char| last.is_ascii_digit())
            && rest.starts_with(|next: char| next.is_ascii_digit()))
    };
    let (_, known) = FAMILIES.iter().find(|(prefixes, _)| prefixes.iter().any(begins))?;
    let name = name.to_owned();
    Some(match *known {
        Known::Outside(reason) => Error::Outside { name, reason },
        Known::Unnamed(reason) => Error::Unnamed { name, reason },
    })
}

/// Beginnings of names, and what is known of such networks.
const FAMILIES: &[(&[&str], Known)] = &[
    (
        &["resnet18", "resnet34", "seresnet18", "seresnet34"],
        Known::Outside(
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
        Known::Unnamed(
            "it is another transformer than those with names (collegial models lists them); its Hugging Face config.json, or a \
             TOML spec of kind transformer, can be given by its path",
        ),
    ),
    (
        &["mobilenet", "efficientnet", "mnasnet", "semnasnet", "maxvit"],
        Known::Unnamed(
            "the middle convolutions of its blocks are depthwise, members of width 1, and the question is which width to \
             grow to; collegial.torch.suggest(model) answers it for the PyTorch model, and a TOML spec of a bottleneck with \
             width = 1 for one block",
        ),
    ),
    (
        &["convnext", "inception_next"],
        Known::Outside(
            "with no activation between its depthwise and its first 1x1 convolution, its blocks have one hidden layer, and splitting \
             that changes nothing",
        ),
    ),
    (
        &["vgg", "alexnet", "lenet"],
        Known::Unnamed(
            "it is a plain chain of convolutions, without blocks that members could stand in for; \
             collegial.torch.search compares widths of any PyTorch module",
        ),
    ),
    (
        &["shufflenet"],
        Known::Unnamed(
            "its blocks shuffle channels between groups, which no spec describes; collegial.torch.search compares widths of \
             any PyTorch module",
        ),
    ),
    (
        &["densenet", "squeezenet", "googlenet", "inception"],
        Known::Unnamed(
            "its blocks put branches side by side instead of adding them, which no spec describes; collegial.torch.search \
             compares widths of any PyTorch module",
        ),
    ),
    (
        &["res2net", "res2next", "skresnet", "skresnext"],
        Known::Unnamed(
            "several convolutions lie side by side between the 1x1 ones of its blocks, which no spec describes; \
             collegial.torch.search compares widths of any PyTorch module",
        ),
    ),
    (
        &["resnest"],
        Known::Unnamed(
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
        Known::Unnamed(
            "no spec describes it, but its blocks are bottlenecks: collegial.torch.suggest(model) answers for the PyTorch \
             model",
        ),
    ),
];
