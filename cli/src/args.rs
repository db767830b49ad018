//! The command line: every command with its arguments, as `--help` shows them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::duration;

/// Distributed locks, limiters and queues on Redis or Valkey, from a shell
#[derive(Debug, Parser)]
#[command(name = "dlock", version, disable_help_subcommand = true, max_term_width = 100)]
#[command(after_help = "`dlock COMMAND --help` has the arguments of each. DLOCK_URL names the server.")]
pub struct Args {
    #[command(flatten)]
    pub server: ServerArgs,
    /// Print JSON, for programs
    #[arg(long, global = true, display_order = 900)]
    pub json: bool,
    #[command(subcommand)]
    pub verb: Verb,
}

/// Which server, and how.
#[derive(Debug, ClapArgs)]
pub struct ServerArgs {
    /// The server: redis://, rediss://, redis+sentinel:// [default: $DLOCK_URL, or redis://127.0.0.1:6379]
    #[arg(long, global = true, value_name = "URL", display_order = 901)]
    pub url: Option<String>,
    /// Read the password from this file [or $DLOCK_PASSWORD]
    #[arg(long, global = true, value_name = "FILE", display_order = 902)]
    pub password_file: Option<PathBuf>,
    /// Any option of the library, such as key_prefix=app:
    #[arg(short = 'o', long = "option", global = true, value_name = "NAME=VALUE", display_order = 903)]
    pub options: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a command while holding a lock
    Run(RunArgs),
}

/// A time, as the arguments have it.
fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text)
}

#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    /// The name of the lock
    pub name: String,
    /// Wait so long for the lock; 0 is not at all [default: as long as it takes]
    #[arg(long, short, value_name = "TIME", value_parser = time)]
    pub wait: Option<Duration>,
    /// How long the lock outlives a dlock that dies; renewed until then
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    pub lease: Duration,
    /// Exit with this code when the lock was not free in time
    #[arg(long, short = 'E', value_name = "CODE", default_value_t = crate::exit::NO)]
    pub conflict_exit_code: u8,
    /// Once the lock is lost, KILL follows TERM after so long
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5s")]
    pub grace: Duration,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
