//! One file per figure or table.

mod fig3;
mod fig4;

use crate::Item;

/// Every figure and table, in the paper's order.
pub const ITEMS: &[&dyn Item] = &[&fig3::Fig3, &fig4::Fig4];
