//! The terminal while `dlock top` has it, and its return, whatever ends the program: the end, a signal, a panic, a stop.

use std::io::{self, Stdout, Write};
use std::panic;
use std::sync::Once;
use std::thread;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};
use rustix::process::{Signal, getpid, kill_process};
use tokio::sync::mpsc::{self, Receiver};

/// Keys that are not read yet: nobody types ahead further.
const AHEAD: usize = 64;

pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub fn open() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let told = panic::take_hook();
            // First the terminal, or its message goes with the screen.
            panic::set_hook(Box::new(move |panic| {
                leave();
                told(panic);
            }));
        });
        let mut screen = Screen { terminal: Terminal::new(CrosstermBackend::new(io::stdout()))? };
        screen.enter()?;
        Ok(screen)
    }

    /// Takes the terminal, at first and when the program goes on after a stop.
    pub fn enter(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, Hide, Clear(ClearType::All))?;
        // A new one knows of nothing on the screen and draws all of it. Its `clear` would ask the terminal where the cursor is, and
        // the thread that reads keys would get the answer.
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }

    /// Stops as other programs do at Ctrl-Z: gives the terminal to the shell. Where no shell could have it go on, the kernel does
    /// not stop it.
    pub fn stop(&mut self) -> io::Result<()> {
        leave();
        kill_process(getpid(), Signal::TSTP)?;
        self.enter()
    }

    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }

    /// What is typed, and changes of the size. Ends with the terminal.
    pub fn keys(&self) -> Receiver<Event> {
        let (sender, keys) = mpsc::channel(AHEAD);
        thread::spawn(move || {
            while let Ok(event) = event::read()
                && sender.blocking_send(event).is_ok()
            {}
        });
        keys
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Gives the terminal back as it was. There is nobody to tell when that fails.
fn leave() {
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
    let _ = io::stdout().flush();
}
