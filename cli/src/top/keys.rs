//! What the keys do: which rows are looked at, in which order, and which of them is shown in full.

use libdlock::survey::Kind;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::live::pick::Pick;
use crate::live::{View, clients};

/// Clients that are listed.
pub const CLIENTS: usize = 1_000;

/// Which list is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    Objects,
    Clients,
}

/// What is shown in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    Object(String, Kind),
    Client(String),
}

/// How the view is looked at.
pub struct Looks {
    pub pick: Pick,
    pub list: List,
    pub detail: Option<Detail>,
    /// The place in the list, and how far a detail is scrolled.
    pub place: usize,
    pub scroll: usize,
    /// The rows on the screen, as drawn last.
    pub page: usize,
    pub is_typing: bool,
    pub is_paused: bool,
}

/// What the program has to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Does {
    Nothing,
    Quit,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Stop,
}

impl Looks {
    pub fn new(pick: Pick) -> Looks {
        let (list, detail) = (List::Objects, None);
        Looks { pick, list, detail, place: 0, scroll: 0, page: 1, is_typing: false, is_paused: false }
    }

    pub fn take(&mut self, event: &Event, view: &View) -> Does {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key, view),
            _ => Does::Nothing,
        }
    }

    fn key(&mut self, key: KeyEvent, view: &View) -> Does {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Does::Interrupt,
                KeyCode::Char('z') => Does::Stop,
                _ => Does::Nothing,
            };
        }
        if self.is_typing {
            self.type_in(key.code);
            return Does::Nothing;
        }
        let place = if self.detail.is_some() { &mut self.scroll } else { &mut self.place };
        match key.code {
            KeyCode::Char('q') => return Does::Quit,
            KeyCode::Up | KeyCode::Char('k') => *place = place.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => *place += 1,
            KeyCode::PageUp => *place = place.saturating_sub(self.page),
            KeyCode::PageDown => *place += self.page,
            KeyCode::Home | KeyCode::Char('g') => *place = 0,
            // Drawing brings it back to the end.
            KeyCode::End | KeyCode::Char('G') => *place = usize::MAX / 2,
            KeyCode::Char('s') => self.pick.sort = self.pick.sort.next(),
            KeyCode::Char('p') => self.is_paused = !self.is_paused,
            KeyCode::Char('/') => (self.is_typing, self.detail, self.list) = (true, None, List::Objects),
            KeyCode::Tab => {
                self.list = if self.list == List::Objects { List::Clients } else { List::Objects };
                (self.detail, self.place) = (None, 0);
            }
            KeyCode::Enter if self.detail.is_none() => (self.detail, self.scroll) = (self.chosen(view), 0),
            KeyCode::Esc if self.detail.is_some() => self.detail = None,
            KeyCode::Esc => self.pick.filter.clear(),
            KeyCode::Enter | KeyCode::Backspace => self.detail = None,
            _ => {}
        }
        Does::Nothing
    }

    fn type_in(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(letter) => self.pick.filter.push(letter),
            KeyCode::Backspace => drop(self.pick.filter.pop()),
            KeyCode::Esc => (self.is_typing, self.pick.filter) = (false, String::new()),
            KeyCode::Enter => self.is_typing = false,
            _ => {}
        }
        self.place = 0;
    }

    fn chosen(&self, view: &View) -> Option<Detail> {
        match self.list {
            List::Objects => {
                let row = self.pick.rows(view).into_iter().nth(self.place)?;
                Some(Detail::Object(row.details.name.clone(), row.details.kind))
            }
            List::Clients => {
                let (id, _) = clients::busiest(view, CLIENTS).into_iter().nth(self.place)?;
                Some(Detail::Client(id.to_owned()))
            }
        }
    }
}
