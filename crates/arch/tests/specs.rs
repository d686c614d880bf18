//! Names, TOML and JSON round trips; what is refused and in which words; counts against explicit sums.

use collegial_arch::{KNOWN_NAMES, Module, Op, Overrides, Spec};
use proptest::prelude::*;

fn parse(name: &str) -> Spec {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn refusal(name: &str) -> String {
    name.parse::<Spec>().expect_err(name).to_string()
}

#[test]
fn every_known_name_round_trips_through_toml_and_json() {
    for name in KNOWN_NAMES {
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

    /// The members of a bottleneck written as groups have exactly m times the inner parameters of one member.
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
    assert!(
        refusal("resnxt29-37x10d").contains("did you mean resnext29-37x10d"),
        "{}",
        refusal("resnxt29-37x10d")
    );
    assert!(refusal("transformer").contains("names look like"));
    assert!(refusal("resnext30-1x64d").contains("29, 38, 50, 101 and 152"));
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
    assert_eq!(error, "--classes does not apply to bottleneck-8: it has outputs, not classes; use --outputs");
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
    assert!(error.contains("invalid value") && !error.contains('\n'), "{error}");
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
    assert_eq!(node.op, Op::Conv { kernel: 3, stride: 2, padding: 1, groups: 32 });
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

/// A spec's name becomes the name of a file elsewhere, and a spec can come from a stranger's checkpoint.
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
