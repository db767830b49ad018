//! Which of the clients or servers is called 0 makes no difference: of all states that differ only in that, the checker need
//! visit one.

use stateright::Representative;

use super::state::{Answer, Owner, Slot, State};

impl Representative for State {
    /// The least of the states that have other names for the clients, with the servers in the order of all that refers to them.
    fn representative(&self) -> State {
        let orders = permutations(self.clients.len());
        orders.iter().map(|order| with_servers_in_order(with_clients(self, order))).min().expect("at least one order")
    }
}

/// The orders of so many things.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let with = |rest: Vec<usize>| {
        (0..n).map(move |at| {
            let mut order = rest.clone();
            order.insert(at, n - 1);
            order
        })
    };
    permutations(n - 1).into_iter().flat_map(with).collect()
}

/// Where each thing of an order has come to.
fn places(order: &[usize]) -> Vec<u8> {
    let mut places = vec![0; order.len()];
    for (to, from) in order.iter().enumerate() {
        places[*from] = to as u8;
    }
    places
}

fn with_clients(state: &State, order: &[usize]) -> State {
    let new = places(order);
    let owner = |owner: Owner| Owner { client: new[owner.client as usize], ..owner };
    let mut state = State { clients: order.iter().map(|c| state.clients[*c].clone()).collect(), ..state.clone() };
    for slot in state.clients.iter_mut().flat_map(|client| &mut client.slots) {
        if let Slot::Answered(Answer::Busy(by)) | Slot::Slow(Answer::Busy(by)) = slot {
            *by = owner(*by);
        }
    }
    for server in &mut state.servers {
        server.owner = server.owner.map(owner);
    }
    for late in &mut state.late {
        late.owner = owner(late.owner);
    }
    state.ghost.latest = state.ghost.latest.map(owner);
    state.ghost.alone = state.ghost.alone.map(|client| new[client as usize]);
    state
}

fn with_servers_in_order(mut state: State) -> State {
    let mut order: Vec<usize> = (0..state.servers.len()).collect();
    order.sort_by_cached_key(|s| {
        let bit = |bits: u8| bits & 1 << s != 0;
        let clients: Vec<_> = state.clients.iter().map(|c| (c.slots[*s], bit(c.granted), bit(c.unanswered))).collect();
        let owed = |debt: &&super::state::Debt| debt.server as usize == *s;
        let debts: Vec<_> = state
            .clients
            .iter()
            .enumerate()
            .flat_map(|(c, client)| client.debts.iter().filter(owed).map(move |debt| (c, debt.attempt, debt.due)))
            .collect();
        let late = state.late.iter().filter(|late| late.server as usize == *s);
        let late: Vec<_> = late.map(|late| (late.owner, late.ask, late.token, late.age)).collect();
        (state.servers[*s], clients, debts, late)
    });
    let new = places(&order);
    state.servers = order.iter().map(|s| state.servers[*s]).collect();
    for client in &mut state.clients {
        let mut slots = [Slot::Empty; super::config::MOST];
        let moved = |bits: u8| order.iter().enumerate().fold(0, |all, (to, from)| all | (bits >> from & 1) << to);
        for (to, from) in order.iter().enumerate() {
            slots[to] = client.slots[*from];
        }
        (client.granted, client.unanswered) = (moved(client.granted), moved(client.unanswered));
        client.slots = slots;
        for debt in &mut client.debts {
            debt.server = new[debt.server as usize];
        }
        client.debts.sort_unstable();
    }
    for late in &mut state.late {
        late.server = new[late.server as usize];
    }
    state.late.sort_unstable();
    state
}
