//! `dlock run`: a command under a lock.

pub mod bound;
pub mod child;
pub mod signals;

use std::time::Duration;

use libdlock::lock::LockOptions;
use libdlock::{Client, ErrorKind, Held};
use serde_json::json;
use tokio::time::{sleep, timeout};

use self::child::{Child, Ended};
use self::signals::Signals;
use crate::args::{RunArgs, ServerArgs};
use crate::connection::connect;
use crate::duration;
use crate::exit::{self, Failure};
use crate::out::{Out, say, visible};

/// How long the end waits for a server that does not answer: leases run out by themselves.
pub const CLOSING: Duration = Duration::from_secs(2);

pub async fn run(server: &ServerArgs, args: &RunArgs, out: &Out) -> Result<u8, Failure> {
    // First: a signal that comes while the lock is waited for ends the wait, and leaves no place in the queue.
    let mut signals = Signals::listen()?;
    let client = tokio::select! {
        biased;
        signal = signals.next() => return Ok(exit::BY_SIGNAL + signal.number()),
        client = connect(server) => client?,
    };
    let code = under_lock(&client, args, &mut signals, out).await;
    // Whatever became of it, what is left behind is bounded by the lease.
    let _ = timeout(CLOSING, client.close()).await;
    code
}

async fn under_lock(client: &Client, args: &RunArgs, signals: &mut Signals, out: &Out) -> Result<u8, Failure> {
    let lock = client.lock_with(&args.name, LockOptions::default().watchdog_lease(args.lease))?;
    let acquire = async {
        match args.wait {
            None => lock.acquire().await,
            Some(wait) => lock.acquire_timeout(wait).await,
        }
    };
    let held = tokio::select! {
        biased;
        signal = signals.next() => return Ok(exit::BY_SIGNAL + signal.number()),
        held = acquire => held,
    };
    let held = match held {
        Ok(held) => held,
        Err(error) if error.kind() == ErrorKind::Busy => {
            if args.conflict_exit_code == 0 {
                return Ok(0);
            }
            out.complain(&Failure::Core(error));
            return Ok(args.conflict_exit_code);
        }
        Err(error) => return Err(error.into()),
    };
    let environment = [("DLOCK_TOKEN", held.token().to_string()), ("DLOCK_NAME", args.name.clone())];
    let mut child = match Child::start(&args.command, &environment, None) {
        Ok(child) => child,
        Err(failure) => {
            // Its own error is the one to tell.
            let _ = held.release().await;
            return Err(failure);
        }
    };
    let Ended { code, lost } =
        child.watch(&format!("the lock {}", visible(&args.name)), held.lost(), signals, args.grace).await;
    if out.json {
        let ended = json!({ "name": args.name, "token": held.token(), "lost": lost.map(|lost| lost.as_str()), "exit_code": code });
        // Standard output is the command's.
        crate::out::write_error(&ended.to_string());
    }
    match lost {
        Some(_) => Ok(exit::LOST),
        None => Ok(end(held, args, signals, code).await),
    }
}

/// Releases after the command has ended. Nobody waits longer than the lease would last, and a signal ends that, too.
async fn end(held: Held, args: &RunArgs, signals: &mut Signals, code: u8) -> u8 {
    let name = visible(&args.name);
    let left = duration::show(args.lease);
    let unanswered = |why: &str| {
        say(&format!("the command has ended; the lock {name} may stay taken for {left}: {why}"));
        code
    };
    let released = tokio::select! {
        biased;
        released = held.release() => released,
        () = signals.ending() => return unanswered("a signal came while it was released"),
        () = sleep(args.lease) => return unanswered("the server did not answer to the release"),
    };
    match released {
        Ok(()) => code,
        Err(error) if matches!(error.kind(), ErrorKind::Lost | ErrorKind::NotHeld) => {
            say(&format!("the lock {name} was lost before the command ended: {}", error.message()));
            exit::LOST
        }
        Err(error) => unanswered(error.message()),
    }
}
