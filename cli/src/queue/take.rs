//! `dlock queue take`: a job, and a command that does it.

use std::time::Duration;

use libdlock::lease::LossReason;
use libdlock::queue::{ConsumeOptions, Delivery, QueueOptions};
use libdlock::{ErrorKind, Wait};
use serde_json::json;
use tokio::time::timeout;

use super::set_payload;
use crate::args::{ServerArgs, TakeArgs};
use crate::connection::connect;
use crate::duration;
use crate::exit::{self, Failure};
use crate::out::{Out, say, visible};
use crate::run::CLOSING;
use crate::run::child::{Child, Ended};
use crate::run::signals::Signals;

pub async fn take(server: &ServerArgs, args: &TakeArgs, out: &Out) -> Result<u8, Failure> {
    let mut signals = Signals::listen()?;
    let client = tokio::select! {
        biased;
        signal = signals.next() => return Ok(exit::BY_SIGNAL + signal.number()),
        client = connect(server) => client?,
    };
    let queue = client.queue_with(&args.name, QueueOptions::default().watchdog_lease(args.lease))?;
    let taken = tokio::select! {
        biased;
        signal = signals.next() => {
            let _ = timeout(CLOSING, client.close()).await;
            return Ok(exit::BY_SIGNAL + signal.number());
        }
        taken = queue.take_for(Wait::For(args.wait)) => taken?,
    };
    let code = match taken {
        None => {
            if out.json && args.command.is_empty() {
                out.document(&json!({ "queue": args.name, "id": null }))?;
            }
            Ok(args.conflict_exit_code)
        }
        Some(delivery) if args.command.is_empty() => print(delivery, args, out).await,
        Some(delivery) => carry_out(delivery, args, &mut signals, out).await,
    };
    let _ = timeout(CLOSING, client.close()).await;
    code
}

/// Prints the job. It is done once it has been written: what nobody reads comes again.
async fn print(delivery: Delivery, args: &TakeArgs, out: &Out) -> Result<u8, Failure> {
    let written = match out.json {
        true => {
            let mut document = json!({
                "queue": args.name, "id": delivery.id(), "attempt": delivery.attempt(), "token": delivery.token(),
                "due": duration::date(delivery.due()),
            });
            set_payload(&mut document, delivery.payload());
            out.document(&document)
        }
        false => out.bytes(delivery.payload()),
    };
    match written {
        Ok(()) => delivery.ack().await?,
        Err(failure) => {
            // The failure is what is told.
            let _ = delivery.nack("it could not be printed").await;
            return Err(failure);
        }
    }
    Ok(0)
}

/// After how long the job comes again, whose command failed.
fn backoff(delivery: &Delivery, args: &TakeArgs) -> Duration {
    ConsumeOptions::default().backoff(args.retry_after, args.retry_at_most).backoff_of(delivery.attempt())
}

/// Runs the command on the job: it is done when that succeeds, and comes again when it does not.
async fn carry_out(delivery: Delivery, args: &TakeArgs, signals: &mut Signals, out: &Out) -> Result<u8, Failure> {
    let environment = [
        ("DLOCK_QUEUE", args.name.clone()),
        ("DLOCK_TOKEN", delivery.token().to_string()),
        ("DLOCK_JOB_ID", delivery.id().to_owned()),
        ("DLOCK_JOB_ATTEMPT", delivery.attempt().to_string()),
    ];
    let mut child = match Child::start(&args.command, &environment, Some(delivery.payload().to_vec())) {
        Ok(child) => child,
        Err(failure) => {
            let delay = backoff(&delivery, args);
            let _ = delivery.nack_after(delay, "its command cannot be started").await;
            return Err(failure);
        }
    };
    let job = format!("the job {}", visible(delivery.id()));
    let Ended { code, lost } = child.watch(&job, delivery.lost(), signals, args.grace).await;
    if out.json {
        let lost = lost.map(LossReason::as_str);
        let ended = json!({ "queue": args.name, "id": delivery.id(), "lost": lost, "exit_code": code });
        crate::out::write_error(&ended.to_string());
    }
    if lost.is_some() {
        return Ok(exit::LOST);
    }
    let ended = match code {
        0 => delivery.ack().await,
        _ => {
            let delay = backoff(&delivery, args);
            delivery.nack_after(delay, &format!("its command ended with code {code}")).await
        }
    };
    match ended {
        Ok(()) => Ok(code),
        Err(error) if matches!(error.kind(), ErrorKind::Lost | ErrorKind::NotHeld) => {
            say(&format!("{job} was lost before the command ended, and comes again: {}", error.message()));
            Ok(exit::LOST)
        }
        // It may come again although it was done: that must not look like a success.
        Err(error) => Err(error.into()),
    }
}
