//! `dlock limit`: tokens of a rate limiter, and a command if there are some.

use std::os::unix::process::CommandExt;
use std::process::Command;

use libdlock::limit::Rates;
use libdlock::{Decision, Rate, Wait};
use serde_json::{Value, json};

use crate::args::{LimitArgs, ServerArgs};
use crate::connection::connect;
use crate::duration;
use crate::exit::{self, Failure, millis};
use crate::out::{Out, say, visible, write_error};

pub async fn limit(server: &ServerArgs, args: &LimitArgs, out: &Out) -> Result<u8, Failure> {
    let rate = |rate: &Rate| {
        let rate = args.algorithm.map_or(*rate, |algorithm| rate.by(algorithm));
        args.burst.map_or(rate, |burst| rate.burst(burst))
    };
    let rates: Vec<Rate> = args.rate.iter().map(rate).collect();
    let client = connect(server).await?;
    let limiter = client.rate_limiter(&args.name, Rates::from(rates))?;
    let decision = limiter.acquire(args.cost, Wait::For(args.wait)).await?;
    client.close().await;
    if !decision.allowed && decision.retry_after.is_none() {
        return Err(Failure::Usage(never(args, &decision)));
    }
    let has_command = !args.command.is_empty();
    if !has_command {
        show(args, &decision, out)?;
    }
    if !decision.allowed {
        if has_command && args.conflict_exit_code != 0 {
            match out.json {
                // Standard output is the command's.
                true => write_error(&to_json(args, &decision).to_string()),
                false => say(&refused(args, &decision)),
            }
        }
        return Ok(args.conflict_exit_code);
    }
    match args.command.split_first() {
        None => Ok(0),
        // Nothing is left to be done here: the process becomes the command.
        Some((program, words)) => {
            let error = Command::new(program).args(words).exec();
            say(&format!("cannot run {}: {error}", visible(&program.to_string_lossy())));
            Ok(if error.kind() == std::io::ErrorKind::NotFound { exit::NOT_FOUND } else { exit::CANNOT_RUN })
        }
    }
}

fn show(args: &LimitArgs, decision: &Decision, out: &Out) -> Result<(), Failure> {
    if out.json {
        return out.document(&to_json(args, decision));
    }
    match decision.allowed {
        true => out.line(&format!(
            "allowed, {} of {} remain, full again in {}",
            decision.remaining,
            decision.limit,
            duration::show(decision.reset_after)
        )),
        false => out.line(&refused(args, decision)),
    }
}

fn to_json(args: &LimitArgs, decision: &Decision) -> Value {
    json!({
        "name": args.name,
        "allowed": decision.allowed,
        "granted": decision.granted,
        "remaining": decision.remaining,
        "limit": decision.limit,
        "retry_after_ms": decision.retry_after.map(millis),
        "reset_after_ms": millis(decision.reset_after),
        "refused_by": decision.refused_by,
    })
}

fn refused(args: &LimitArgs, decision: &Decision) -> String {
    let wait = duration::show(decision.retry_after.unwrap_or_default());
    format!("limited by {}: {} available, retry in {wait}", visible(&args.name), decision.remaining)
}

/// Why waiting does not help.
fn never(args: &LimitArgs, decision: &Decision) -> String {
    let name = visible(&args.name);
    match decision.limit {
        0 => format!("a rate of 0 for {name} never lets anything through"),
        most => format!("a cost of {} is more than {name} ever has at once: {most}", args.cost),
    }
}
