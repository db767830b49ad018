//! What is printed: text for people, JSON for programs, and complaints on standard error.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use serde_json::Value;

use crate::duration;
use crate::exit::Failure;

/// How to print.
pub struct Out {
    pub json: bool,
}

impl Out {
    pub fn new(json: bool) -> Out {
        Out { json }
    }

    /// One JSON document on a line of its own.
    ///
    /// # Errors
    /// [`Failure::Output`], also when the reader has closed the pipe.
    pub fn document(&self, document: &Value) -> Result<(), Failure> {
        self.line(&document.to_string())
    }

    /// One line of text, which has been made [`visible`].
    pub fn line(&self, text: &str) -> Result<(), Failure> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// Bytes as they are.
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        Ok(stdout.flush()?)
    }

    /// Says on standard error why it did not succeed.
    pub fn complain(&self, failure: &Failure) {
        match failure.message() {
            Some(_) if self.json => write_error(&failure.to_json().to_string()),
            Some(message) => say(&message),
            None => {}
        }
    }
}

/// A line of `dlock` on standard error.
pub fn say(message: &str) {
    write_error(&format!("dlock: {message}"));
}

/// Nobody may be there to read it.
pub fn write_error(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Whether standard output may be coloured: a terminal, and nobody has said no (<https://no-color.org>).
pub fn is_coloured() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal() && !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The columns of the terminal that standard output is; `None` when it is none, and for one that does not say.
fn columns() -> Option<usize> {
    let columns = rustix::termios::tcgetwinsize(io::stdout()).ok()?.ws_col;
    (columns > 0).then_some(columns.into())
}

/// A process that waits, and for how long it has.
pub fn waiter(client: &str, waited: Duration) -> String {
    format!("{} for {}", visible(client), duration::show(waited))
}

/// Text from outside, such as a name, with the characters escaped that would act on a terminal or hide what they are.
pub fn visible(text: &str) -> String {
    let is_hidden = |letter: char| {
        letter.is_control()
            || matches!(letter,
                '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_hidden(letter) {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown
}

/// Rows under headings. On a terminal that is too narrow for a table, each row becomes a paragraph of `heading: value`.
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    table_in(headings, rows, columns())
}

fn table_in(headings: &[&str], rows: &[Vec<String>], columns: Option<usize>) -> String {
    let length = |text: &str| text.chars().count();
    let widths: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(at, heading)| rows.iter().map(|row| length(&row[at])).max().unwrap_or(0).max(length(heading)))
        .collect();
    let mut text = String::new();
    if columns.is_some_and(|columns| widths.iter().sum::<usize>() + 2 * (widths.len() - 1) > columns) {
        let widest = headings.iter().map(|heading| length(heading)).max().unwrap_or(0);
        for row in rows {
            if !text.is_empty() {
                text.push('\n');
            }
            for (heading, value) in headings.iter().zip(row).filter(|(_, value)| !value.is_empty()) {
                let _ = writeln!(text, "{:<widest$}  {value}", heading.to_lowercase());
            }
        }
        return text;
    }
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (cell, width) in cells.zip(&widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line(&mut headings.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_cannot_act_on_a_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\nc\u{202e}d é"), "a\\u{1b}[31mb\\nc\\u{202e}d é");
    }

    #[test]
    fn a_table_too_wide_for_its_terminal_becomes_paragraphs() {
        let rows = [vec!["orders/42".to_owned(), "lock".to_owned()], vec!["a".to_owned(), String::new()]];
        assert_eq!(table_in(&["NAME", "KIND"], &rows, None), "NAME       KIND\norders/42  lock\na\n");
        assert_eq!(table_in(&["NAME", "KIND"], &rows, Some(15)), table_in(&["NAME", "KIND"], &rows, None));
        assert_eq!(table_in(&["NAME", "KIND"], &rows, Some(14)), "name  orders/42\nkind  lock\n\nname  a\n");
    }
}
