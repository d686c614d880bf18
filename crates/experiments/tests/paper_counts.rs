//! Every parameter and FLOP count that the paper prints, to all its digits.

use collegial_arch::{Cost, Module, Overrides, Spec, Totals};
use collegial_experiments::reproduce::published;

fn counts(family: &str, model: &str, classes: usize) -> Totals {
    published::network(family, model, classes).unwrap().graph().unwrap().counts().unwrap().total
}

fn check_parameters(table: &str, family: &str, classes: usize) -> usize {
    let table = published::table(table).unwrap();
    for row in table.rows() {
        let printed = row.number("params_M").unwrap();
        let millions = counts(family, row.model(), classes).parameters as f64 / 1e6;
        assert_eq!(printed.round(millions), printed.printed(), "{}", row.name());
    }
    table.rows().len()
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
    for row in published::table("table5_flops_cifar").unwrap().rows() {
        let printed = row.number("GFLOPs").unwrap();
        let billions = counts("resnext29", row.model(), 10).flops as f64 / 1e9;
        assert_eq!(printed.round(billions), printed.printed(), "{}", row.name());
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
        assert_eq!((counts("resnext29", name, 10).flops as f64 / 1e6).round() as u64, mega, "{name}");
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
