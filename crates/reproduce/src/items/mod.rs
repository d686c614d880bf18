//! One file per figure or table.

mod fig2;
mod fig3;
mod fig_alpha;
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
    &table1::Table1,
    &table2::Table2,
    &table3::Table3,
    &table4::Table4,
    &table5::Table5,
    &fig_alpha::FigAlpha,
];
