//! The command `dlock`: runs a command under a lock, and shows what locks, limiters and queues a server has.
//!
//! Every command of `args` has a file of its own, on the public API of the library. `docs/cli.md` is the reference.

#![forbid(unsafe_code)]

mod args;
mod connection;
mod duration;
mod exit;
mod out;
mod run;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind as ClapKind;
use tokio::runtime::Builder;

use self::args::{Args, Verb};
use self::exit::Failure;
use self::out::Out;

fn main() -> ExitCode {
    // Before anything else: this process becomes the command itself.
    if let Some(code) = run::bound::become_command() {
        return ExitCode::from(code);
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return told_by_clap(&error),
    };
    let out = Out::new(args.json);
    let code = match start(args, &out) {
        Ok(code) => code,
        Err(failure) => {
            out.complain(&failure);
            failure.code()
        }
    };
    ExitCode::from(code)
}

/// Help and version go to standard output and are no error; wrong arguments are one of `dlock` itself.
fn told_by_clap(error: &clap::Error) -> ExitCode {
    let is_help = matches!(error.kind(), ClapKind::DisplayHelp | ClapKind::DisplayVersion);
    // Printing it fails when nobody reads it, and then nobody can be told.
    match (error.print(), is_help) {
        (Ok(()), true) => ExitCode::SUCCESS,
        (Err(_), true) => ExitCode::from(exit::CLOSED_PIPE),
        (_, false) => ExitCode::from(exit::FAILED),
    }
}

/// The thread that runs this is the one that starts the command, and must outlive it: see [`run::bound`].
fn start(args: Args, out: &Out) -> Result<u8, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::Code(exit::FAILED, format!("no thread could be started: {error}")))?;
    let code = runtime.block_on(carry_out(args, out));
    // What still runs there, such as a read of standard input, is not waited for.
    runtime.shutdown_background();
    code
}

async fn carry_out(args: Args, out: &Out) -> Result<u8, Failure> {
    let server = &args.server;
    match args.verb {
        Verb::Run(ref run) => run::run(server, run, out).await,
    }
}
