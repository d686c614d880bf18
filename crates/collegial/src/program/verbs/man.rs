//! `collegial man`: manual pages, made from the same text as the help.

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;

use crate::program::arguments::Arguments;
use crate::program::failure::Failure;
use crate::program::output::print;
use crate::{Error, files};

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
            let page = rendered(&Page::new(command));
            print(&String::from_utf8_lossy(&page))
        }
        Some(directory) => {
            files::make_directory(directory)?;
            // `collegial help` is no verb; every other name gets its full form, "collegial-fit".
            let mut command = command.disable_help_subcommand(true);
            command.build();
            Ok(write_pages(&command, directory)?)
        }
    }
}

/// As `clap_mangen::generate_to` does, but whole or not at all.
fn write_pages(command: &clap::Command, directory: &Path) -> Result<(), Error> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write_pages(verb, directory)?;
    }
    let page = Page::new(command.clone());
    files::write_own(&directory.join(page.get_filename()), &rendered(&page))
}

fn rendered(page: &Page) -> Vec<u8> {
    let mut text = vec![];
    page.render(&mut text).expect("memory takes every page");
    text
}
