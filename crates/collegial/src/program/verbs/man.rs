//! `collegial man`: manual pages, made from the same text as the help.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;

use crate::program::arguments::Arguments;
use crate::program::failure::Failure;
use crate::program::output::print;

/// Print the manual page, or write the pages of all verbs into a directory
#[derive(Args)]
#[command(after_help = "Example:\n  collegial man pages")]
pub struct Man {
    /// Directory for one page per verb, made if it is not there
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(verb: &Man) -> Result<(), Failure> {
    let command = Arguments::command();
    match &verb.directory {
        None => {
            let mut page = Vec::new();
            Page::new(command).render(&mut page).map_err(|error| Failure::of_output(&error))?;
            print(&String::from_utf8_lossy(&page))
        }
        Some(directory) => {
            let written = std::fs::create_dir_all(directory).and_then(|()| write_pages(command, directory));
            written.map_err(|error| {
                Failure::User(format!("cannot write manual pages to {}: {error}", directory.display()))
            })
        }
    }
}

fn write_pages(command: clap::Command, directory: &Path) -> io::Result<()> {
    clap_mangen::generate_to(command, directory)
}
