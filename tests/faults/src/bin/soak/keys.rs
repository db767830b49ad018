//! What is on the server when nobody wants anything: nothing of anybody who lives, nothing for ever, and every permit.

use std::collections::HashSet;

use libdlock_faults::soak::contended::Contended;
use libdlock_testkit::{Reply, Server};

use crate::storm::insist;

const MINUTE: i64 = 60_000;
/// In front of the names of what counts: the requests that were carried out.
const DONE: &str = "dlock_counting_done:";
const LATCH_DONE: &str = "dlock_latch_done:";
/// The option's default: nobody sets another.
const TOKEN_TTL: i64 = 60 * MINUTE;
/// A semaphore lives on for so long after its last use, and the longest lease.
const SEMAPHORE_TTL: i64 = 24 * 60 * MINUTE + 2_000;

/// Everything that should not be there. `live` are the clients that are connected; what a dead one left in a queue may stay
/// for its minute.
pub fn leftovers(server: &Server, contended: &[Contended], live: &HashSet<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    for what in contended.iter().filter(|what| what.permits().is_some()) {
        wrong.extend(permits_missing(server, what));
    }
    let of_semaphores: HashSet<String> = contended
        .iter()
        .filter(|what| what.permits().is_some())
        .flat_map(|what| [what.name.clone(), what.taken()])
        .collect();
    let counting: HashSet<&str> = contended.iter().filter(|c| c.counted().is_some()).map(|c| &*c.name).collect();
    let beside = |word| contended.iter().map(|what| what.beside(word)).collect::<HashSet<String>>();
    let (queues, seen) = (beside("queue"), beside("seen"));
    for key in server.keys().into_iter().filter(|key| !counting.contains(&**key)) {
        let ttl = server.cmd(&["PTTL", &key]).int();
        let stays = of_semaphores.contains(&key);
        let bound = match key.starts_with("redisson_lock_token:") {
            true => TOKEN_TTL,
            false if stays => SEMAPHORE_TTL,
            // What was counted.
            false if is_done(&key) => 2 * MINUTE,
            false => MINUTE,
        };
        // -2: gone since.
        if ttl != -2 && !(1..=bound).contains(&ttl) {
            wrong.push(format!("{key} lives for {ttl} ms"));
        }
        let members = if stays || key.starts_with("redisson_lock_token:") || is_done(&key) {
            continue;
        } else if queues.contains(&key) {
            server.cmd(&["ZRANGE", &key, "0", "-1"])
        } else if seen.contains(&key) {
            server.cmd(&["HKEYS", &key])
        } else {
            wrong.push(format!("{key} is held: {:?}", server.cmd(&["HGETALL", &key])));
            continue;
        };
        let members = members.array().iter().map(|m| m.text()).filter(|m| *m != "barged");
        let members: Vec<&str> = members.map(|m| m.strip_prefix("want:").unwrap_or(m)).collect();
        let alive: Vec<_> = members.iter().filter(|member| live.contains(**member)).collect();
        if !alive.is_empty() || members.is_empty() && ttl != -2 {
            wrong.push(format!("{key} has {members:?}; of these live {alive:?}"));
        }
    }
    for channel in server.cmd(&["PUBSUB", "CHANNELS"]).array() {
        let inbox = channel.text().strip_prefix("dlock_inbox:");
        if !inbox.is_some_and(|client| live.contains(client)) {
            wrong.push(format!("somebody listens on {}", channel.text()));
        }
    }
    wrong
}

/// What is wrong with the permits of a semaphore of which nobody holds any. Those that have expired count as available: whoever
/// asks next takes them back.
fn permits_missing(server: &Server, what: &Contended) -> Option<String> {
    // At one instant.
    let script = "local now = redis.call('TIME') \
         local ms = now[1] * 1000 + math.floor(now[2] / 1000) \
         return {redis.call('GET', KEYS[1]), redis.call('ZCARD', KEYS[2]), redis.call('ZCOUNT', KEYS[2], '-inf', ms)}";
    let seen = server.cmd(&["EVAL", script, "2", &what.name, &what.taken()]);
    let [available, taken, expired] = seen.array() else { return Some(format!("{}: {seen:?}", what.name)) };
    let (taken, expired) = (taken.int(), expired.int());
    // One that is not there the next acquire makes, with all its permits.
    let all = match available {
        Reply::Nil => i64::from(what.permits()?) - taken,
        available => available.text().parse().expect("a number"),
    } + taken;
    let is_whole = taken == expired && Some(all) == what.permits().map(i64::from);
    (!is_whole).then(|| format!("{what}: {available:?} available, {taken} taken, of these {expired} expired"))
}

fn is_done(key: &str) -> bool {
    key.starts_with(DONE) || key.starts_with(LATCH_DONE)
}

/// Takes away the counts of latches whose names begin so; what they were.
pub fn counts(server: &Server, name: &str) -> Vec<String> {
    let counts: Vec<String> = server.keys().into_iter().filter(|key| key.starts_with(&format!("{name}-"))).collect();
    counts.iter().for_each(|key| drop(insist(server, &["DEL", key])));
    counts
}

/// How many permits a counting semaphore has; nothing if it is not there.
pub fn available(server: &Server, name: &str) -> Option<i64> {
    match server.cmd(&["GET", name]) {
        Reply::Nil => None,
        available => Some(available.text().parse().expect("a number")),
    }
}

/// It has so many. What was acquired until now nobody gives back any more: it is forgotten.
pub fn set_available(server: &Server, name: &str, permits: u32) {
    let script = "redis.call('DEL', KEYS[2]) redis.call('SET', KEYS[1], ARGV[1])";
    insist(server, &["EVAL", script, "2", name, &format!("{DONE}{{{name}}}"), &permits.to_string()]);
}
