//! Ids: made, taken apart, written. Nothing here waits for I/O, so nothing goes through the port.

use libdlock::Result;
use libdlock::id::{Layout as CoreLayout, Parts as CoreParts};
use libdlock_bridge::ops::{self, SnowflakeArgs};
use libdlock_bridge::{HandleKind, enter, guard};
use napi::bindgen_prelude::{BigInt, BigInt64Array, Either, i64n};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, handle};

/// A generator. It has no environment: ids need no loop, and the handle goes with the JavaScript object.
#[napi]
pub struct Generator {
    handle: u64,
}

/// Which bits of an id hold what.
#[napi(object, object_to_js = false)]
pub struct Layout {
    pub epoch_ms: i64,
    pub time_bits: i64,
    pub datacenter_bits: i64,
    pub worker_bits: i64,
    pub sequence_bits: i64,
}

/// What an id says.
#[napi(object, object_from_js = false)]
pub struct Parts {
    pub time_ms: i64,
    pub datacenter: u32,
    pub worker: u32,
    pub sequence: u32,
}

/// A layout's name, or one of the caller's own.
type AnyLayout = Either<String, Layout>;

fn layout(given: &AnyLayout) -> Result<CoreLayout> {
    match given {
        Either::A(name) => ops::layout_named(name.as_bytes()),
        Either::B(own) => {
            ops::layout(own.epoch_ms, [own.time_bits, own.datacenter_bits, own.worker_bits, own.sequence_bits])
        }
    }
}

#[napi]
impl Generator {
    /// The next id. Blocks for less than a millisecond when those of this millisecond are used up.
    #[napi(catch_unwind)]
    pub fn next_id(&self) -> Answer<i64n> {
        answer("nextId", |state| ops::snowflake_next_id(state, self.handle).map(i64n))
    }

    /// The next `count` ids. Blocks as long as the layout makes it take.
    #[napi(catch_unwind)]
    pub fn next_ids(&self, count: i64) -> Answer<BigInt64Array> {
        answer("nextIds", |state| ops::snowflake_next_ids(state, self.handle, count).map(BigInt64Array::new))
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // With the JavaScript object, or with its environment: there is nobody to tell.
        let _ = guard("generatorEnd", || enter()?.free(HandleKind::Snowflake, self.handle));
    }
}

/// A generator for `datacenter` and `worker`. Lengths of time are in ms.
#[napi(catch_unwind)]
pub fn snowflake_open(
    datacenter: i64,
    worker: i64,
    given: AnyLayout,
    borrow_ahead_ms: i64,
    start_wait_ms: Option<i64>,
) -> Answer<Generator> {
    answer("snowflakeOpen", |state| {
        let layout = Some(layout(&given)?);
        let args = SnowflakeArgs { datacenter, worker, layout, borrow_ahead_ms, start_wait_ms };
        Ok(Generator { handle: ops::snowflake_open(state, args)? })
    })
}

/// A generator under a worker number, by the handle of its hold.
#[napi(catch_unwind)]
pub fn worker_snowflake(held: Given, given: AnyLayout) -> Answer<Generator> {
    answer("workerSnowflake", |state| {
        Ok(Generator { handle: ops::worker_snowflake(state, handle(held), Some(layout(&given)?))? })
    })
}

/// Takes an id of that layout apart.
#[napi(catch_unwind)]
pub fn id_decode(id: BigInt, given: AnyLayout) -> Answer<Parts> {
    answer("idDecode", |_| layout(&given)?.decode(number(&id)).map(Parts::from))
}

/// Writes an id in base 10, 32, 36, 58 or 62.
#[napi(catch_unwind)]
pub fn id_encode(id: BigInt, base: i64) -> Answer<String> {
    answer("idEncode", |_| ops::id_encode(number(&id), base))
}

/// Reads what `id_encode` wrote.
#[napi(catch_unwind)]
pub fn id_parse(text: String, base: i64) -> Answer<i64n> {
    answer("idParse", |_| ops::id_parse(text.as_bytes(), base).map(i64n))
}

/// JavaScript has made sure that it fits.
fn number(id: &BigInt) -> i64 {
    id.get_i64().0
}

impl From<CoreParts> for Parts {
    fn from(parts: CoreParts) -> Self {
        let CoreParts { time_ms, datacenter, worker, sequence } = parts;
        Parts { time_ms, datacenter, worker, sequence }
    }
}
