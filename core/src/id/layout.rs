//! How an id is put together: which bits hold what, and since when time counts.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// The bits of an id, from the high end: zeros, time, datacenter, worker, sequence.
///
/// Ids of different layouts must not be mixed under one name: nothing in an id says which layout it has.
///
/// ```
/// use libdlock::id::Layout;
///
/// let twitter = Layout::named("twitter")?;
/// assert_eq!(twitter.decode(1_212_092_628_029_698_048)?.worker, 7);
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// When time begins, in milliseconds since 1970: 0 to 253,402,300,799,999 (the end of the year 9999).
    pub epoch_ms: i64,
    /// Bits of the milliseconds since then: 1 to 48. 41 last 69 years.
    pub time_bits: u32,
    /// Bits of the datacenter's number: 0 to 31.
    pub datacenter_bits: u32,
    /// Bits of the worker's number: 0 to 31.
    pub worker_bits: u32,
    /// Bits of the count within a millisecond: 0 to 31. 12 are 4,096 ids a millisecond.
    pub sequence_bits: u32,
}

/// What an id says.
///
/// ```
/// let ids = libdlock::Snowflake::new(1, 7)?;
/// let parts = ids.decode(ids.next_id()?)?;
/// assert_eq!((parts.datacenter, parts.worker), (1, 7));
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// When it was made, in milliseconds since 1970.
    pub time_ms: i64,
    /// The datacenter's number.
    pub datacenter: u32,
    /// The worker's number.
    pub worker: u32,
    /// Sequence number within the millisecond, from 0.
    pub sequence: u32,
}

/// The end of the year 9999.
const LAST_EPOCH_MS: i64 = 253_402_300_799_999;

/// The names of the layouts that have one.
const NAMED: [(&str, Layout); 3] = [("default", Layout::DEFAULT), ("twitter", Layout::TWITTER), ("js53", Layout::JS53)];

impl Layout {
    /// 41 bits of time since 2015-01-01 00:00 in UTC+8 (to 2084), 32 datacenters of 32 workers, 4,096 ids a millisecond.
    pub const DEFAULT: Layout =
        Layout { epoch_ms: 1_420_041_600_000, time_bits: 41, datacenter_bits: 5, worker_bits: 5, sequence_bits: 12 };

    /// Twitter's: as the default, since 2010-11-04 01:42:54.657 UTC (to 2080).
    pub const TWITTER: Layout = Layout { epoch_ms: 1_288_834_974_657, ..Layout::DEFAULT };

    /// 53 bits, so that a JavaScript number holds an id exactly: 41 of time since the same, no datacenter, 32 workers, 128
    /// ids a millisecond.
    pub const JS53: Layout = Layout { datacenter_bits: 0, sequence_bits: 7, ..Layout::DEFAULT };

    /// The layout called `name`: `default`, `twitter`, `js53`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for any other name.
    pub fn named(name: &str) -> Result<Layout> {
        NAMED.iter().find(|(known, _)| *known == name).map(|(_, layout)| *layout).ok_or_else(|| {
            let known = NAMED.map(|(known, _)| known).join(", ");
            refuse("layout", format!("there is no layout {name:?}"), known)
        })
    }

    /// Takes an id apart. Any id that fits is taken apart, also one that no generator of this layout made.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the id is negative or has more bits than the layout, or the layout is none.
    pub fn decode(&self, id: i64) -> Result<Parts> {
        let fields = self.fields()?;
        let last = fields.last_id();
        let known = u64::try_from(id).ok().filter(|id| *id <= last);
        let id =
            known.ok_or_else(|| refuse("decode", format!("the id is {id}"), format!("0 to {last} in this layout")))?;
        let part = |shift: u32, bits: u32| ((id >> shift) & ((1 << bits) - 1)) as u32;
        Ok(Parts {
            time_ms: self.epoch_ms + (id >> fields.time_shift) as i64,
            datacenter: part(fields.datacenter_shift, self.datacenter_bits),
            worker: part(self.sequence_bits, self.worker_bits),
            sequence: part(0, self.sequence_bits),
        })
    }

    /// The layout checked, with what is computed from it.
    pub(super) fn fields(&self) -> Result<Fields> {
        let check = |what: &str, given: i64, low: i64, high: i64| {
            if (low..=high).contains(&given) {
                return Ok(());
            }
            Err(refuse("layout", format!("{what} is {given}"), format!("{low} to {high}")))
        };
        check("the epoch in ms since 1970", self.epoch_ms, 0, LAST_EPOCH_MS)?;
        check("the number of time bits", self.time_bits.into(), 1, 48)?;
        for (what, bits) in [
            ("the number of datacenter bits", self.datacenter_bits),
            ("the number of worker bits", self.worker_bits),
            ("the number of sequence bits", self.sequence_bits),
        ] {
            check(what, bits.into(), 0, 31)?;
        }
        let datacenter_shift = self.sequence_bits + self.worker_bits;
        let time_shift = datacenter_shift + self.datacenter_bits;
        check("the number of all bits", (time_shift + self.time_bits).into(), 1, 63)?;
        Ok(Fields { layout: *self, datacenter_shift, time_shift })
    }
}

/// A layout that has been checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub(super) layout: Layout,
    datacenter_shift: u32,
    time_shift: u32,
}

impl Fields {
    /// The bits that all ids of one worker share.
    ///
    /// # Errors
    /// `InvalidArgument` for a number that does not fit.
    pub(super) fn place(&self, datacenter: u64, worker: u64) -> Result<u64> {
        let check = |what: &str, given: u64, bits: u32| {
            let last = (1_u64 << bits) - 1;
            if given <= last {
                return Ok(());
            }
            Err(refuse("snowflake", format!("the {what} is {given}"), format!("0 to {last} in this layout")))
        };
        check("datacenter", datacenter, self.layout.datacenter_bits)?;
        check("worker", worker, self.layout.worker_bits)?;
        Ok(datacenter << self.datacenter_shift | worker << self.layout.sequence_bits)
    }

    /// The id of `slot` (see `slots.rs`) in `place`.
    pub(super) fn id(&self, slot: u64, place: u64) -> i64 {
        let sequence = slot & ((1 << self.layout.sequence_bits) - 1);
        let time = slot >> self.layout.sequence_bits;
        // At most 63 bits, so never negative.
        (time << self.time_shift | place | sequence) as i64
    }

    /// The last millisecond that the layout has, since its epoch.
    pub(super) fn last_ms(&self) -> u64 {
        (1 << self.layout.time_bits) - 1
    }

    fn last_id(&self) -> u64 {
        (1 << (self.time_shift + self.layout.time_bits)) - 1
    }

    /// `unix_ms` as the layout counts it.
    ///
    /// # Errors
    /// `Clock` outside of what the layout has.
    pub(super) fn since_epoch(&self, unix_ms: u64) -> Result<u64> {
        // Not negative: `Layout::fields` checked it.
        let epoch = self.layout.epoch_ms as u64;
        unix_ms.checked_sub(epoch).filter(|ms| *ms <= self.last_ms()).ok_or_else(|| {
            let end = epoch + self.last_ms();
            let message = format!("the clock shows {unix_ms} ms since 1970; this layout has {epoch} to {end}");
            // Past the end, none.
            let until = epoch.checked_sub(unix_ms).map(Duration::from_millis);
            Error::new(ErrorKind::Clock, "next id", message).retry_in(until)
        })
    }
}

pub(super) fn refuse(op: &'static str, what: String, allowed: String) -> Error {
    Error::refused(ErrorKind::InvalidArgument, op, what, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::tests::{number, vectors};

    fn layout(row: &serde_json::Value) -> Layout {
        let given = &row["layout"];
        given.as_str().map_or_else(|| custom(given), |name| Layout::named(name).unwrap())
    }

    fn custom(row: &serde_json::Value) -> Layout {
        let bits = |name: &str| row[name].as_u64().unwrap() as u32;
        Layout {
            epoch_ms: row["epoch_ms"].as_i64().unwrap(),
            time_bits: bits("time_bits"),
            datacenter_bits: bits("datacenter_bits"),
            worker_bits: bits("worker_bits"),
            sequence_bits: bits("sequence_bits"),
        }
    }

    #[test]
    fn the_named_layouts_are_those_of_the_vectors() {
        let rows = vectors("layouts");
        assert_eq!(rows.len(), NAMED.len());
        for row in rows {
            assert_eq!(Layout::named(row["name"].as_str().unwrap()).unwrap(), custom(&row));
        }
        let error = Layout::named("Default").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("default, twitter, js53"), "{error}");
    }

    #[test]
    fn ids_come_apart_as_in_every_language_and_together_again() {
        for row in vectors("decode") {
            let layout = layout(&row);
            let id = number(&row["id"]);
            let parts = layout.decode(id).unwrap();
            let field = |name: &str| row[name].as_i64().unwrap();
            assert_eq!(parts.time_ms, field("time_ms"), "{row}");
            let small = [parts.datacenter, parts.worker, parts.sequence].map(i64::from);
            assert_eq!(small, [field("datacenter"), field("worker"), field("sequence")], "{row}");
            let fields = layout.fields().unwrap();
            let place = fields.place(parts.datacenter.into(), parts.worker.into()).unwrap();
            let ms = fields.since_epoch(parts.time_ms as u64).unwrap();
            assert_eq!(fields.id(ms << layout.sequence_bits | u64::from(parts.sequence), place), id, "{row}");
        }
    }

    #[test]
    fn an_id_outside_of_the_layout_is_refused_with_value_and_range() {
        for row in vectors("decode_refused") {
            let error = layout(&row).decode(number(&row["id"])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{row}");
            assert!(error.message().contains(row["id"].as_str().unwrap()), "{error}");
            assert!(error.message().contains("0 to "), "{error}");
        }
    }

    #[test]
    fn a_layout_that_cannot_be_is_refused_with_value_and_range() {
        for row in vectors("layouts_refused") {
            let error = layout(&row).decode(0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{row}");
            assert!(error.message().contains("; allowed: "), "{error}");
        }
    }

    #[test]
    fn a_place_that_does_not_fit_is_refused() {
        let fields = Layout::DEFAULT.fields().unwrap();
        assert!(fields.place(31, 31).is_ok());
        for (datacenter, worker) in [(32, 0), (0, 32), (u64::MAX, 0), (0, u64::MAX)] {
            let error = fields.place(datacenter, worker).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(&datacenter.max(worker).to_string()), "{error}");
            assert!(error.message().contains("0 to 31"), "{error}");
        }
        assert!(Layout::JS53.fields().unwrap().place(1, 0).is_err(), "there are no bits for a datacenter");
    }

    #[test]
    fn time_outside_of_the_layout_is_a_clock_error_with_the_range() {
        let fields = Layout::TWITTER.fields().unwrap();
        let epoch = Layout::TWITTER.epoch_ms as u64;
        assert_eq!(fields.since_epoch(epoch).unwrap(), 0);
        assert_eq!(fields.since_epoch(epoch + fields.last_ms()).unwrap(), fields.last_ms());
        for outside in [0, epoch - 1, epoch + fields.last_ms() + 1, u64::MAX] {
            let error = fields.since_epoch(outside).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Clock);
            let range = format!("{epoch} to {}", epoch + fields.last_ms());
            assert!(error.message().contains(&range), "{error}");
            assert!(error.message().contains(&outside.to_string()), "{error}");
        }
    }
}
