//! Draws a view: a line about the server, a line of figures, the rows that fit, and the keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, Wrap};

use super::keys::{CLIENTS, Detail, List, Looks};
use crate::duration;
use crate::live::{Row, View, clients, json::counts};
use crate::out::{is_coloured, visible, waiter};

/// A column: its heading, its width, and from which width of the screen on it is shown.
type Column = (&'static str, Constraint, u16, fn(&Row) -> String);

const COLUMNS: [Column; 8] = [
    ("NAME", Constraint::Min(12), 0, |row| visible(&row.details.name)),
    ("KIND", Constraint::Length(12), 90, |row| row.details.kind.to_string()),
    ("STATE", Constraint::Length(8), 0, |row| row.details.state.to_owned()),
    ("LEFT", Constraint::Length(7), 0, |row| row.left().map(duration::show).unwrap_or_default()),
    ("WAIT", Constraint::Length(4), 0, |row| number(row.details.queued)),
    ("WAITED", Constraint::Length(7), 70, |row| row.waits().next().map(duration::show).unwrap_or_default()),
    ("GRANTS/S", Constraint::Length(8), 60, |row| rate(row.grants)),
    ("DETAILS", Constraint::Percentage(40), 100, |row| visible(&row.details.what)),
];

const KEYS: [(&str, &str); 8] = [
    ("q", "quit"),
    ("Enter", "detail"),
    ("s", "sort"),
    ("/", "filter"),
    ("Tab", "clients"),
    ("p", "pause"),
    ("Esc", "back"),
    ("arrows", "move"),
];

pub fn draw(frame: &mut Frame<'_>, view: &View, looks: &mut Looks) {
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ]);
    let [head, figures, title, body, keys] = rows.areas(frame.area());
    frame.render_widget(line_of_server(view, looks), head);
    frame.render_widget(line_of_figures(view, figures.width), figures);
    looks.page = usize::from(body.height.saturating_sub(1)).max(1);
    match (&looks.detail, looks.list) {
        (Some(detail), _) => {
            let lines = lines_of(detail, view);
            looks.scroll = looks.scroll.min(lines.len().saturating_sub(1));
            let name = match detail {
                Detail::Object(name, kind) => format!("{kind} {}", visible(name)),
                Detail::Client(id) => format!("client {}", visible(id)),
            };
            frame.render_widget(Line::styled(name, bold()), title);
            let text: Vec<Line<'_>> = lines.into_iter().skip(looks.scroll).collect();
            frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }), body);
        }
        (None, List::Objects) => objects(frame, view, looks, (title, body)),
        (None, List::Clients) => of_clients(frame, view, looks, (title, body)),
    }
    let mut line = Vec::new();
    let mut width = 0;
    for (key, does) in KEYS {
        width += key.len() + does.len() + 3;
        if width > usize::from(keys.width) + 2 {
            break;
        }
        line.extend([Span::styled(key, bold()), Span::raw(format!(" {does}  "))]);
    }
    frame.render_widget(Line::from(line), keys);
}

fn line_of_server(view: &View, looks: &Looks) -> Line<'static> {
    let state = match &view.problem {
        Some(problem) => Span::styled(format!("away: {}", visible(problem)), coloured(Color::Red)),
        None if looks.is_paused => Span::styled("paused", coloured(Color::Yellow)),
        None => Span::styled("up", coloured(Color::Green)),
    };
    Line::from(vec![Span::styled("dlock ", bold()), Span::raw(format!("{} ", visible(&view.server))), state])
}

fn line_of_figures(view: &View, width: u16) -> Line<'static> {
    let held: u64 = counts(view)
        .iter()
        .filter(|((_, state), _)| matches!(*state, "held" | "written" | "read"))
        .map(|(_, count)| count)
        .sum();
    let waiting: u64 = view.rows.iter().map(|row| row.details.queued).sum();
    let [p99] = view.waits([0.99]).map_or([String::new()], |[wait]| [format!(" (p99 {})", duration::show(wait))]);
    let mut text = format!("{held} held, {waiting} waiting{p99}, {:.1} or more grants/s", view.grants);
    if width >= 80 {
        text += &format!(
            ", {} objects in use, read in {}, {:.1} % of a server's processor",
            view.rows.len(),
            duration::show(view.sweep),
            view.share * 100.0
        );
    }
    Line::raw(text)
}

fn objects(frame: &mut Frame<'_>, view: &View, looks: &mut Looks, (title, body): (Rect, Rect)) {
    let rows = looks.pick.rows(view);
    looks.place = looks.place.min(rows.len().saturating_sub(1));
    let filter = match (looks.is_typing, looks.pick.filter.as_str()) {
        (false, "") => String::new(),
        (is_typing, filter) => format!(", filter {}{}", visible(filter), if is_typing { "_" } else { "" }),
    };
    let more = if view.is_complete { "" } else { " or more" };
    let text = format!("{}{more} by {}{filter}", rows.len(), looks.pick.sort);
    frame.render_widget(Line::styled(text, bold()), title);
    if rows.is_empty() {
        let nothing = match looks.pick.filter.as_str() {
            "" => "Nobody holds, waits for or has filled anything.",
            _ => "Nothing in use matches. Esc clears the filter.",
        };
        frame.render_widget(Paragraph::new(nothing).wrap(Wrap { trim: true }), body);
        return;
    }
    let columns: Vec<&Column> = COLUMNS.iter().filter(|(_, _, from, _)| body.width >= *from).collect();
    let headings = columns.iter().map(|(heading, ..)| *heading);
    let start = first_shown(looks.place, looks.page);
    let shown = rows.iter().enumerate().skip(start).take(looks.page).map(|(at, row)| {
        let cells = columns.iter().map(|(.., text)| Cell::from(text(row)));
        TableRow::new(cells).style(chosen(at == looks.place))
    });
    let widths = columns.iter().map(|(_, width, ..)| *width);
    frame.render_widget(Table::new(shown, widths).header(TableRow::new(headings).style(bold())), body);
}

fn of_clients(frame: &mut Frame<'_>, view: &View, looks: &mut Looks, (title, body): (Rect, Rect)) {
    let clients = clients::busiest(view, CLIENTS);
    looks.place = looks.place.min(clients.len().saturating_sub(1));
    frame.render_widget(Line::styled(format!("{} clients that hold or wait", clients.len()), bold()), title);
    let start = first_shown(looks.place, looks.page);
    let shown = clients.iter().enumerate().skip(start).take(looks.page).map(|(at, (id, doing))| {
        let cells = [visible(id), doing.holds.len().to_string(), doing.waits.len().to_string()];
        TableRow::new(cells).style(chosen(at == looks.place))
    });
    let widths = [Constraint::Min(12), Constraint::Length(6), Constraint::Length(6)];
    frame.render_widget(
        Table::new(shown, widths).header(TableRow::new(["CLIENT", "HOLDS", "WAITS"]).style(bold())),
        body,
    );
}

/// The first row on the screen: whole pages, so that rows do not move with each key.
fn first_shown(place: usize, page: usize) -> usize {
    place / page * page
}

fn lines_of(detail: &Detail, view: &View) -> Vec<Line<'static>> {
    let mut lines: Vec<(String, String)> = Vec::new();
    match detail {
        Detail::Object(name, kind) => {
            let row = view.rows.iter().find(|row| row.details.name == *name && row.details.kind == *kind);
            let Some(row) = row else { return vec![Line::raw("Nobody holds it or waits for it now.")] };
            lines.extend(row.details.lines().into_iter().filter(|(field, _)| field != "time left"));
            lines.extend(row.left().map(|left| ("time left".to_owned(), duration::show(left))));
            lines.extend(row.held_for().map(|held| ("held for".to_owned(), duration::show(held))));
            lines.push(("grants/s".to_owned(), format!("{:.1} or more", row.grants)));
            let waiters = row.waiters.iter().zip(row.waits());
            lines.extend(waiters.map(|(waits, waited)| ("waits".to_owned(), waiter(&waits.client, waited))));
        }
        Detail::Client(id) => {
            let doing = clients::all(view).remove(id.as_str()).unwrap_or_default();
            let of = |does: &str, objects: Vec<(libdlock::survey::Kind, String)>| {
                let does = does.to_owned();
                objects.into_iter().map(move |(kind, name)| (does.clone(), format!("{kind} {}", visible(&name))))
            };
            lines.extend(of("holds", doing.holds).chain(of("waits for", doing.waits)));
            if lines.is_empty() {
                return vec![Line::raw("It holds nothing and waits for nothing now.")];
            }
        }
    }
    let widest = lines.iter().map(|(field, _)| field.len()).max().unwrap_or(0);
    let line = |(field, value): (String, String)| {
        Line::from(vec![Span::styled(format!("{field:<widest$}  "), bold()), Span::raw(value)])
    };
    lines.into_iter().map(line).collect()
}

fn number(number: u64) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}

fn rate(rate: f64) -> String {
    if rate < 0.05 { String::new() } else { format!("{rate:.1}") }
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn chosen(is_chosen: bool) -> Style {
    if is_chosen { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() }
}

fn coloured(colour: Color) -> Style {
    if is_coloured() { bold().fg(colour) } else { bold() }
}
