//! One file per figure or table.

mod cifar;
mod dynamics;
mod evidence;
mod fig2;
mod fig3;
mod fig4;
mod fig_alpha;
mod fig_dynamics;
mod group_widths;
mod network;
mod prediction;
mod tables;
mod timing;
mod trained;

use crate::reproduce::Item;
use cifar::{CIFAR_10, CIFAR_100};

/// An item with the experiment file of its name.
macro_rules! item {
    ($name:literal, $run:expr) => {
        Item::new($name, include_str!(concat!("../../../experiments/", $name, ".toml")), $run)
    };
}

/// Every figure and table in the paper's order, then what goes beyond it.
pub const ITEMS: &[Item] = &[
    item!("fig2", fig2::run),
    item!("fig3", fig3::run),
    item!("fig4", fig4::run).training(),
    item!("fig-cifar100", |experiment, context| CIFAR_100.run(experiment, context)).training(),
    item!("table1", tables::run).training(),
    item!("table2", tables::run).training(),
    item!("table3", tables::run).training(),
    item!("table4", tables::run).training(),
    item!("fig-cifar10", |experiment, context| CIFAR_10.run(experiment, context)).training(),
    item!("table5", tables::run).training(),
    item!("fig-alpha", fig_alpha::run),
    item!("fig-dynamics", fig_dynamics::run),
    item!("network", network::run),
    item!("group-widths", group_widths::run),
    item!("prediction", prediction::run),
    item!("evidence", evidence::summary),
    item!("evidence-paper", evidence::run),
    item!("evidence-resnext", evidence::run),
    item!("evidence-cifar-zoo", evidence::run),
    item!("evidence-cifar-readmes", evidence::run),
    item!("evidence-wrn", evidence::run),
    item!("evidence-timm", evidence::run),
    item!("evidence-imgclsmob", evidence::run),
    item!("evidence-paddleclas", evidence::run),
    item!("evidence-mmpretrain", evidence::run),
    item!("evidence-pycls", evidence::run),
    item!("evidence-resnest", evidence::run),
    item!("evidence-deep-roots", evidence::run),
];
