//! What is on the server when nobody wants anything: nothing of anybody who lives, and nothing for ever.

use std::collections::HashSet;

use libdlock_testkit::Server;

const MINUTE: i64 = 60_000;
/// The option's default: nobody sets another.
const TOKEN_TTL: i64 = 60 * MINUTE;

/// Everything that should not be there. `live` are the clients that are connected; what a dead one left in a queue may stay
/// for its minute.
pub fn leftovers(server: &Server, live: &HashSet<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    for key in server.keys() {
        let ttl = server.cmd(&["PTTL", &key]).int();
        let bound = if key.starts_with("redisson_lock_token:") { TOKEN_TTL } else { MINUTE };
        // -2: gone since.
        if ttl != -2 && !(1..=bound).contains(&ttl) {
            wrong.push(format!("{key} lives for {ttl} ms"));
        }
        let members = if key.starts_with("redisson_lock_token:") {
            continue;
        } else if key.starts_with("dlock_queue:") {
            server.cmd(&["ZRANGE", &key, "0", "-1"])
        } else if key.starts_with("dlock_seen:") {
            server.cmd(&["HKEYS", &key])
        } else {
            wrong.push(format!("{key} is held: {:?}", server.cmd(&["HGETALL", &key])));
            continue;
        };
        let members: Vec<&str> = members.array().iter().map(|m| m.text()).filter(|m| *m != "barged").collect();
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
