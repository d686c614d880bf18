//! One file per figure or table.

mod fig3;

use crate::Item;

/// Every figure and table, in the paper's order.
pub const ITEMS: &[&dyn Item] = &[&fig3::Fig3];
