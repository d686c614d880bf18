//! Names, TOML and JSON round trips; what is refused and in which words; counts against explicit
//! sums.

use collegial_arch::{Module, Op, Overrides, Spec, families, models};
use proptest::prelude::*;

fn parse(name: &str) -> Spec {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn refusal(name: &str) -> String {
    name.parse::<Spec>().expect_err(name).to_string()
}

#[test]
fn every_known_name_round_trips_through_toml_and_json() {
    for name in families().iter().flat_map(|family| &family.names) {
        let spec = parse(name);
        assert_eq!(&spec.name(), name);
        assert_eq!(Spec::from_toml(&spec.to_toml()).unwrap(), spec, "{name}");
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(Spec::from_json(&json).unwrap(), spec, "{name}");
    }
}

#[test]
fn resnet_is_another_word_for_resnext_with_one_member() {
    assert_eq!(parse("resnet50"), parse("resnext50-1x64d"));
    assert_eq!(parse("resnet29-1x128d"), parse("resnext29-1x128d"));
}

proptest! {
    #[test]
    fn names_round_trip(m in 1usize..200, n in 1usize..300, depth in prop::sample::select(vec![29usize, 38, 50, 101, 152])) {
        for name in [format!("resnext{depth}-{m}x{n}d"), format!("fc4-{}x{n}", m + 1), format!("bottleneck-{n}"), format!("bottleneck-{}x{n}d", m + 1)] {
            prop_assert_eq!(parse(&name).name(), name);
        }
    }

    #[test]
    fn no_name_panics(name in "[a-z]{0,12}[0-9x,-]{0,24}d?") {
        let _ = name.parse::<Spec>();
    }

    #[test]
    fn no_toml_panics(text in "(kind = \"(bottleneck|sequence|resnext|fully-connected)\"\n)?(width|inputs|image|members|design|blocks) = [0-9\"x\\[\\],]{1,22}\n") {
        let _ = Spec::from_toml(&text);
    }

    /// The members of a bottleneck written as groups have exactly m times the inner parameters of
    /// one member.
    #[test]
    fn grouped_members_cost_what_separate_members_cost(m in 1usize..9, n in 1usize..24) {
        let one = count(&parse(&format!("bottleneck-{n}")));
        let all = count(&parse(&format!("bottleneck-{m}x{n}d")));
        let shared_norm = 512;
        prop_assert_eq!(all - shared_norm, m as u64 * (one - shared_norm));
    }

    #[test]
    fn fully_connected_counts_are_sums_of_matrices(m in 1usize..5, widths in prop::collection::vec(1usize..30, 1..5)) {
        let text: Vec<String> = widths.iter().map(ToString::to_string).collect();
        let spec = parse(&format!("fc{}-{m}x{}", widths.len() + 1, text.join(",")));
        let chain: Vec<usize> = [784].into_iter().chain(widths).chain([10]).collect();
        let member: usize = chain.windows(2).map(|pair| pair[0] * pair[1]).sum();
        prop_assert_eq!(count(&spec), (m * member) as u64);
    }
}

fn count(spec: &Spec) -> u64 {
    spec.graph().unwrap().counts().unwrap().total.parameters
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    let nearest = "did you mean resnext29-37x10d or resnext29-10x10d or resnext38-22x10d?";
    assert!(refusal("resnxt29-37x10d").contains(nearest), "{}", refusal("resnxt29-37x10d"));
    assert!(refusal("transformer").contains("names look like"));
    assert!(refusal("resnext30-1x64d").contains("9k + 2 for CIFAR"));
}

#[test]
fn absurd_sizes_are_refused_in_a_sentence() {
    let cases = [
        ("resnext29-0x10d", "the number of members is 0; it must be between 1 and 16777216"),
        ("resnext29-3x0d", "the width of a member is 0; it must be between 1 and 16777216"),
        ("bottleneck-0", "the width of a member is 0; it must be between 1 and 16777216"),
        (
            "fc6-100000000000000000000",
            "the width of a member is 100000000000000000000; it must be between 1 and 16777216",
        ),
        ("fc0-5", "the number of weight matrices is 0; it must be between 1 and 10000"),
        ("fc4-5,6", "4 weight matrices have 3 hidden widths between them, but 2 were given"),
        ("wrn30-4", "a Wide ResNet of 3 stages cannot have depth 30; the nearest depths are 28 and 34"),
    ];
    for (name, sentence) in cases {
        assert_eq!(refusal(name), sentence, "{name}");
    }
    assert!(refusal("resnext29-999999x999999d").contains("over all members is 999998000001"));
}

/// A text of 40 megabytes with two million layers took half a minute.
#[test]
fn specs_of_millions_of_layers_are_refused_at_once() {
    let sequence = |layers: usize| {
        let head =
            "kind = 'sequence'\nname = 'x'\ninput = { channels = 2, height = 1, width = 1 }\nlayers = [";
        let layers = "{type='dense',width=2},".repeat(layers);
        Spec::from_toml(&format!("{head}{layers}]\n")).map(drop).map_err(|error| error.to_string())
    };
    sequence(10_000).unwrap();
    assert!(
        sequence(10_001)
            .unwrap_err()
            .contains("the number of layers is 10001; it must be between 0 and 10000")
    );
    assert!(sequence(200_000).unwrap_err().contains("the length of the spec in bytes is"));
    parse("fc10000-2");
}

#[test]
fn counts_beyond_64_bits_are_refused_not_wrapped() {
    let largest = Overrides { image: Some(65_536), ..Overrides::default() };
    let spec = parse("bottleneck-16777216").with(&largest).unwrap();
    let error = spec.graph().unwrap().counts().expect_err("2^84 operations").to_string();
    assert!(error.contains("more than this program counts"), "{error}");
}

#[test]
fn overrides_apply_where_they_mean_something() {
    let hundred = Overrides { classes: Some(100), ..Overrides::default() };
    assert_eq!(count(&parse("resnext29-1x128d").with(&hundred).unwrap()), 13_775_178 + 90 * 1025);
    let error = parse("bottleneck-8").with(&hundred).unwrap_err().to_string();
    assert_eq!(error, "classes does not apply to bottleneck-8: it has outputs, not classes; use outputs");
    let too_many = Overrides { classes: Some(usize::MAX), ..Overrides::default() };
    assert!(parse("resnext29-1x128d").with(&too_many).is_err());
    let zero = Overrides { classes: Some(0), ..Overrides::default() };
    assert!(parse("wrn28-10").with(&zero).unwrap_err().to_string().contains("the number of classes is 0"));
}

#[test]
fn a_users_module_is_read_from_toml() {
    let text = r#"
        kind = "sequence"
        name = "two-convolutions"
        input = { channels = 16, height = 8, width = 8 }
        members = 4
        shortcut = "identity"
        [[layers]]
        type = "conv"
        width = 6
        kernel = 3
        norm = "batch"
        activation = "relu"
        [[layers]]
        type = "conv"
        width = 16
        kernel = 3
    "#;
    let spec = Spec::from_toml(text).unwrap();
    // 3x3 from 16 to 4 x 6 channels with norm, then 3x3 from all 24 to 16.
    assert_eq!(count(&spec), 9 * 16 * 24 + 2 * 24 + 9 * 24 * 16);
    let module = spec.module().unwrap();
    assert_eq!(module.widths(), [6]);
    assert_eq!(module.scaled_to(3).unwrap().widths(), [3]);
    assert_eq!(Spec::from_toml(&spec.to_toml()).unwrap(), spec);
}

#[test]
fn malformed_toml_is_answered_with_the_line() {
    let error = Spec::from_toml("kind = \"bottleneck\"\nwidth = 8\ncolour = 3\n").unwrap_err().to_string();
    assert!(error.contains("unknown field `colour`"), "{error}");
    let error = Spec::from_toml("kind = \"bottleneck\"\nwidth = -8\n").unwrap_err().to_string();
    let plain = "line 2: width: found the number `-8`, expected a whole number of at least 0";
    assert!(error.contains(plain) && !error.contains('\n'), "{error}");
    let error = Spec::from_toml("kind = \"sequence\"\ninput = { channels = 3 }\nlayers = []\n").unwrap_err();
    assert!(error.to_string().contains("no layer with parameters"));
}

#[test]
fn scaling_keeps_ratios_and_never_reaches_zero() {
    let module = parse("fc3-100,50").module().unwrap();
    assert_eq!(module.scaled_to(10).unwrap().widths(), [10, 5]);
    assert_eq!(module.scaled_to(1).unwrap().widths(), [1, 1]);
    let block = parse("bottleneck-8").module().unwrap().with_widths(&[4, 6]).unwrap();
    assert!(matches!(&block, Module::Bottleneck(_)));
    assert_eq!((block.widths(), block.name()), (vec![4, 6], "bottleneck-1x4_6d".to_owned()));
}

#[test]
fn the_graph_of_a_resnext_has_torchvisions_names() {
    let graph = parse("resnext50-32x4d").graph().unwrap();
    let node = graph.nodes.iter().find(|node| node.name == "layer2.0.conv2").unwrap();
    assert_eq!(node.op, Op::Conv { kernel: 3, stride: 2, padding: 1, groups: 32, bias: false });
    assert_eq!((node.shape.channels, node.shape.height), (256, 28));
    for name in ["conv1", "bn1", "maxpool", "layer4.2.bn3", "layer1.0.downsample.1", "fc"] {
        assert!(graph.nodes.iter().any(|node| node.name == name), "{name}");
    }
}

#[test]
fn the_text_of_a_spec_stands_for_its_file() {
    let named: Spec = "bottleneck-48".parse().unwrap();
    let json = serde_json::to_string(&named).unwrap();
    assert_eq!(Spec::load(&json).unwrap(), named);
    assert_eq!(Spec::load(&named.to_toml()).unwrap(), named);
    assert!(Spec::load("{\"kind\": \"nothing\"}").unwrap_err().to_string().contains("nothing"));
}

fn named(name: &str) -> Result<Spec, collegial_arch::Error> {
    let layers = "[[layers]]\ntype = \"dense\"\nwidth = 2\n";
    Spec::from_toml(&format!("kind = \"sequence\"\nname = {name:?}\ninput = {{ channels = 3 }}\n{layers}"))
}

/// A spec's name becomes the name of a file elsewhere, and a spec can come from a stranger's
/// checkpoint.
#[test]
fn a_specs_name_is_never_a_path() {
    let long = "n".repeat(101);
    for name in
        ["../victim", "/etc/passwd", "a/b", "a\\b", "C:evil", "..", ".hidden", "", "a b", "a\nb", "é", &long]
    {
        let error = named(name).expect_err(name).to_string();
        assert!(error.contains("names have 1 to 100 letters, digits and -_.,"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let json = r#"{"kind":"sequence","name":"../victim","input":{"channels":3},"layers":[{"type":"dense","width":2}]}"#;
    assert!(Spec::from_json(json).is_err());
    for name in ["a", "two-convolutions_2.5x", "fc3-100,50", &"n".repeat(100)] {
        assert_eq!(named(name).unwrap().name(), name);
    }
}

proptest! {
    /// Whatever is read, its name is a plain file name.
    #[test]
    fn names_of_specs_are_file_names(name in "\\PC{0,12}|[-_.,x0-9a-z/\\\\]{0,12}") {
        if let Ok(spec) = named(&name) {
            let name = spec.name();
            let path = std::path::Path::new(&name);
            prop_assert_eq!(path.file_name(), Some(path.as_os_str()));
            prop_assert!(!name.starts_with('.') && !name.contains(['/', '\\', ':']));
        }
    }
}

#[test]
fn every_listed_model_has_its_counts() {
    let models = models().unwrap();
    let count =
        |name: &str| models.iter().find(|model| model.name == name).map(|model| model.counts.parameters);
    assert_eq!(count("resnext50-1x64d"), Some(25_557_032));
    assert_eq!(count("regnetx-200mf"), Some(2_684_792));
    for model in &models {
        // The slow way: every layer of the graph.
        let counts = model.name.parse::<Spec>().unwrap().counts().unwrap();
        assert_eq!(model.counts, counts.total, "{}", model.name);
    }
    assert_eq!(models.len(), families().iter().map(|family| family.names.len()).sum::<usize>());
}

#[test]
fn networks_are_known_by_their_usual_names() {
    for (usual, ours) in [
        ("resnet50", "resnext50-1x64d"),
        ("ResNet152", "resnext152-1x64d"),
        ("wide_resnet50_2", "resnext50-1x128d"),
        ("wide_resnet101_2", "resnext101-1x128d"),
        ("resnext50_32x4d", "resnext50-32x4d"),
        ("resnext101_64x4d", "resnext101-64x4d"),
        ("resnext20_16x4d_cifar10", "resnext20-16x4d"),
        ("RegNetX-1.6GF", "regnet_x_1_6gf"),
        ("regnetx_016", "regnet_x_1_6gf"),
        ("regnetx_004", "regnetx-400mf"),
        ("RegNetX-200MF", "regnetx-200mf"),
        ("regnetx_120", "regnetx-12gf"),
    ] {
        assert_eq!(parse(usual).name(), ours);
    }
    assert_eq!(refusal("wide_resnet28_10").matches("wrn28-10").count(), 1);
}

/// 38 = 9 * 4 + 2 and 101 = 9 * 11 + 2 are also depths of CIFAR's ResNeXts; the names of the paper
/// and of ImageNet stay.
#[test]
fn cifar_depths_that_name_other_networks_say_so() {
    for (name, blocks, stages) in
        [("resnext38-1x64d", 12, 4), ("resnext38cifar-1x64d", 12, 3), ("resnext101cifar-1x64d", 33, 3)]
    {
        let spec = parse(name);
        assert_eq!(spec.name(), name);
        let found = spec.blocks().unwrap();
        assert_eq!(found.iter().map(|block| block.count).sum::<usize>(), blocks);
        assert_eq!(found.last().unwrap().stage + 1, stages);
    }
    assert_eq!(parse("resnext38_1x64d_cifar10").name(), "resnext38cifar-1x64d");
    assert_eq!(parse("resnext29cifar-1x64d").name(), "resnext29-1x64d");
    let hundred = parse("resnext20_1x64d_cifar100").graph().unwrap();
    assert_eq!(hundred.output_shape().channels, 100);
}

#[test]
fn an_unsupported_network_is_told_why() {
    assert_eq!(
        refusal("resnet18"),
        "resnet18 is not supported by a search: it has basic blocks: one hidden layer, and splitting that changes nothing; take a \
         ResNet with bottleneck blocks, such as resnet50"
    );
    for (name, reason) in [
        ("vit_base_patch16_clip_224", "it is another transformer than those with names"),
        ("vgg16_bn", "vgg16_bn is not supported by name: it is a plain chain"),
        ("mobilenet_v3_small", "collegial.torch.suggest(model) answers"),
        ("efficientnet_b0", "width = 1 for one block"),
        ("densenet121", "side by side"),
        ("convnext_tiny", "is not supported by a search: with no activation between its depthwise"),
        ("resnest50", "splits what it gives"),
        ("res2net50", "side by side between"),
        ("skresnext50_32x4d", "side by side between"),
        ("ecaresnet50d", "collegial.torch.suggest(model) answers"),
    ] {
        assert!(refusal(name).contains(reason), "{}", refusal(name));
    }
    assert!(!refusal("resnet180").contains("basic"), "another depth");
    let error = parse("wrn28-10").analysed_module().unwrap_err().to_string();
    assert!(error.contains("basic blocks"), "{error}");
    let error = parse("regnet_x_400mf").analysed_module().unwrap_err().to_string();
    assert!(error.contains("no single block stands for it"), "{error}");
}

#[test]
fn a_regnet_takes_other_groups() {
    let spec = parse("regnet_x_400mf-4x8d-8x8d-20x8d-50x8d");
    assert_eq!(spec.name(), "regnet_x_400mf-4x8d-8x8d-20x8d-50x8d");
    assert_eq!(
        parse("regnet_x_400mf-4x8d"),
        spec,
        "one design: as many more members as there are more outputs"
    );
    assert_eq!(Spec::from_toml(&spec.to_toml()).unwrap(), spec);
    let pycls = parse("regnetx-400mf-2x16d-4x16d-10x16d-24x16d");
    assert_eq!(pycls.name(), "regnetx-400mf");
    let graph = parse("regnet_x_400mf").graph().unwrap();
    for name in ["stem.0", "trunk_output.block1.block1-0.proj.1", "trunk_output.block4.block4-11.f.c.1", "fc"]
    {
        assert!(graph.find(name).is_some(), "{name}");
    }
    let middle = &graph.nodes[graph.find("trunk_output.block2.block2-0.f.b.0").unwrap()];
    assert_eq!(middle.op, Op::Conv { kernel: 3, stride: 2, padding: 1, groups: 4, bias: false });
    assert_eq!((middle.shape.channels, middle.shape.height), (64, 28));
}
