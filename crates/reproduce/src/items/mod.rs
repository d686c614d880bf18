//! One file per figure or table.

mod cifar;
mod fig3;
mod fig4;
mod fig_dynamics;

use crate::Item;

/// Every figure and table, in the paper's order.
pub const ITEMS: &[&dyn Item] =
    &[&fig3::Fig3, &fig4::Fig4, &cifar::CIFAR_100, &cifar::CIFAR_10, &fig_dynamics::FigDynamics];
