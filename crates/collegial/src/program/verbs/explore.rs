//! `collegial explore`: the same in a page, live.

use std::process::{Command, Stdio};

use crate::ModelRef;
use crate::explorer::Explorer;
use crate::model::Source;
use clap::Args;

use crate::program::arguments::Common;
use crate::program::failure::Failure;
use crate::program::output::print;
use crate::program::signals;

/// Open a page that shows how variance and cost move with the design, live
///
/// Pick or write a baseline, drag the width of a member, and see both optima, the curves behind
/// them, the block before and after, and the counts of every layer. The page is served on loopback
/// and answers only to the address that is printed; nothing is sent anywhere, and no file is read
/// but those that are dropped into it. Ctrl-C ends it.
#[derive(Args)]
#[command(after_help = "Example:\n  collegial explore resnext29-1x128d --port 8000 --no-browser")]
pub struct Explore {
    /// The baseline that the page opens with: a name, or the path of a TOML spec, checkpoint or
    /// ONNX file
    #[arg(value_name = "MODEL", value_hint = clap::ValueHint::AnyPath)]
    model: Option<ModelRef>,
    /// Port to listen on; 0 takes any that is free
    #[arg(long, value_name = "P", default_value_t = 0)]
    port: u16,
    /// Only print the address
    #[arg(long)]
    no_browser: bool,
}

/// Runs the verb.
pub fn run(verb: &Explore, common: &Common) -> Result<(), Failure> {
    let start = verb.model.as_ref().map(ModelRef::open).transpose()?.map(Source::into_spec);
    let explorer =
        Explorer::start(verb.port, start.as_ref()).map_err(|error| Failure::User(error.to_string()))?;
    signals::watch();
    print(&format!("{}\n", explorer.address()))?;
    common.say("Ctrl-C ends it");
    if !verb.no_browser
        && let Err(error) = open_in_browser(explorer.address())
    {
        common.say(&format!("no browser was opened ({error}); open the address yourself"));
    }
    explorer.wait(signals::received);
    Err(Failure::Interrupted)
}

/// Hands an address to the system's default browser, without waiting for it.
fn open_in_browser(address: &str) -> std::io::Result<()> {
    let mut command = if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new(if cfg!(target_vendor = "apple") { "open" } else { "xdg-open" })
    };
    // A browser in our process group would hear the Ctrl-C that ends the explorer.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}
