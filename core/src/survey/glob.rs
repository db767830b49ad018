//! Patterns as `SCAN` has them, for names: the server matches keys, of which names are a part.

/// Whether a text matches a pattern of `*`, `?`, `[a-z]`, `[^a]` and `\` in front of a character that is meant itself.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut seen) = (0, 0);
    // Where to go on when what follows the last `*` does not match: it takes one character more.
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at + 1, seen));
                at += 1;
                continue;
            }
            None if seen == text.len() => return true,
            None => None,
            Some(_) => text.get(seen).and_then(|letter| one(&pattern[at..], *letter)),
        };
        match (step, star) {
            (Some(length), _) => (at, seen) = (at + length, seen + 1),
            (None, Some((behind, from))) if from < text.len() => {
                (at, seen) = (behind, from + 1);
                star = Some((behind, from + 1));
            }
            (None, _) => return false,
        }
    }
}

/// How much of the pattern stands for this character, if it does.
fn one(pattern: &[char], letter: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['\\', escaped, ..] => (*escaped == letter).then_some(2),
        ['[', class @ ..] => {
            let (negated, class) = match class {
                ['^', rest @ ..] => (true, rest),
                _ => (false, class),
            };
            // Without an end, the class reaches to the end of the pattern.
            let end = class.iter().position(|letter| *letter == ']').unwrap_or(class.len());
            let mut is_in = false;
            let mut rest = &class[..end];
            while let [low, tail @ ..] = rest {
                (is_in, rest) = match tail {
                    ['-', high, tail @ ..] => (is_in || (*low..=*high).contains(&letter), tail),
                    _ => (is_in || *low == letter, tail),
                };
            }
            (is_in != negated).then_some((pattern.len() - class.len() + end + 1).min(pattern.len()))
        }
        [same, ..] => (*same == letter).then_some(1),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_as_the_servers_does() {
        for (pattern, text, is_match) in [
            ("*", "", true),
            ("orders/*", "orders/42", true),
            ("orders/*", "order/42", false),
            ("*42", "orders/4242", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("h?llo", "hällo", true),
            ("h?llo", "hllo", false),
            ("h[ae]llo", "hallo", true),
            ("h[^ae]llo", "hallo", false),
            ("[a-c]x", "bx", true),
            ("[a-c]x", "dx", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("", "", true),
            ("", "a", false),
            ("[", "a", false),
            ("[a", "a", true),
            ("\\", "\\", true),
        ] {
            assert_eq!(matches(pattern, text), is_match, "{pattern} {text}");
        }
        assert!(!matches(&"*a".repeat(40), &"b".repeat(4_000)), "in no time that is worth a word");
    }
}
