//! Every parameter and FLOP count that the paper prints, to all its digits.

use collegial_arch::{Cost, Module, Overrides, Spec};
use serde_json::Value;

fn tables() -> Value {
    serde_json::from_str(include_str!("../paper/tables.json")).expect("paper/tables.json is JSON")
}

/// The rows of a table as (model, the cell under `column`).
fn column(table: &str, column: &str) -> Vec<(String, String)> {
    let tables = tables();
    let columns = tables[table]["columns"].as_array().expect("columns");
    let at = columns.iter().position(|name| name == column).expect("column");
    let rows = tables[table]["rows"].as_array().expect("rows");
    rows.iter().map(|row| (row[0].as_str().expect("a name").to_owned(), row[at].to_string())).collect()
}

/// The full name of a row: tables of one family print the design alone.
fn model(family: &str, row: &str, classes: usize) -> Spec {
    let design = row.trim_end_matches(" (1 GPU)");
    let name = if design.contains('-') || design.starts_with("wrn") {
        design.to_owned()
    } else {
        format!("{family}-{design}")
    };
    let spec: Spec = name.parse().expect("a known name");
    spec.with(&Overrides { classes: Some(classes), ..Overrides::default() }).expect("a class count")
}

/// Rounds `value` to as many decimals as `printed` has.
fn printed_like(value: f64, printed: &str) -> String {
    let decimals = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
    format!("{value:.decimals$}")
}

fn check_parameters(table: &str, family: &str, classes: usize) -> usize {
    let rows = column(table, "params_M");
    for (row, printed) in &rows {
        let counts = model(family, row, classes).graph().unwrap().counts().unwrap();
        let millions = counts.total.parameters as f64 / 1e6;
        assert_eq!(&printed_like(millions, printed), printed, "{table}: {row}");
    }
    rows.len()
}

#[test]
fn all_54_rows_have_the_published_parameters() {
    let rows = check_parameters("table1_primal_cifar", "resnext29", 10)
        + check_parameters("table1_dual_cifar", "resnext29", 10)
        + check_parameters("table2_primal_imagenet", "resnext50", 1000)
        + check_parameters("table2_dual_imagenet", "resnext50", 1000)
        + check_parameters("table3_imagenet32", "resnext29", 1000)
        + check_parameters("table4_imagenet64", "resnext38", 1000)
        + check_parameters("table5_flops_cifar", "resnext29", 10);
    assert_eq!(rows, 54);
}

#[test]
fn table_5_has_the_published_gigaflops() {
    for (row, printed) in column("table5_flops_cifar", "GFLOPs") {
        let counts = model("resnext29", &row, 10).graph().unwrap().counts().unwrap();
        let printed = format!("{:.2}", printed.parse::<f64>().unwrap());
        assert_eq!(printed_like(counts.total.flops as f64 / 1e9, &printed), printed, "{row}");
    }
}

#[test]
fn exact_parameter_counts() {
    let expected = [
        ("resnext29-1x128d", 13_775_178),
        ("resnext29-3x64d", 13_346_378),
        ("resnext29-37x10d", 13_743_646),
        ("resnext29-28x12d", 12_925_898),
        ("resnext29-1x226d", 36_345_166),
        ("resnext29-8x64d", 34_426_698),
        ("resnext29-101x10d", 36_308_766),
        ("resnext29-10x10d", 4_223_986),
        ("resnext29-8x12d", 4_191_818),
        ("resnext29-2x64d", 9_130_314),
        ("resnext29-14x10d", 5_634_306),
        ("resnext29-6x25d", 7_262_636),
        ("resnext29-3x58d", 11_568_662),
        ("resnext29-2x98d", 17_388_370),
        ("resnext29-44x8d", 12_709_834),
        ("resnext29-60x6d", 12_574_586),
        ("resnext50-1x64d", 25_557_032),
        ("resnext50-32x4d", 25_028_904),
        ("wrn28-10", 36_479_194),
    ];
    for (name, parameters) in expected {
        let spec: Spec = name.parse().unwrap();
        assert_eq!(spec.graph().unwrap().counts().unwrap().total.parameters, parameters, "{name}");
    }
}

#[test]
fn exact_megaflops_of_table_5() {
    for (name, mega) in [("1x128d", 4186), ("3x64d", 4153), ("44x8d", 4199), ("60x6d", 4171)] {
        let counts = model("resnext29", name, 10).graph().unwrap().counts().unwrap();
        assert_eq!((counts.total.flops as f64 / 1e6).round() as u64, mega, "{name}");
    }
}

#[test]
fn the_cost_of_one_member_of_a_bottleneck_counts_its_norms() {
    for n in [1u64, 7, 10, 128] {
        let module = bottleneck(n as usize);
        let convolutions = 512 * n + 9 * n * n;
        assert_eq!(module.member_cost(Cost::Params).unwrap(), convolutions + 4 * n + 512, "n = {n}");
        let pixels = 32 * 32;
        assert_eq!(module.member_cost(Cost::Flops).unwrap(), pixels * (2 * convolutions + 2 * n + 256));
        assert_eq!(module.member_cost(Cost::Activations).unwrap(), pixels * (2 * n + 256));
    }
}

#[test]
fn the_cost_of_one_member_of_figure_3() {
    let spec: Spec = "fc6-500".parse().unwrap();
    let figure_3 = Overrides { inputs: Some(748), outputs: Some(1), ..Overrides::default() };
    let module = spec.with(&figure_3).unwrap().module().unwrap();
    for n in [1u64, 48, 500] {
        let member = module.scaled_to(n as usize).unwrap();
        assert_eq!(member.member_cost(Cost::Params).unwrap(), 748 * n + 4 * n * n + n);
        assert!((member.inverse_fan_in_sum() - 6.0 / n as f64).abs() < 1e-15);
    }
}

#[test]
fn the_inverse_fan_ins_of_a_bottleneck_count_the_kernel_area() {
    for n in [1.0, 10.0, 128.0] {
        let sum = bottleneck(n as usize).inverse_fan_in_sum();
        assert!((sum - (1.0 / 256.0 + 1.0 / (9.0 * n) + 1.0 / n)).abs() < 1e-15);
    }
}

fn bottleneck(width: usize) -> Module {
    format!("bottleneck-{width}").parse::<Spec>().unwrap().module().unwrap()
}
