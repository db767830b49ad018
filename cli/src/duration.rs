//! Times as they are written on a command line, and as people read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
        0..60 => format!("{}.{}s", seconds, millis % 1_000 / 100),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// In UTC: `2026-11-26T16:11:19.123Z`.
pub fn date(time: SystemTime) -> String {
    let millis = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let (days, of_day) = (i64::try_from(millis / 86_400_000).unwrap_or(0), millis % 86_400_000);
    // Howard Hinnant's civil_from_days: years begin in March, eras have 400 of them.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", of_day % 1_000)
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

    #[test]
    fn a_date_is_that_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_795_710_679, "2026-11-26T16:31:19.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
