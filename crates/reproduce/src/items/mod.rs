//! One file per figure or table.

mod cifar;
mod dynamics;
mod fig2;
mod fig3;
mod fig4;
mod fig_alpha;
mod fig_dynamics;
mod network;
mod table1;
mod table2;
mod table3;
mod table4;
mod table5;
mod tables;
mod timing;

use crate::Item;

/// Every figure and table, in the paper's order.
pub const ITEMS: &[&dyn Item] = &[
    &fig2::Fig2,
    &fig3::Fig3,
    &fig4::Fig4,
    &cifar::CIFAR_100,
    &table1::Table1,
    &table2::Table2,
    &table3::Table3,
    &table4::Table4,
    &cifar::CIFAR_10,
    &table5::Table5,
    &fig_alpha::FigAlpha,
    &fig_dynamics::FigDynamics,
    &network::Network,
];
