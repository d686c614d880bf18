//! Well-known networks that have no spec here, and why.

/// Why a name in lower case is not one of ours, if it is known at all.
pub(crate) fn reason(name: &str) -> Option<&'static str> {
    let of = |prefix: &str| {
        let rest = name.strip_prefix(prefix)?;
        // `resnet18` is not the beginning of `resnet180`.
        let goes_on = prefix.ends_with(|last: char| last.is_ascii_digit())
            && rest.starts_with(|next: char| next.is_ascii_digit());
        (!goes_on).then_some(())
    };
    let family = OUTSIDE.iter().find(|(prefixes, _)| prefixes.iter().any(|prefix| of(prefix).is_some()));
    family.map(|(_, reason)| *reason)
}

/// Beginnings of names, and the rest of the sentence "NAME is outside: ...".
const OUTSIDE: &[(&[&str], &str)] = &[
    (
        &["resnet18", "resnet34", "seresnet18", "seresnet34"],
        "it has basic blocks: one hidden layer, and splitting that changes nothing; take a ResNet with \
         bottleneck blocks, such as resnet50",
    ),
    (
        &["vgg", "alexnet", "lenet"],
        "it is a plain chain of convolutions, without residual blocks that members could stand in for",
    ),
    (
        &["mobilenet", "efficientnet", "mnasnet"],
        "the middle convolutions of its blocks are depthwise: they are split as far as they go",
    ),
    (&["shufflenet"], "its blocks shuffle channels between groups, which no spec describes"),
    (
        &["densenet", "squeezenet", "googlenet", "inception"],
        "its blocks put branches side by side instead of adding them, which no spec describes",
    ),
    (
        &["vit", "deit", "swin", "maxvit"],
        "it has attention, and its other blocks have one hidden layer, where splitting changes nothing",
    ),
    (&["convnext"], "its blocks have one hidden layer, and splitting that changes nothing"),
];
