//! From the redis crate's values to the replies that steps decode.

use redis::Value;

use crate::step::Reply;

/// 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Converts by move: strings keep their buffers, and lists theirs where the standard library can collect in place.
pub(super) fn reply(value: Value) -> Reply {
    match value {
        Value::Nil => Reply::Nil,
        Value::Int(number) => Reply::Int(number),
        Value::BulkString(bytes) => Reply::Bytes(bytes),
        Value::SimpleString(text) => Reply::Bytes(text.into_bytes()),
        Value::VerbatimString { text, .. } => Reply::Bytes(text.into_bytes()),
        // A score, where the protocol has doubles. Whole ones are exact up to there.
        Value::Double(number) if number.fract() == 0.0 && number.abs() <= EXACT => Reply::Int(number as i64),
        Value::Array(items) => Reply::List(items.into_iter().map(reply).collect()),
        _ => Reply::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strings_of_a_reply_are_moved() {
        let holders: Vec<Value> = (0..200).map(|_| Value::BulkString(vec![b'x'; 256])).collect();
        let bytes_at = |value: &Value| match value {
            Value::BulkString(bytes) => bytes.as_ptr().addr(),
            _ => unreachable!("a string"),
        };
        let (first, last) = (bytes_at(&holders[0]), bytes_at(&holders[199]));
        let Reply::List(items) = reply(Value::Array(holders)) else { panic!("a list") };
        let at = |reply: &Reply| match reply {
            Reply::Bytes(bytes) => bytes.as_ptr().addr(),
            other => panic!("no string: {other:?}"),
        };
        assert_eq!((at(&items[0]), at(&items[199])), (first, last));
    }

    #[test]
    fn a_value_that_no_script_returns_is_kept_apart() {
        let odd = Value::Array(vec![Value::Double(0.5), Value::Okay, Value::Nil]);
        assert!(
            matches!(reply(odd), Reply::List(items) if matches!(items[..], [Reply::Other, Reply::Other, Reply::Nil]))
        );
        assert!(matches!(reply(Value::Double(1e300)), Reply::Other));
        assert!(matches!(reply(Value::Double(1_795_200_000_000_001.0)), Reply::Int(1_795_200_000_000_001)));
    }
}
