//! Text from others (owners, names, a server's errors) on its way into an error or an event, and from there into logs and
//! terminals.

/// The longest message of an error or an event, in characters.
const LONGEST_MESSAGE: usize = 2_000;

/// The most that is shown of one text from outside, in characters: an owner of ours has some 45.
const LONGEST_PART: usize = 120;

/// The message of an error or an event. Every message passes through here, so that no text from outside can begin a line of its
/// own, colour a terminal or turn the direction of what follows.
pub(crate) fn message(text: impl Into<String>) -> String {
    let text = text.into();
    // As a rule there is nothing to do.
    if text.len() <= LONGEST_MESSAGE && !text.contains(is_hidden) { text } else { shown(&text, LONGEST_MESSAGE) }
}

/// A part of a message that comes from outside, cut to a length that leaves the rest of the message readable.
pub(crate) fn part(text: &str) -> String {
    shown(text, LONGEST_PART)
}

/// The start of a text as a script cuts it off, and as the reply is then read.
pub(crate) fn start_of(text: &str, bytes: usize) -> String {
    String::from_utf8_lossy(&text.as_bytes()[..bytes.min(text.len())]).into_owned()
}

/// A text that is kept on a server for others to read: hidden characters are escaped, and the rest is cut off at `bytes`.
pub(crate) fn kept(text: &str, bytes: usize) -> String {
    let mut kept = shown(&text[..floor_char_boundary(text, bytes)], usize::MAX);
    kept.truncate(floor_char_boundary(&kept, bytes));
    kept
}

/// As `str::floor_char_boundary`, which is newer than the oldest compiler that this crate supports.
fn floor_char_boundary(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The text with hidden characters escaped as `\n` or `\u{1b}`, and with `...` in place of what is too long.
fn shown(text: &str, longest: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(longest) + 8);
    let mut length = 0;
    let mut end = 0;
    for character in text.chars() {
        let escaped = is_hidden(character).then(|| character.escape_default());
        length += escaped.as_ref().map_or(1, |escaped| escaped.len());
        if length > longest {
            shown.truncate(end);
            shown.push_str("...");
            return shown;
        }
        match escaped {
            Some(escaped) => shown.extend(escaped),
            None => shown.push(character),
        }
        // Where to cut, should this become too long.
        if length + 3 <= longest {
            end = shown.len();
        }
    }
    shown
}

/// Characters that are not seen as themselves: controls, line separators, and what changes the direction of text or has no
/// width.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a text contains another, in a constant expression, where [`str::contains`] cannot be called.
pub(crate) const fn contains(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let mut from = 0;
    while from + part.len() <= text.len() {
        let mut same = 0;
        while same < part.len() && text[from + same] == part[same] {
            same += 1;
        }
        if same == part.len() {
            return true;
        }
        from += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn controls_and_bidi_are_escaped_and_the_rest_stays() {
        assert_eq!(message("plain \"text\" \\ äöü 中"), "plain \"text\" \\ äöü 中");
        assert_eq!(message("a\r\nb\tc\0"), "a\\r\\nb\\tc\\u{0}");
        assert_eq!(message("\u{1b}[31m\u{9b}1m\u{7f}"), "\\u{1b}[31m\\u{9b}1m\\u{7f}");
        assert_eq!(message("\u{202e}x\u{2066}\u{2028}\u{feff}"), "\\u{202e}x\\u{2066}\\u{2028}\\u{feff}");
    }

    #[test]
    fn long_text_is_cut() {
        let part = part(&"ä\n".repeat(1_000));
        assert_eq!(part.chars().count(), LONGEST_PART);
        assert!(part.ends_with("..."), "{part}");
        assert!(!part.contains("\\..."), "cut between characters: {part}");
    }

    #[test]
    fn what_is_kept_is_one_visible_line_of_so_many_bytes() {
        assert_eq!(kept("no route\nto \u{1b}[31mhost", 1_024), "no route\\nto \\u{1b}[31mhost");
        assert_eq!(kept("äöü", 3), "ä");
        for most in 0..40 {
            let kept = kept(&"ä\n\u{202e}".repeat(20), most);
            assert!(kept.len() <= most && !kept.contains(is_hidden), "{kept:?}");
        }
    }

    proptest! {
        #[test]
        fn a_message_is_one_visible_line_and_the_same_when_made_again(text in ".{0,300}", times in 1..9usize) {
            let once = message(text.repeat(times));
            prop_assert!(!once.contains(is_hidden));
            prop_assert!(once.chars().count() <= LONGEST_MESSAGE);
            prop_assert_eq!(&message(once.as_str()), &once);
        }
    }
}
