//! One file per figure or table.

mod cifar;
mod dynamics;
mod fig2;
mod fig3;
mod fig4;
mod fig_alpha;
mod fig_dynamics;
mod group_widths;
mod network;
mod tables;
mod timing;
mod trained;

use crate::reproduce::item::Kind::{Computes, Judges, Trains};
use crate::reproduce::{Item, studies};
use cifar::{CIFAR_10, CIFAR_100};

/// An item with the experiment file of its name.
macro_rules! item {
    ($name:literal, $kind:ident, $run:expr) => {
        Item::new($name, $kind(include_str!(concat!("../../../experiments/", $name, ".toml"))), $run)
    };
}

/// Every figure and table in the paper's order, then what goes beyond it, then studies whose records
/// are judged.
pub const ITEMS: &[Item] = &[
    item!("fig2", Computes, fig2::run),
    item!("fig3", Computes, fig3::run),
    item!("fig4", Trains, fig4::run),
    item!("fig-cifar100", Trains, |experiment, context| CIFAR_100.run(experiment, context)),
    item!("table1", Trains, tables::run),
    item!("table2", Trains, tables::run),
    item!("table3", Trains, tables::run),
    item!("table4", Trains, tables::run),
    item!("fig-cifar10", Trains, |experiment, context| CIFAR_10.run(experiment, context)),
    item!("table5", Trains, tables::run),
    item!("fig-alpha", Computes, fig_alpha::run),
    item!("fig-dynamics", Computes, fig_dynamics::run),
    item!("network", Computes, network::run),
    item!("group-widths", Computes, group_widths::run),
    Item::new("fig4-recorded", Judges("fig4"), studies::fig4),
    Item::new("prediction", Judges("prediction"), studies::prediction),
    Item::new("evidence", Judges("published-tables"), studies::published_tables),
];
