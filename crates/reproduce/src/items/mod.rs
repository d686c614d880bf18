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
mod paper_table;
mod prediction;
mod tables;
mod timing;
mod trained;

use crate::Item;

/// Every figure and table in the paper's order, then what goes beyond it.
pub const ITEMS: &[&dyn Item] = &[
    &fig2::Fig2,
    &fig3::Fig3,
    &fig4::Fig4,
    &cifar::CIFAR_100,
    &paper_table::TABLES[0],
    &paper_table::TABLES[1],
    &paper_table::TABLES[2],
    &paper_table::TABLES[3],
    &cifar::CIFAR_10,
    &paper_table::TABLES[4],
    &fig_alpha::FigAlpha,
    &fig_dynamics::FigDynamics,
    &network::Network,
    &group_widths::GroupWidths,
    &prediction::Prediction,
    &evidence::Summary,
    &evidence::TABLES[0],
    &evidence::TABLES[1],
    &evidence::TABLES[2],
    &evidence::TABLES[3],
    &evidence::TABLES[4],
    &evidence::TABLES[5],
    &evidence::TABLES[6],
    &evidence::TABLES[7],
    &evidence::TABLES[8],
    &evidence::TABLES[9],
    &evidence::TABLES[10],
    &evidence::TABLES[11],
];
