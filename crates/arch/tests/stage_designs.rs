//! One design per stage and two widths per member: names, TOML, counts against explicit sums,
//! blocks.

use collegial_arch::{Design, Op, Resnext, Shortcut, Spec, StageDesign};
use proptest::prelude::*;

fn parse(name: &str) -> Spec {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn parameters(spec: &Spec) -> u64 {
    spec.graph().unwrap().counts().unwrap().total.parameters
}

fn resnext(spec: Spec) -> Resnext {
    match spec {
        Spec::Resnext(network) => network,
        other => panic!("{other} is no ResNeXt"),
    }
}

/// Convolutions and norms of ResNeXt-29 with these designs (m, n1, n2), written out.
fn by_hand(designs: [(u64, u64, u64); 3]) -> u64 {
    let mut total = 27 * 64 + 2 * 64 + 1024 * 10 + 10;
    let mut inputs = 64;
    for (stage, (m, n1, n2)) in designs.into_iter().enumerate() {
        let outputs = 256 << stage;
        for block in 0..3 {
            let project = if block == 0 { inputs * outputs + 2 * outputs } else { 0 };
            let (first, second) = (m * n1, m * n2);
            total += inputs * first + 9 * m * n1 * n2 + second * outputs;
            total += 2 * (first + second + outputs) + project;
            inputs = outputs;
        }
    }
    total
}

#[test]
fn one_design_per_stage_is_named_counted_and_written() {
    let spec = parse("resnext29-37x10d-19x20d-9x40d");
    assert_eq!(spec.name(), "resnext29-37x10d-19x20d-9x40d");
    assert_eq!(parse("resnext29-37x10d,19x20d,9x40d"), spec, "commas are understood");
    assert_eq!(parameters(&spec), by_hand([(37, 10, 10), (19, 20, 20), (9, 40, 40)]));
    let toml = spec.to_toml();
    assert!(toml.contains(r#"design = ["37x10d", "19x20d", "9x40d"]"#), "{toml}");
    assert_eq!(Spec::from_toml(&toml).unwrap(), spec);
    assert_eq!(Spec::from_json(&serde_json::to_string(&spec).unwrap()).unwrap(), spec);
}

#[test]
fn two_widths_per_member_are_named_counted_and_written() {
    let spec = parse("resnext29-37x10_12d");
    assert_eq!(spec.name(), "resnext29-37x10_12d");
    assert_eq!(parameters(&spec), by_hand([(37, 10, 12), (37, 20, 24), (37, 40, 48)]));
    assert!(spec.to_toml().contains(r#"design = "37x10_12d""#));
    let graph = spec.graph().unwrap();
    let middle = &graph.nodes[graph.find("layer2.1.conv2").unwrap()];
    assert_eq!(middle.op, Op::Conv { kernel: 3, stride: 1, padding: 1, groups: 37, bias: false });
    assert_eq!(graph.nodes[middle.inputs[0]].shape.channels, 37 * 20);
    assert_eq!(middle.shape.channels, 37 * 24);
    let block = parse("bottleneck-37x10_12d");
    assert_eq!(block.name(), "bottleneck-37x10_12d");
    assert_eq!(block.module().unwrap().widths(), [10, 12]);
}

#[test]
fn a_list_that_doubles_is_the_one_design() {
    assert_eq!(parse("resnext29-37x10d-37x20d-37x40d"), parse("resnext29-37x10d"));
}

/// Files written before there were lists.
#[test]
fn one_design_is_written_as_before() {
    let text = "kind = \"resnext\"\nstem = \"small\"\nblocks = [3, 3, 3]\ndesign = \"37x10d\"\nclasses = 10\n\
                image = 32\nstem_channels = 64\noutputs = 256\n";
    assert_eq!(Spec::from_toml(text).unwrap(), parse("resnext29-37x10d"));
    assert_eq!(parse("resnext29-37x10d").to_toml(), text);
    let block = "kind = \"bottleneck\"\nwidth = 10\nmembers = 37\n";
    assert_eq!(Spec::from_toml(block).unwrap(), parse("bottleneck-37x10d"));
}

#[test]
fn what_is_wrong_with_designs_is_said() {
    let read = |design: &str| {
        let text = format!(
            "kind = \"resnext\"\nstem = \"small\"\nblocks = [3, 3, 3]\ndesign = {design}\nclasses = 10\nimage = 32\n"
        );
        Spec::from_toml(&text).expect_err(design).to_string()
    };
    assert!(read("[\"37x10d\", \"19x20d\"]").contains("has 3 stages but 2 designs"));
    assert!(read("[]").contains("has 3 stages but 0 designs"));
    assert!(read("\"37by10\"").contains("such as 37x10d, or their two widths, such as 37x10_12d"));
    assert!(read("[\"37x10d\", \"x\", \"y\"]").contains("\"x\" is not a design"));
    assert!(read("7").contains("a design such as \"37x10d\", or a list of one per stage"));
    assert!(read("[\"37x10d\", \"0x1d\", \"1x1d\"]").contains("the number of members is 0"));
}

#[test]
fn blocks_say_what_a_search_needs() {
    let blocks = parse("resnext50-32x4d").blocks().unwrap();
    assert_eq!(blocks.len(), 8, "each of four stages has a first block and a row of equal ones");
    assert_eq!(blocks.iter().map(|block| block.count).sum::<usize>(), 16);
    let first = &blocks[0].bottleneck;
    assert_eq!((first.inputs, first.outputs, first.image, first.stride), (64, 256, 56, 1));
    assert_eq!(first.shortcut, Shortcut::Projection);
    let strided = &blocks[2];
    assert_eq!((strided.stage, strided.count), (1, 1));
    let block = &strided.bottleneck;
    assert_eq!((block.inputs, block.outputs, block.image, block.stride), (256, 512, 56, 2));
    assert_eq!((block.members, block.widths()), (32, [8, 8]));
    let row = &blocks[3];
    assert_eq!((row.stage, row.count, row.bottleneck.image), (1, 3, 28));
    assert_eq!(row.bottleneck.shortcut, Shortcut::Identity);
    assert!(parse("wrn28-10").blocks().unwrap_err().to_string().contains("basic blocks"));
}

#[test]
fn designs_can_be_replaced() {
    let baseline = parse("resnext29-1x128d");
    let design = Design::new(37, 10).unwrap();
    assert_eq!(baseline.with_design(design).unwrap(), parse("resnext29-37x10d"));
    let designs: Vec<StageDesign> =
        ["37x10d", "19x20_24d", "9x40d"].iter().map(|text| text.parse().unwrap()).collect();
    let network = baseline.with_stage_designs(&designs).unwrap();
    assert_eq!(network.name(), "resnext29-37x10d-19x20_24d-9x40d");
    assert!(baseline.with_stage_designs(&designs[..2]).is_err());
    assert!(parse("fc6-500").with_stage_designs(&designs).is_err());
}

proptest! {
    #[test]
    fn counts_are_explicit_sums(designs in prop::array::uniform3((1usize..40, 1usize..40, 1usize..40))) {
        let texts: Vec<String> = designs.iter().map(|(m, a, b)| format!("{m}x{a}_{b}d")).collect();
        let spec = parse(&format!("resnext29-{}", texts.join("-")));
        let expected = by_hand(designs.map(|(m, a, b)| (m as u64, a as u64, b as u64)));
        prop_assert_eq!(parameters(&spec), expected);
        prop_assert_eq!(parse(&spec.name()), spec.clone());
        let blocks = resnext(spec).blocks().unwrap();
        for block in blocks {
            let (m, a, b) = designs[block.stage];
            prop_assert_eq!(block.bottleneck.design(), StageDesign { multiplicity: m, widths: [a, b] });
        }
    }
}
