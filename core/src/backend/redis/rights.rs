//! Asks the server which of the rights that an object needs its access rules deny to the client's user.
//!
//! Every command is asked about with the keys and channels of a real object, and with all the words that it takes:
//! `redis.acl_check_cmd` reads the keys where the command has them, and Redis 7.0 crashes when they are not there.

use redis::aio::MultiplexedConnection;

use super::{reply, request};
use crate::name::ObjectName;
use crate::step::{Call, PubSub, Script, wire};

static ALLOWED: Script = Script::new(include_str!("rights.lua"));

/// What stands for the name in [`State::ACCESS`](crate::step::State::ACCESS).
const NAME: &str = "<name>";

/// The rules in `access` that the user lacks for the object of this name, as ACL SETUSER takes them: none where scripts cannot
/// ask. `None` without an answer, or if the user may not run scripts, as the first call will say.
pub(super) async fn missing(
    connection: &mut MultiplexedConnection,
    access: &'static str,
    name: &ObjectName,
) -> Option<Vec<String>> {
    let groups = groups(access, name);
    let mut call = Call::default();
    for words in groups.iter().flat_map(Group::questions) {
        call.args.number(words.len() as u64);
        words.iter().for_each(|word| call.args.push(word));
    }
    let answer = request::ask(connection, &request::command("EVAL", &ALLOWED.text(PubSub::Plain), &call)).await;
    let answers = wire::list(reply::reply(answer.ok()?)).ok()?;
    let mut answers = answers.iter().map(|answer| wire::int(Some(answer)).is_ok_and(|answer| answer != 0));
    Some(groups.iter().flat_map(|group| group.missing(&mut answers)).collect())
}

/// Commands that are allowed or not on each of some keys, or channels.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    commands: Vec<&'static str>,
    places: Vec<Place>,
}

/// A key or a channel of the object, and the rule that allows it.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    rule: String,
    is: String,
}

/// No command of ours needs more words. Some take any number of keys: all of these words are the same key.
const WORDS: usize = 4;

impl Group {
    /// In the order in which [`Group::missing`] reads the answers.
    fn questions(&self) -> impl Iterator<Item = Vec<&str>> {
        self.commands.iter().flat_map(|command| {
            let on = |place| asking(command, place);
            match (*command, self.places.as_slice()) {
                ("eval" | "evalsha", _) => vec![vec![*command, "", "0"]],
                (_, []) => vec![vec![*command]],
                (_, places) => places.iter().map(on).collect(),
            }
        })
    }

    /// The rules that are missing. A command that is allowed nowhere is forbidden; a place where one is forbidden that is allowed
    /// elsewhere is not reached. If nothing is allowed anywhere, both may be missing.
    fn missing(&self, allowed: &mut impl Iterator<Item = bool>) -> Vec<String> {
        let places = self.places.len().max(1);
        let answers: Vec<Vec<bool>> = self.commands.iter().map(|_| allowed.by_ref().take(places).collect()).collect();
        if answers.iter().any(|answers| answers.len() < places) {
            return Vec::new();
        }
        let is_known = |answers: &&Vec<bool>| answers.contains(&true);
        let nowhere = self.commands.iter().zip(&answers).filter(|(_, answers)| !answers.contains(&true));
        let mut missing: Vec<String> = Vec::new();
        for (at, place) in self.places.iter().enumerate() {
            if !answers.iter().any(|answers| is_known(&answers)) || answers.iter().filter(is_known).any(|a| !a[at]) {
                missing.push(place.rule.clone());
            }
        }
        missing.extend(nowhere.map(|(command, _)| format!("+{command}")));
        missing
    }
}

/// A command with as many words as it needs.
fn asking<'a>(command: &'a str, place: &'a Place) -> Vec<&'a str> {
    std::iter::once(command).chain([place.is.as_str(); WORDS]).collect()
}

/// What `access` asks for: commands without a place, those on channels, and those on keys.
fn groups(access: &'static str, name: &ObjectName) -> [Group; 3] {
    let (mut keys, mut channels) = (Vec::new(), Vec::new());
    let [mut plain, mut on_channels, mut on_keys] = [const { Vec::new() }; 3];
    for rule in access.split_whitespace() {
        match rule.split_at(1) {
            ("~", pattern) => keys.push(place('~', pattern, name)),
            ("&", pattern) => channels.push(place('&', pattern, name)),
            (_, command @ ("eval" | "evalsha" | "ping" | "info" | "time" | "unsubscribe")) => plain.push(command),
            (_, command @ ("publish" | "subscribe")) => on_channels.push(command),
            (_, command) => on_keys.push(command),
        }
    }
    [
        Group { commands: plain, places: Vec::new() },
        Group { commands: on_channels, places: channels },
        Group { commands: on_keys, places: keys },
    ]
}

/// A key or channel of this object that a pattern stands for.
fn place(mark: char, pattern: &str, name: &ObjectName) -> Place {
    if pattern == NAME {
        return Place { rule: format!("{mark}{}", pattern_of(name.as_str())), is: name.as_str().to_owned() };
    }
    let tagged = name.companion("").split_off(1);
    Place { rule: format!("{mark}{pattern}"), is: pattern.replace('*', &tagged) }
}

/// A pattern for one name. Rules take no white space, and what patterns are made of stands for other names too; `?` is any byte.
fn pattern_of(name: &str) -> String {
    let is_special = |letter: char| letter.is_ascii_whitespace() || letter == '\x0b' || "*?[]\\\"'".contains(letter);
    name.replace(is_special, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS: &str = "~<name> ~token:* ~*:timeout &inbox:* +eval +time +publish +get +set";

    fn missing_if(is_allowed: impl Fn(&[&str]) -> bool) -> Vec<String> {
        let groups = groups(ACCESS, &ObjectName::new("", "job").unwrap());
        let answers: Vec<bool> = groups.iter().flat_map(Group::questions).map(|words| is_allowed(&words)).collect();
        let mut answers = answers.into_iter();
        groups.iter().flat_map(|group| group.missing(&mut answers)).collect()
    }

    #[test]
    fn each_command_is_asked_about_on_each_key_of_the_object() {
        let groups = groups(ACCESS, &ObjectName::new("", "job").unwrap());
        let asked: Vec<String> = groups.iter().flat_map(Group::questions).map(|words| words.join(" ")).collect();
        let inbox = "inbox:{job}";
        assert_eq!(
            asked[..3],
            ["eval  0".to_owned(), "time".to_owned(), ["publish", inbox, inbox, inbox, inbox].join(" ")]
        );
        assert!(
            asked[3].starts_with("get job job ") && asked[5].starts_with("get {job}:timeout {job}:timeout "),
            "{asked:?}"
        );
        assert_eq!(asked.len(), 9);
    }

    #[test]
    fn what_is_missing_is_told_as_the_rule_that_allows_it() {
        assert_eq!(missing_if(|_| true), [""; 0]);
        assert_eq!(missing_if(|words| words[0] != "set"), ["+set"]);
        assert_eq!(missing_if(|words| words[0] != "eval"), ["+eval"]);
        assert_eq!(missing_if(|words| words.get(1) != Some(&"token:{job}")), ["~token:*"]);
        assert_eq!(missing_if(|words| words.get(1) != Some(&"job")), ["~job"]);
        assert_eq!(
            missing_if(|words| words[0] != "set" || words[1] != "{job}:timeout"),
            ["~*:timeout"],
            "only to read"
        );
        let both = missing_if(|words| words[0] != "set" && words.get(1) != Some(&"job"));
        assert_eq!(both, ["~job", "+set"]);
        assert_eq!(missing_if(|words| words[0] != "publish"), ["&inbox:*", "+publish"], "either may be the reason");
    }

    #[test]
    fn a_name_becomes_a_rule_that_is_one_word_and_no_wider_pattern() {
        assert_eq!(pattern_of("orders:{42}"), "orders:{42}");
        assert_eq!(pattern_of("my job*[1]\\\t\"é"), "my?job??1????é");
    }

    #[test]
    fn a_server_that_does_not_tell_lacks_nothing() {
        let groups = groups(ACCESS, &ObjectName::new("", "job").unwrap());
        assert!(groups.iter().all(|group| group.missing(&mut std::iter::empty()).is_empty()));
    }
}
