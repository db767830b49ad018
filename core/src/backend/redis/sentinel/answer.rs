//! What one sentinel says, read from its replies.

use redis::Value;

use crate::config::Address;

/// A sentinel's answer about one master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The sentinel's own id, unless it does not tell.
    pub(super) id: Option<String>,
    pub(super) named: Named,
    /// The other sentinels that watch the same master.
    pub(super) others: Vec<Other>,
}

/// The server that is the master of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) address: Address,
    /// Grows with each failover; the sentinel that has carried one out tells the others the number. Unknown where the sentinel's
    /// access rules forbid SENTINEL MASTER.
    pub(super) epoch: Option<u64>,
    /// The server's run id, as far as the sentinel has heard it.
    pub(super) run_id: Option<String>,
}

/// A sentinel, as another one sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Other {
    pub(super) address: Address,
    pub(super) id: Option<String>,
    pub(super) is_down: bool,
}

impl Answer {
    /// Whether this sentinel reaches a majority of them all: no failover is decided without, and one that does not will hear of
    /// none.
    pub(super) fn sees_majority(&self) -> bool {
        let up = 1 + self.others.iter().filter(|other| !other.is_down).count();
        2 * up > self.others.len() + 1
    }

    /// Whether neither knows the other, nor anybody whom the other knows. Not if one of them does not say whom it knows, or knows
    /// nobody: it may have just started.
    pub(super) fn is_stranger_to(&self, other: &Answer) -> bool {
        let (own, theirs) = (self.circle(), other.circle());
        own.zip(theirs).is_some_and(|(own, theirs)| !own.iter().any(|id| theirs.contains(id)))
    }

    /// The ids of this sentinel and of those that it knows, if it tells all of them and knows any.
    fn circle(&self) -> Option<Vec<&str>> {
        let own = self.id.as_deref().filter(|_| !self.others.is_empty());
        std::iter::once(own).chain(self.others.iter().map(|other| other.id.as_deref())).collect()
    }
}

impl Named {
    /// Reads the replies to SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL MASTER. While a failover is carried out, the first is
    /// the promoted server already, and the second has its epoch but the former server's address.
    pub(super) fn read(said: &Value, master: Option<&Value>) -> Option<Named> {
        let Value::Array(words) = said else { return None };
        let [host, port] = words.as_slice() else { return None };
        let address = Address::told(text(host)?, text(port)?.parse().ok()?)?;
        let master = master.map(Fields);
        let field = |name| master.as_ref().and_then(|master| master.get(name));
        let epoch = field("config-epoch").and_then(|epoch| epoch.parse().ok());
        let is_its_own =
            field("ip") == Some(&address.host) && field("port").is_some_and(|port| port == address.port.to_string());
        let run_id = field("runid").filter(|run_id| is_its_own && !run_id.is_empty()).map(str::to_owned);
        Some(Named { address, epoch, run_id })
    }

    /// Whether both are one server, as far as that can be seen: sentinels may write one address in two ways, as a name and as
    /// numbers.
    pub(super) fn is_same_server(&self, other: &Named) -> bool {
        self.address == other.address || (self.run_id.is_some() && self.run_id == other.run_id)
    }
}

/// Reads the reply to SENTINEL SENTINELS.
pub(super) fn others(sentinels: &Value) -> Vec<Other> {
    let Value::Array(sentinels) = sentinels else { return Vec::new() };
    let other = |sentinel| {
        let fields = Fields(sentinel);
        let address = Address::told(fields.get("ip")?, fields.get("port")?.parse().ok()?)?;
        let id = fields.get("runid").filter(|id| !id.is_empty()).map(str::to_owned);
        let is_down = fields.get("flags").is_some_and(|flags| flags.split(',').any(|flag| flag == "s_down"));
        Some(Other { address, id, is_down })
    };
    sentinels.iter().filter_map(other).collect()
}

/// Names and values, as a map of RESP3.
struct Fields<'a>(&'a Value);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let Value::Map(fields) = self.0 else { return None };
        fields.iter().find(|(key, _)| text(key) == Some(name)).and_then(|(_, value)| text(value))
    }
}

pub(super) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn fields(fields: &[(&str, &str)]) -> Value {
        Value::Map(fields.iter().map(|(name, value)| (bulk(name), bulk(value))).collect())
    }

    #[test]
    fn the_promoted_server_has_the_new_epoch_but_not_the_old_run_id() {
        let promoted = Value::Array(vec![bulk("10.0.0.2"), bulk("6379")]);
        let told = |ip| fields(&[("ip", ip), ("port", "6379"), ("runid", "abc"), ("config-epoch", "7")]);
        let before = Named::read(&promoted, Some(&told("10.0.0.1"))).expect("a master");
        assert_eq!((before.epoch, before.run_id), (Some(7), None));
        let after = Named::read(&promoted, Some(&told("10.0.0.2"))).expect("a master");
        assert_eq!((after.epoch, after.run_id.as_deref()), (Some(7), Some("abc")));
        let untold = Named::read(&promoted, None).expect("a master");
        assert_eq!((untold.address.to_string().as_str(), untold.epoch), ("10.0.0.2:6379", None));
    }

    #[test]
    fn what_is_no_address_names_no_master() {
        for strange in [
            Value::Nil,
            Value::Okay,
            Value::Array(vec![bulk("h")]),
            Value::Array(vec![bulk("h"), bulk("99999")]),
            Value::Array(vec![bulk("h"), bulk("0")]),
            Value::Array(vec![Value::Int(1), Value::Int(2)]),
            Value::Array(vec![Value::BulkString(vec![0xff]), bulk("1")]),
            Value::Array(vec![bulk("h\u{1b}[31m"), bulk("1")]),
            Value::Array(vec![bulk(&"h".repeat(256)), bulk("1")]),
            Value::Array(vec![bulk(""), bulk("1")]),
        ] {
            assert_eq!(Named::read(&strange, None), None, "{strange:?}");
        }
    }

    #[test]
    fn a_sentinel_that_is_cut_off_from_most_others_sees_no_majority() {
        let sentinel = |flags: &str| fields(&[("ip", "h"), ("port", "1"), ("runid", ""), ("flags", flags)]);
        let sees = |flags: &[&str]| {
            let others = others(&Value::Array(flags.iter().map(|flags| sentinel(flags)).collect()));
            assert_eq!(others.len(), flags.len());
            let named = Named { address: Address { host: "h".to_owned(), port: 1 }, epoch: None, run_id: None };
            Answer { id: None, named, others }.sees_majority()
        };
        assert!(sees(&[]) && sees(&["sentinel", "s_down,sentinel,disconnected"]));
        assert!(!sees(&["s_down,sentinel", "sentinel,s_down"]) && !sees(&["s_down"]));
        assert!(sees(&["sentinel", "sentinel", "s_down", "s_down"]) && !sees(&["sentinel", "s_down", "s_down"]));
    }
}
