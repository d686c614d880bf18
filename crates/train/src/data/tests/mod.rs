//! Tests of the readers, the augmentation and the loader, on files that the tests make themselves
//! and, where they are at hand, on the real data sets.

mod loading;
mod make;
mod opening;
mod parsers;
mod real;
mod views;
