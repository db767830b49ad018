//! Generators of ids in blocks: opened by name, asked for the next ids.

use libdlock_bridge::{HandleKind, ops};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

#[napi]
impl Environment {
    /// The generator's handle. No I/O.
    #[napi(catch_unwind)]
    pub fn id_generator_open(&self, client: Given, name: String, block: i64, start: i64) -> Answer<Given> {
        answer("idGeneratorOpen", |state| {
            let generator = ops::id_generator_open(state, handle(client), name.as_bytes(), block, start)?;
            self.inner.lend(HandleKind::IdGenerator, generator);
            Ok(give(generator))
        })
    }

    #[napi(catch_unwind)]
    pub fn id_generator_block_size(&self, generator: Given) -> Answer<i64> {
        answer("idGeneratorBlockSize", |state| ops::id_generator_block_size(state, handle(generator)))
    }

    #[napi(catch_unwind)]
    pub fn id_generator_next_ids(&self, id: i64, generator: Given, count: i64) -> Answer<Given> {
        self.submit("idGeneratorNextIds", id, |state| ops::id_generator_next_ids(state, handle(generator), count))
    }
}
