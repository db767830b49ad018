//! Times as they are written on a command line, and as people read them.

use std::time::Duration;

/// `500ms`, `10s`, `5m`, `1.5h`, `2d`, or a bare number of seconds, as `timeout(1)` and `flock(1)` read one.
///
/// # Errors
/// Says what is allowed.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "us" => 0.000_001,
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return Err(ALLOWED.to_owned()),
    };
    // `f64` would also read "inf", "1e9" and signs.
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = is_plain.then(|| digits.parse::<f64>().ok()).flatten();
    number.and_then(|number| Duration::try_from_secs_f64(number * seconds).ok()).ok_or_else(|| ALLOWED.to_owned())
}

const ALLOWED: &str = "write a time as 500ms, 10s, 5m, 2h, 1d or a number of seconds";

/// To three digits or so: `850ms`, `4.2s`, `3m20s`, `2h05m`, `4d03h`.
pub fn show(time: Duration) -> String {
    let (millis, seconds) = (time.as_millis(), time.as_secs());
    match seconds {
        _ if millis < 1_000 => format!("{millis}ms"),
        ..60 => format!("{}.{}s", seconds, millis % 1_000 / 100),
        ..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        ..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_with_its_unit_and_a_bare_number_is_seconds() {
        for (text, millis) in [("500ms", 500), ("10s", 10_000), ("10", 10_000), ("1.5m", 90_000), ("2h", 7_200_000)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse("1d"), Ok(Duration::from_secs(86_400)));
        for text in ["", "s", "-1s", "+1s", "1e3", "inf", "1 s", "1w", "1..2s", "99999999999999999999d"] {
            assert_eq!(parse(text), Err(ALLOWED.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_time_is_shown_to_three_digits_or_so() {
        for (millis, text) in [
            (0, "0ms"),
            (850, "850ms"),
            (4_250, "4.2s"),
            (200_000, "3m20s"),
            (7_500_000, "2h05m"),
            (356_400_000, "4d03h"),
        ] {
            assert_eq!(show(Duration::from_millis(millis)), text);
        }
    }
}
