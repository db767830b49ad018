//! What the servers show of a lock, put together.

use std::collections::HashMap;
use std::sync::Arc;

use super::Reasons;
use crate::backend::{Answer, Failed, Quorum};
use crate::lock::step::{Inspect, Inspected};
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::Tick;

/// Reads it at all servers. It is held by whom a majority shows, for as long as a majority will; the token is the greatest that
/// any server has.
pub(in crate::lock) async fn inspect(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    deadline: Tick,
) -> Result<Inspected, Failed> {
    let (needed, mut why, mut seen) = (quorum.majority(), Reasons::default(), Vec::new());
    let mut round = quorum.ask(name, &Inspect, quorum.all(), deadline);
    let mut note = |answer: Answer<Inspected>, open: usize| {
        match answer.outcome {
            Ok(done) => seen.push(done.reply),
            Err(failed) => why.failed(answer.server, failed),
        }
        seen.len() >= needed && is_clear(&seen, open, needed)
    };
    round.read(Tick::NEVER, &mut note).await;
    // The rest may know a greater token.
    let soon = round.soon();
    round
        .read(soon, |answer, open| {
            note(answer, open);
            false
        })
        .await;
    if seen.len() < needed { Err(why.too_few(quorum, Inspect::OP, name)) } else { Ok(together(seen, needed)) }
}

/// Whether the answers that are missing can make no holder of one that is none yet.
fn is_clear(seen: &[Inspected], open: usize, needed: usize) -> bool {
    let fields = |holder: &String| seen.iter().filter(|server| server.holder.as_ref() == Some(holder)).count();
    let most = seen.iter().filter_map(|server| server.holder.as_ref()).map(fields).max().unwrap_or(0);
    most >= needed || most + open < needed
}

/// The answers of a majority or more as one. No process waits in a queue.
fn together(seen: Vec<Inspected>, needed: usize) -> Inspected {
    let mut held: HashMap<String, Vec<i64>> = HashMap::new();
    let mut token: Option<(u64, String)> = None;
    for server in seen {
        if let Some(holder) = server.holder {
            // A key without expiry lasts longest.
            held.entry(holder).or_default().push(if server.ttl == -1 { i64::MAX } else { server.ttl });
        }
        if let Some(text) = server.token {
            let number = text.parse().unwrap_or(0);
            if token.as_ref().is_none_or(|(greatest, _)| *greatest < number) {
                token = Some((number, text));
            }
        }
    }
    let holder = held.into_iter().find(|(_, left)| left.len() >= needed);
    let (holder, ttl) = match holder {
        Some((holder, mut left)) => {
            left.sort_unstable_by(|a, b| b.cmp(a));
            // From then on fewer than a majority show it.
            (Some(holder), if left[needed - 1] == i64::MAX { -1 } else { left[needed - 1] })
        }
        None => (None, -2),
    };
    Inspected { holder, ttl, token: token.map(|(_, text)| text), queued: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(holder: Option<&str>, ttl: i64, token: Option<&str>) -> Inspected {
        Inspected { holder: holder.map(str::to_owned), ttl, token: token.map(str::to_owned), queued: 0 }
    }

    #[test]
    fn a_lock_is_held_by_whom_a_majority_shows() {
        let a = |ttl| server(Some("a:1"), ttl, Some("7"));
        let seen = vec![a(900), server(Some("b:1"), 50, Some("9")), a(-1), a(300), server(None, -2, None)];
        assert_eq!(together(seen, 3), server(Some("a:1"), 300, Some("9")), "until a majority no longer shows it");
        let split = vec![a(900), server(Some("b:1"), 50, None), server(None, -2, Some("text"))];
        assert_eq!(together(split, 2), server(None, -2, Some("7")), "a minority is no holder");
        assert_eq!(together(vec![a(-1), a(-1), a(5)], 2), server(Some("a:1"), -1, Some("7")));
    }
}
