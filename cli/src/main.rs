//! The command `dlock`: runs a command under a lock, and shows what locks, limiters and queues a server has.
//!
//! Every command of `args` has a file of its own, on the public API of the library. `docs/cli.md` is the reference.

#![forbid(unsafe_code)]

mod acl;
mod args;
mod connection;
mod details;
mod doctor;
mod duration;
mod exit;
mod id;
mod limit;
mod live;
mod ls;
mod out;
mod queue;
mod release;
mod run;
mod serve;
mod top;

use std::process::ExitCode;

use clap::CommandFactory;
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
    let args = match args::parse() {
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
    match (error.print(), is_help) {
        (Ok(()), true) => ExitCode::SUCCESS,
        (Err(error), true) => {
            let failure = Failure::from(error);
            Out::new(false).complain(&failure);
            ExitCode::from(failure.code())
        }
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
    connection::refuse_passwords(server)?;
    match args.verb {
        Verb::Run(ref args) => run::run(server, args, out).await,
        Verb::Ls(ref args) => ls::ls(server, args, out).await,
        Verb::Inspect(ref args) => ls::inspect(server, args, out).await,
        Verb::Release(ref args) => release::release(server, args, out).await,
        Verb::Limit(ref args) => limit::limit(server, args, out).await,
        Verb::Id(ref args) => id::id(server, args, out).await,
        Verb::Queue(ref verb) => queue::queue(server, verb, out).await,
        Verb::Top(ref args) => top::top(server, args, out).await,
        Verb::Serve(ref args) => serve::serve(server, args, out).await,
        Verb::Acl(ref args) => acl::acl(server, args, out),
        Verb::Doctor(ref args) => doctor::doctor(server, args, out).await,
        Verb::Completion(ref args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Args::command(), "dlock", &mut script);
            out.bytes(&script).map(|()| 0)
        }
    }
}
