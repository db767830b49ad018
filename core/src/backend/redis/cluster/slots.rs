//! What a node says about the slots, read from its reply to CLUSTER SLOTS.

use redis::Value;

use crate::config::Address;

/// Slots from the first to the last, and the primary that serves them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) by: Address,
}

/// How many slots there are.
pub(super) const SLOTS: u16 = 16_384;

/// What a node that shows names says for another one that has none.
pub(in super::super) const NO_NAME: &str = "?";

/// Reads the reply of the node at `asked`: a node that does not know by which name it is reached leaves the name out. Ranges
/// without a usable address are left out, as if nobody served them. `None` if it is no such reply.
pub(super) fn read(reply: &Value, asked: &Address) -> Option<Vec<Served>> {
    let Value::Array(ranges) = reply else { return None };
    let mut served: Vec<Served> = ranges.iter().filter_map(|range| one(range, asked)).collect();
    served.sort_by_key(|range| range.first);
    // Each slot once.
    let mut next = 0_u32;
    served.retain(|range| {
        let fits = u32::from(range.first) >= next && range.first <= range.last && range.last < SLOTS;
        next = if fits { u32::from(range.last) + 1 } else { next };
        fits
    });
    Some(served)
}

fn one(range: &Value, asked: &Address) -> Option<Served> {
    let Value::Array(parts) = range else { return None };
    let [first, last, primary, ..] = parts.as_slice() else { return None };
    let Value::Array(primary) = primary else { return None };
    let [host, port, ..] = primary.as_slice() else { return None };
    let host = match host {
        Value::Nil => &asked.host,
        Value::BulkString(host) => match std::str::from_utf8(host).ok()? {
            "" => &asked.host,
            host => host,
        },
        _ => return None,
    };
    let by = Address::told(host, u16::try_from(int(port)?).ok()?).filter(|by| by.host != NO_NAME)?;
    Some(Served { first: slot(first)?, last: slot(last)?, by })
}

fn int(value: &Value) -> Option<i64> {
    if let Value::Int(number) = value { Some(*number) } else { None }
}

fn slot(value: &Value) -> Option<u16> {
    u16::try_from(int(value)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Address {
        Address { host: "asked".to_owned(), port: 1 }
    }

    fn range(first: i64, last: i64, host: Value, port: i64) -> Value {
        let primary = Value::Array(vec![host, Value::Int(port), Value::BulkString(b"id".to_vec())]);
        Value::Array(vec![Value::Int(first), Value::Int(last), primary])
    }

    fn named(host: &str) -> Value {
        Value::BulkString(host.as_bytes().to_vec())
    }

    fn read_all(ranges: Vec<Value>) -> Vec<(u16, u16, String)> {
        let read = read(&Value::Array(ranges), &asked()).unwrap();
        read.into_iter().map(|range| (range.first, range.last, range.by.to_string())).collect()
    }

    #[test]
    fn ranges_are_read_in_order_with_the_primary_of_each() {
        let ranges = vec![range(100, 16_383, named("b"), 7001), range(0, 99, Value::Nil, 7000)];
        assert_eq!(read_all(ranges), [(0, 99, "asked:7000".to_owned()), (100, 16_383, "b:7001".to_owned())]);
        assert_eq!(read_all(vec![range(0, 0, named(""), 7)]), [(0, 0, "asked:7".to_owned())]);
    }

    #[test]
    fn what_cannot_be_dialled_or_is_no_slot_serves_nothing() {
        for strange in [
            range(0, 9, named("?"), 7),
            range(0, 9, named("h\u{1b}[31m"), 7),
            range(0, 9, named("h"), 0),
            range(0, 9, named("h"), 70_000),
            range(9, 0, named("h"), 7),
            range(0, 16_384, named("h"), 7),
            range(-1, 4, named("h"), 7),
            Value::Array(vec![Value::Int(0), Value::Int(9)]),
            Value::Okay,
        ] {
            assert_eq!(read_all(vec![strange.clone()]), [], "{strange:?}");
        }
        assert_eq!(read_all(vec![range(0, 9, named("a"), 1), range(5, 12, named("b"), 2)]).len(), 1, "each slot once");
        assert_eq!(read(&Value::Okay, &asked()), None);
    }
}
