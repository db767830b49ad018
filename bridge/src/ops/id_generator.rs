//! Ids in blocks: generators opened by name, and their next ids.

use std::sync::Arc;

use libdlock::Result;
use libdlock::id_generator::IdGeneratorOptions;

use super::args;
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::IdGeneratorEntry;
use crate::outcome::Ids;
use crate::state::State;

impl HandleEnd for IdGeneratorEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.client.clone())
    }
}

/// The generator `name` of `client`. `block` and `start` count where the server knows none. No I/O.
///
/// # Errors
/// `InvalidName`, `InvalidArgument` for the block, `Closed`.
pub fn id_generator_open(state: &State, client: Handle, name: &[u8], block: i64, start: i64) -> Result<Handle> {
    let op = "id generator";
    let client = state.get::<ClientEntry>(client, op)?;
    let name = libdlock::embed::name_from_utf8(name)?;
    let block = args::count(block, "a block of", "1 to 9007199254740991", op).map_err(|error| error.on(name))?;
    let options = IdGeneratorOptions::default().block(block).start(start);
    let ids = client.client.id_generator_with(name, options)?;
    state.insert(Arc::new(IdGeneratorEntry { ids, client }))
}

/// The name that it was made with.
pub fn id_generator_name(state: &State, generator: Handle) -> Result<String> {
    Ok(find(state, generator, "name")?.ids.name().to_owned())
}

/// The name on the server, as errors say it.
pub fn id_generator_key(state: &State, generator: Handle) -> Result<String> {
    Ok(find(state, generator, "name")?.ids.key().to_owned())
}

/// How many ids a block has, as far as this client knows.
pub fn id_generator_block_size(state: &State, generator: Handle) -> Result<i64> {
    Ok(find(state, generator, "block size")?.ids.block_size().cast_signed())
}

/// The next id. Complete at once as long as the process has one.
///
/// # Errors and cancel safety
/// As `IdGenerator::next_id` of core.
pub async fn id_generator_next_id(state: &'static State, generator: Handle) -> Result<i64> {
    find(state, generator, "next id")?.ids.next_id().await
}

/// The next `count` ids, 1 to 1,000,000.
///
/// # Errors and cancel safety
/// As `IdGenerator::next_ids` of core.
pub async fn id_generator_next_ids(state: &'static State, generator: Handle, count: i64) -> Result<Ids> {
    let op = "next ids";
    let entry = find(state, generator, op)?;
    let count = args::count(count, "a batch of", "1 to 1000000", op).map_err(|error| error.on(entry.ids.key()))?;
    entry.ids.next_ids(usize::try_from(count).unwrap_or(usize::MAX)).await.map(Ids)
}

fn find(state: &State, generator: Handle, op: &'static str) -> Result<Arc<IdGeneratorEntry>> {
    state.get(generator, op)
}
