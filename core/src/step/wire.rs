//! Reads replies apart.

use redis::Value;

use super::Malformed;

pub(crate) fn array(value: Value) -> Result<Vec<Value>, Malformed> {
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(Malformed),
    }
}

pub(crate) fn int(value: Option<&Value>) -> Result<i64, Malformed> {
    match value {
        Some(Value::Int(number)) => Ok(*number),
        _ => Err(Malformed),
    }
}

pub(crate) fn unsigned(value: Option<&Value>) -> Result<u64, Malformed> {
    u64::try_from(int(value)?).map_err(|_| Malformed)
}

/// A string or nil. Bytes that are not UTF-8 (a foreign owner's) are shown with replacement characters.
pub(crate) fn text(value: Option<&Value>) -> Result<Option<String>, Malformed> {
    match value {
        Some(Value::BulkString(bytes)) => Ok(Some(String::from_utf8_lossy(bytes).into_owned())),
        Some(Value::SimpleString(text)) => Ok(Some(text.clone())),
        Some(Value::Nil) => Ok(None),
        _ => Err(Malformed),
    }
}
