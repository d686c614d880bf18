//! Counts of well-known networks against those that their authors published.

use collegial_arch::{Graph, Op, Spec};

fn graph(name: &str) -> Graph {
    let spec: Spec = name.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
    spec.graph().unwrap()
}

/// Biases of a network, which pycls counts as one multiply-accumulate each.
fn biases(graph: &Graph) -> u64 {
    let biased = |op: &Op| matches!(op, Op::Dense { bias: true, .. } | Op::Conv { bias: true, .. });
    graph.nodes.iter().filter(|node| biased(&node.op)).map(|node| node.shape.channels as u64).sum()
}

/// Values that nodes of a kind put out.
fn elements(graph: &Graph, kind: impl Fn(&Op) -> bool) -> u64 {
    graph.nodes.iter().filter(|node| kind(&node.op)).map(|node| node.shape.elements() as u64).sum()
}

/// Values that averages over whole images read.
fn averaged(graph: &Graph) -> u64 {
    let averages = graph.nodes.iter().filter(|node| node.op == Op::GlobalAveragePool);
    averages.map(|node| graph.nodes[node.inputs[0]].shape.elements() as u64).sum()
}

/// Parameters, multiply-accumulates and activations from pycls (`dev/model_complexity.json`).
const PYCLS: &[(&str, u64, u64, u64)] = &[
    ("resnet50", 25_557_032, 4_089_185_256, 11_315_688),
    ("resnet101", 44_549_160, 7_801_406_440, 16_433_640),
    ("resnet152", 60_192_808, 11_513_627_624, 22_755_816),
    ("resnext50_32x4d", 25_028_904, 4_230_480_872, 14_602_216),
    ("resnext101_32x4d", 44_177_704, 7_969_997_800, 21_426_152),
    ("resnext152_32x4d", 59_951_400, 11_709_514_728, 29_855_720),
    ("RegNetX-200MF", 2_684_792, 199_040_872, 2_164_056),
    ("RegNetX-400MF", 5_157_512, 397_678_568, 3_143_272),
    ("RegNetX-600MF", 6_196_040, 600_891_112, 3_975_096),
    ("RegNetX-800MF", 7_259_656, 799_700_712, 5_148_744),
    ("RegNetX-1.6GF", 9_190_136, 1_602_850_792, 7_933_512),
    ("RegNetX-3.2GF", 15_296_552, 3_176_622_952, 11_367_432),
    ("RegNetX-4.0GF", 22_118_248, 3_964_499_816, 12_201_608),
    ("RegNetX-6.4GF", 26_209_256, 6_460_292_264, 16_369_744),
    ("RegNetX-8.0GF", 39_572_648, 7_995_133_416, 14_059_688),
    ("RegNetX-12GF", 46_106_056, 12_086_679_016, 21_366_568),
    ("RegNetX-16GF", 54_278_536, 15_940_756_456, 25_515_496),
    ("RegNetX-32GF", 107_811_560, 31_735_930_792, 36_302_160),
    ("RegNetY-200MF", 3_162_996, 199_519_076, 2_168_052),
    ("RegNetY-400MF", 4_344_144, 401_849_056, 3_892_496),
    ("RegNetY-600MF", 6_055_160, 601_227_608, 4_334_296),
    ("RegNetY-800MF", 6_263_168, 797_183_328, 5_249_888),
    ("RegNetY-1.6GF", 11_202_430, 1_612_087_326, 8_044_814),
    ("RegNetY-3.2GF", 19_436_338, 3_176_496_162, 11_263_418),
    ("RegNetY-4.0GF", 20_646_656, 3_973_301_344, 12_287_200),
    ("RegNetY-6.4GF", 30_583_252, 6_355_221_876, 16_407_188),
    ("RegNetY-8.0GF", 39_180_068, 7_963_074_196, 17_968_916),
    ("RegNetY-12GF", 51_822_544, 12_092_395_504, 21_384_496),
    ("RegNetY-16GF", 83_590_140, 15_911_534_044, 23_041_228),
    ("RegNetY-32GF", 145_046_770, 32_279_583_362, 30_261_570),
];

#[test]
fn pycls_counts() {
    for &(name, parameters, macs, activations) in PYCLS {
        let graph = graph(name);
        let total = graph.counts().unwrap().total;
        assert_eq!(total.parameters, parameters, "parameters of {name}");
        // Theirs are without norms and averages.
        let norms = 2 * elements(&graph, |op| *op == Op::BatchNorm);
        let others = norms + averaged(&graph);
        assert_eq!(total.macs - others + biases(&graph), macs, "multiply-accumulates of {name}");
        // pycls takes what a max pool puts out for activations too.
        let pooled = elements(&graph, |op| matches!(op, Op::MaxPool { .. }));
        assert_eq!(total.activations + pooled, activations, "activations of {name}");
    }
}

/// Billions of multiply-accumulates at 224 pixels in timm's `results/results-imagenet.csv`, which
/// fvcore counts.
#[test]
fn multiply_accumulates_are_those_of_timm() {
    for (name, billions) in [
        ("resnet50", "4.11"),
        ("resnet101", "7.83"),
        ("resnet152", "11.56"),
        ("resnext50-32x4d", "4.26"),
        ("resnext101-32x8d", "16.48"),
        ("resnext101-64x4d", "15.52"),
    ] {
        let macs = graph(name).counts().unwrap().total.macs as f64;
        assert_eq!(format!("{:.2}", macs / 1e9), billions, "{name}");
    }
    // Convolutions, the dense layer, 2 for each element of a norm, and 2048 x 7 x 7 for the average.
    let exact = 4_087_136_256 + 2_048_000 + 2 * 11_113_984 + 100_352;
    assert_eq!(graph("resnet50").counts().unwrap().total.macs, exact);
}

/// Depth, multiplicity, width, parameters and millions of multiply-accumulates of ResNeXts on
/// CIFAR-10, from osmr/imgclsmob (`gluon/README.md`).
const CIFAR: &[(usize, usize, usize, u64, f64)] = &[
    (20, 1, 64, 3_446_602, 538.36),
    (20, 2, 32, 2_672_458, 425.15),
    (20, 4, 16, 2_285_386, 368.55),
    (20, 8, 8, 2_091_850, 340.25),
    (20, 16, 4, 1_995_082, 326.1),
    (20, 32, 2, 1_946_698, 319.03),
    (20, 64, 1, 1_922_506, 315.49),
    (20, 2, 64, 6_198_602, 987.98),
    (20, 4, 32, 4_650_314, 761.57),
    (20, 8, 16, 3_876_170, 648.37),
    (20, 16, 8, 3_489_098, 591.77),
    (20, 32, 4, 3_295_562, 563.47),
    (20, 64, 2, 3_198_794, 549.32),
    (56, 1, 64, 9_317_194, 1399.33),
    (56, 2, 32, 6_994_762, 1059.72),
    (56, 4, 16, 5_833_546, 889.91),
    (56, 8, 8, 5_252_938, 805.01),
    (56, 16, 4, 4_962_634, 762.56),
    (56, 32, 2, 4_817_482, 741.34),
    (56, 64, 1, 4_744_906, 730.72),
    (29, 32, 4, 4_775_754, 780.55),
    (29, 16, 64, 68_155_210, 10709.34),
    (272, 1, 64, 44_540_746, 6565.15),
    (272, 2, 32, 32_928_586, 4867.11),
];

#[test]
fn cifar_resnexts_count_as_published() {
    for &(depth, m, n, parameters, millions) in CIFAR {
        let name = format!("resnext{depth}-{m}x{n}d");
        let graph = graph(&name);
        let total = graph.counts().unwrap().total;
        assert_eq!(total.parameters, parameters, "parameters of {name}");
        // Their multiply-accumulates contain norms, sums and activations by a rule that is not
        // published: one to two for every element of a norm, below a hundredth in all.
        let norms = elements(&graph, |op| *op == Op::BatchNorm) as f64;
        let beyond = millions * 1e6 - ((total.macs - averaged(&graph)) as f64 - 2.0 * norms);
        assert!((norms..2.0 * norms).contains(&beyond), "{name}: {beyond} beyond {} ({norms})", total.macs);
        assert_eq!(
            format!("resnext{depth}_{m}x{n}d_cifar10").parse::<Spec>().unwrap(),
            name.parse().unwrap()
        );
    }
}

/// `num_params` of torchvision 0.29's weights.
const TORCHVISION: &[(&str, u64)] = &[
    ("resnet50", 25_557_032),
    ("resnet101", 44_549_160),
    ("resnet152", 60_192_808),
    ("resnext50_32x4d", 25_028_904),
    ("resnext101_32x8d", 88_791_336),
    ("resnext101_64x4d", 83_455_272),
    ("wide_resnet50_2", 68_883_240),
    ("wide_resnet101_2", 126_886_696),
    ("regnet_x_400mf", 5_495_976),
    ("regnet_x_800mf", 7_259_656),
    ("regnet_x_1_6gf", 9_190_136),
    ("regnet_x_3_2gf", 15_296_552),
    ("regnet_x_8gf", 39_572_648),
    ("regnet_x_16gf", 54_278_536),
    ("regnet_x_32gf", 107_811_560),
    ("regnet_y_400mf", 4_344_144),
    ("regnet_y_800mf", 6_432_512),
    ("regnet_y_1_6gf", 11_202_430),
    ("regnet_y_3_2gf", 19_436_338),
    ("regnet_y_8gf", 39_381_472),
    ("regnet_y_16gf", 83_590_140),
    ("regnet_y_32gf", 145_046_770),
    ("regnet_y_128gf", 644_812_894),
];

/// Parameters of timm 1.0's models, by timm's names.
const TIMM: &[(&str, u64)] = &[
    ("resnet26", 15_995_176),
    ("resnet26d", 16_014_408),
    ("resnet50c", 25_576_264),
    ("resnet50d", 25_576_264),
    ("resnet101d", 44_568_392),
    ("resnet152d", 60_212_040),
    ("resnext50d_32x4d", 25_048_136),
    ("resnext101_32x4d", 44_177_704),
    ("seresnet50", 28_088_024),
    ("seresnet101", 49_326_872),
    ("seresnet152", 66_821_848),
    ("seresnet152d", 66_841_080),
    ("seresnext26d_32x4d", 16_809_512),
    ("seresnext50_32x4d", 27_559_896),
    ("seresnext101_32x4d", 48_955_416),
    ("seresnext101_32x8d", 93_569_048),
    ("seresnext101_64x4d", 88_232_984),
    ("seresnext101d_32x8d", 93_588_280),
    ("regnetx_004", 5_157_512),
    ("regnety_008", 6_263_168),
    ("regnety_1280", 644_812_894),
];

#[test]
fn timm_counts() {
    for &(name, parameters) in TIMM {
        assert_eq!(graph(name).counts().unwrap().total.parameters, parameters, "{name}");
        let spec: Spec = name.parse().unwrap();
        assert_eq!(spec.name().parse::<Spec>().unwrap(), spec, "{name} is {spec}");
    }
}

/// The stem c has no shortcuts of its own, d averages in three of them.
#[test]
fn average_pools_of_resnet_d() {
    let pools = |name: &str| {
        let pool = |op: &Op| matches!(op, Op::AveragePool { side: 2 });
        graph(name).nodes.iter().filter(|node| pool(&node.op)).count()
    };
    assert_eq!(["resnet50", "resnet50c", "resnet50d"].map(pools), [0, 0, 3]);
}

#[test]
fn torchvision_counts() {
    for &(name, parameters) in TORCHVISION {
        assert_eq!(graph(name).counts().unwrap().total.parameters, parameters, "{name}");
    }
}
