//! Short replies, read without the redis crate's parser: numbers, strings and lists that came whole.
//!
//! The answer to a script is such a one, and on a connection that has one request at a time it comes in one piece. To parse it
//! took a fifth of what a call cost its client. Whatever else there is, errors included, is left to the crate.

use redis::Value;

/// How deep lists may lie in one another. A script's reply has 2 levels.
const DEEPEST: usize = 4;

/// The reply, if these bytes are just one that is plain.
pub(super) fn reply(bytes: &[u8]) -> Option<Value> {
    let mut rest = bytes;
    let value = value(&mut rest, DEEPEST)?;
    rest.is_empty().then_some(value)
}

fn value(rest: &mut &[u8], depth: usize) -> Option<Value> {
    let (&kind, number) = line(rest)?.split_first()?;
    let number: i64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    match (kind, number) {
        (b':', number) => Some(Value::Int(number)),
        (b'$' | b'*', -1) => Some(Value::Nil),
        (b'$', length) => {
            let (text, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            *rest = after.strip_prefix(b"\r\n")?;
            Some(Value::BulkString(text.to_vec()))
        }
        // Each item has four bytes at least.
        (b'*', items) if depth > 0 && usize::try_from(items).ok()? <= rest.len() / 4 => {
            (0..items).map(|_| value(rest, depth - 1)).collect::<Option<Vec<_>>>().map(Value::Array)
        }
        _ => None,
    }
}

/// Takes a line off, without its end.
fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\r')?;
    let (line, after) = rest.split_at(end);
    *rest = after.strip_prefix(b"\r\n")?;
    Some(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(value: &Value) -> Vec<u8> {
        match value {
            Value::Nil => b"$-1\r\n".to_vec(),
            Value::Int(number) => format!(":{number}\r\n").into_bytes(),
            Value::BulkString(text) => [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat(),
            Value::Array(items) => {
                let texts: Vec<u8> = items.iter().flat_map(bytes_of).collect();
                [format!("*{}\r\n", items.len()).as_bytes(), &texts].concat()
            }
            other => unreachable!("not plain: {other:?}"),
        }
    }

    fn plain() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Nil),
            any::<i64>().prop_map(Value::Int),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::BulkString),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| prop::collection::vec(inner, 0..6).prop_map(Value::Array))
    }

    proptest! {
        #[test]
        fn a_plain_reply_is_read_as_it_was_written(value in plain()) {
            prop_assert_eq!(reply(&bytes_of(&value)), Some(value));
        }

        #[test]
        fn a_piece_of_a_reply_is_none(value in plain(), part in 0.0..1.0) {
            let whole = bytes_of(&value);
            prop_assert_eq!(reply(&whole[..(whole.len() as f64 * part) as usize]), None);
            prop_assert_eq!(reply(&[&whole[..], b":"].concat()), None);
        }

        /// Whatever is said here, the redis crate says too.
        #[test]
        fn garbage_is_read_as_the_crate_reads_it(bytes in "[-+:$*_,#0-9\r\n ]{0,24}(\r\n)?") {
            if let Some(ours) = reply(bytes.as_bytes()) {
                prop_assert_eq!(redis::parse_redis_value(bytes.as_bytes()).ok(), Some(ours));
            }
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_crate() {
        let deep = [b"*1\r\n".repeat(DEEPEST + 1).as_slice(), b":1\r\n"].concat();
        for bytes in
            [&b""[..], b"-ERR no\r\n", b"+OK\r\n", b"_\r\n", b"%1\r\n:1\r\n:2\r\n", b"*99999999\r\n", b"$-2\r\n", &deep]
        {
            assert_eq!(reply(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
