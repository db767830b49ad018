//! One connection through the proxy: two lanes, each with a thread that reads and one that writes.
//!
//! Between the two stands a queue of pieces with the time at which each is due. So a delay lengthens the way without
//! narrowing it, and a black hole is a queue that nobody empties.

use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{Action, BOTH, Shared, Side, State, due};
use crate::{resp, sys};

/// What travels in a lane.
#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    /// The sender ended its direction in good order.
    End,
}

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<(Instant, Piece)>,
    /// Held for this connection alone, by a rule.
    held: bool,
    /// Nothing more will be written.
    done: bool,
}

/// One connection through the proxy.
#[derive(Debug)]
pub(super) struct Link {
    client: Arc<TcpStream>,
    server: Arc<TcpStream>,
    lanes: [Lane; 2],
    /// Reset both ends after this many more bytes of replies.
    cut_after: Option<usize>,
    /// The client was told that it is over; what it has sent still arrives.
    forsaken: bool,
    dead: bool,
}

impl Link {
    pub(super) fn new(client: TcpStream, server: TcpStream) -> Self {
        Self {
            client: Arc::new(client),
            server: Arc::new(server),
            lanes: Default::default(),
            cut_after: None,
            forsaken: false,
            dead: false,
        }
    }

    pub(super) fn reset(&mut self) {
        self.dead = true;
        sys::reset(&self.client);
        sys::reset(&self.server);
    }

    /// Resets the client's end alone.
    pub(super) fn forsake(&mut self) {
        self.forsaken = true;
        sys::reset(&self.client);
    }

    /// What a broken end means for the other one.
    fn broken(&mut self) {
        if self.forsaken {
            self.lanes[Side::Replies as usize].done = true;
        } else {
            self.reset();
        }
    }

    pub(super) fn half_close(&mut self, side: Side) {
        let _ = self.destination(side).shutdown(Shutdown::Write);
        self.lanes[side as usize].done = true;
    }

    pub(super) fn heal(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.held = false);
    }

    fn source(&self, side: Side) -> &Arc<TcpStream> {
        match side {
            Side::Requests => &self.client,
            Side::Replies => &self.server,
        }
    }

    fn destination(&self, side: Side) -> &Arc<TcpStream> {
        match side {
            Side::Requests => &self.server,
            Side::Replies => &self.client,
        }
    }
}

pub(super) fn start_threads(shared: &Arc<Shared>, id: u64) {
    for side in BOTH {
        let Some(source) = shared.state().links.get(&id).map(|link| link.source(side).clone()) else { return };
        let (reader, writer) = (shared.clone(), shared.clone());
        thread::spawn(move || read_lane(&reader, id, side, &source));
        thread::spawn(move || {
            write_lane(&writer, id, side);
            writer.change(|state| close_if_done(state, id, side));
        });
    }
}

/// A connection is over when both its lanes are.
fn close_if_done(state: &mut State, id: u64, side: Side) {
    let Some(link) = state.links.get_mut(&id) else { return };
    link.lanes[side as usize].done = true;
    if link.dead || link.lanes.iter().all(|lane| lane.done) {
        link.dead = true;
        state.links.remove(&id);
    }
}

/// Moves bytes from a socket into the lane's queue until the sender has ended or the connection is broken.
fn read_lane(shared: &Shared, id: u64, side: Side, mut source: &TcpStream) {
    let mut buffer = vec![0; 64 * 1024];
    let mut pending = Vec::new();
    loop {
        let read = source.read(&mut buffer);
        let alive = shared.change(|state| {
            match &read {
                Ok(0) => push(state, id, side, Piece::End),
                Ok(n) if side == Side::Replies => push(state, id, side, Piece::Bytes(buffer[..*n].to_vec())),
                Ok(n) => {
                    pending.extend_from_slice(&buffer[..*n]);
                    pass_commands(state, id, &mut pending);
                }
                // what came before the break still arrives, when the other end is to know nothing of it
                Err(_) if state.links.get(&id).is_some_and(|link| link.forsaken) => push(state, id, side, Piece::End),
                // otherwise the other end sees what this end saw
                Err(_) => state.links.get_mut(&id).into_iter().for_each(Link::reset),
            }
            state.links.get(&id).is_some_and(|link| !link.dead)
        });
        if !alive || !matches!(read, Ok(1..)) {
            return;
        }
    }
}

/// Sends every complete command in `pending` on its way, by the rules.
fn pass_commands(state: &mut State, id: u64, pending: &mut Vec<u8>) {
    loop {
        let (length, action) = match resp::decode_command(pending) {
            Ok(None) => return,
            Ok(Some(command)) => (command.length, state.rules.meet(id, &command.args)),
            // no RESP: not ours to understand
            Err(resp::NotResp) => (pending.len(), Action::Pass),
        };
        let Some(link) = state.links.get_mut(&id) else { return };
        match action {
            Action::Pass => {}
            Action::Refuse => return link.reset(),
            Action::CutReply(bytes) => link.cut_after = Some(bytes),
            Action::HoldRequest => link.lanes[Side::Requests as usize].held = true,
            Action::HoldReply => link.lanes[Side::Replies as usize].held = true,
        }
        let bytes = pending.drain(..length).collect();
        push(state, id, Side::Requests, Piece::Bytes(bytes));
        if pending.is_empty() {
            return;
        }
    }
}

fn push(state: &mut State, id: u64, side: Side, piece: Piece) {
    let due = due(&state.weather[side as usize]);
    if let Some(link) = state.links.get_mut(&id) {
        link.lanes[side as usize].queue.push_back((due, piece));
    }
}

/// Moves pieces that are due from the lane's queue into the other socket until the lane is over.
fn write_lane(shared: &Shared, id: u64, side: Side) {
    while let Some((piece, mut socket)) = next_piece(shared, id, side).as_ref().map(|(p, s)| (p, &**s)) {
        let Piece::Bytes(bytes) = piece else {
            let _ = socket.shutdown(Shutdown::Write);
            return;
        };
        let (allowed, cut) = shared.change(|state| allowance(state, id, side, bytes.len()));
        for part in parts(shared, side, &bytes[..allowed]) {
            if socket.write_all(part).is_err() {
                shared.change(|state| state.links.get_mut(&id).into_iter().for_each(Link::broken));
                return;
            }
        }
        if cut {
            shared.change(|state| state.links.get_mut(&id).into_iter().for_each(Link::reset));
            return;
        }
    }
}

/// Waits until a piece may leave; `None` when the lane is over.
fn next_piece(shared: &Shared, id: u64, side: Side) -> Option<(Piece, Arc<TcpStream>)> {
    let mut state = shared.state();
    loop {
        let held = state.weather[side as usize].held;
        let link = state.links.get_mut(&id).filter(|link| !link.dead)?;
        let lane = &mut link.lanes[side as usize];
        if lane.done {
            return None;
        }
        let now = Instant::now();
        let wait = match lane.queue.front() {
            Some((due, _)) if !held && !lane.held => due.saturating_duration_since(now),
            _ => Duration::from_secs(3600),
        };
        if wait.is_zero() {
            let piece = lane.queue.pop_front()?.1;
            return Some((piece, link.destination(side).clone()));
        }
        state = shared.changed.wait_timeout(state, wait).unwrap_or_else(|e| e.into_inner()).0;
    }
}

/// How many of `length` bytes may still pass, and whether the connection is to be reset after them.
fn allowance(state: &mut State, id: u64, side: Side, length: usize) -> (usize, bool) {
    let cut_after = state.links.get_mut(&id).map(|link| &mut link.cut_after).filter(|_| side == Side::Replies);
    let (allowed, cut) = match cut_after {
        Some(Some(left)) if *left <= length => (*left, true),
        Some(Some(left)) => {
            *left -= length;
            (length, false)
        }
        _ => (length, false),
    };
    state.bytes[side as usize] += allowed as u64;
    (allowed, cut)
}

/// Cuts bytes into what may pass in one go, pausing between the parts as throttling asks.
fn parts<'a>(shared: &'a Shared, side: Side, bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let rate = shared.state().weather[side as usize].bytes_per_second;
    // a hundredth of a second's worth at a time
    let size = rate.map_or(bytes.len(), |rate| (rate / 100) as usize).max(1);
    bytes.chunks(size).inspect(move |part| {
        if let Some(rate) = rate {
            thread::sleep(Duration::from_secs_f64(part.len() as f64 / rate as f64));
        }
    })
}
