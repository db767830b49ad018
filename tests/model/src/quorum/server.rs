//! The scripts of one server, as functions of its keys.

use super::config::{Config, DRIFT, LEASE, NOT_AFTER, TOKENS_PER_TICK};
use super::state::{Answer, Ask, Late, Server};

/// What a request did.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Effect {
    pub took: bool,
    pub freed: bool,
    pub raised: bool,
    pub void: bool,
}

/// A server that is up carries a request out.
pub fn carry_out(server: &mut Server, config: &Config, request: Late) -> (Answer, Effect) {
    let mut effect = Effect::default();
    let granted = match request.ask {
        Ask::Acquire => {
            effect.void = is_void(config, request.age);
            effect.took = !effect.void && take(server, request);
            effect.took
        }
        Ask::Raise => raise(server, config, request, &mut effect),
        Ask::Renew if server.owner == Some(request.owner) => {
            server.left = server.left.max(lease(server));
            true
        }
        // The lock is taken again by an acquire, and then the token is written there: two scripts, which are one here. What
        // lies between them is an acquire without an answer.
        Ask::Renew => {
            effect.void = is_void(config, request.age);
            effect.took = config.rules.heals && !effect.void && take(server, request);
            effect.took && raise(server, config, request, &mut effect)
        }
        Ask::Release { .. } => {
            let own = server.owner == Some(request.owner);
            effect.freed = server.owner.is_some() && (own || !config.rules.releases_its_own);
            if effect.freed {
                (server.owner, server.left) = (None, 0);
            }
            own
        }
    };
    let answer = match granted {
        true => Answer::Granted { token: server.token, counts: server.starting == 0 },
        false => match server.owner {
            Some(owner) if matches!(request.ask, Ask::Acquire | Ask::Renew) && !effect.void => Answer::Busy(owner),
            _ => Answer::Refused,
        },
    };
    (answer, effect)
}

/// Whether a server does not carry out an acquire of this age.
pub fn is_void(config: &Config, age: u8) -> bool {
    config.rules.not_after && age > NOT_AFTER
}

fn take(server: &mut Server, request: Late) -> bool {
    if server.owner.is_some() {
        return false;
    }
    (server.owner, server.left) = (Some(request.owner), lease(server));
    server.token = (server.clock.ahead * TOKENS_PER_TICK).max(server.token + 1);
    true
}

fn raise(server: &mut Server, config: &Config, request: Late, effect: &mut Effect) -> bool {
    let may = server.owner == Some(request.owner) || !config.rules.raises_for_the_owner;
    if may {
        effect.raised = server.token < request.token;
        server.token = server.token.max(request.token);
    }
    may
}

fn lease(server: &Server) -> u8 {
    if server.clock.fast { LEASE - DRIFT } else { LEASE }
}

/// Time passes. Whether a lease ended.
pub fn tick(server: &mut Server) -> bool {
    server.token = (server.token - TOKENS_PER_TICK).max(-1);
    server.starting = server.starting.saturating_sub(1);
    server.left = server.left.saturating_sub(1);
    server.left == 0 && server.owner.take().is_some()
}

/// It comes back without its data.
pub fn restart(server: &mut Server, config: &Config) {
    let starting = if config.rules.waits_after_a_restart { LEASE } else { 0 };
    *server = Server { clock: server.clock, up: true, owner: None, left: 0, token: -1, starting };
}
