//! `dlock top`: what the server has, in the terminal, kept up to date.

mod draw;
mod keys;
mod screen;

use std::io::{self, IsTerminal};
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{interval, timeout};

use self::keys::{Does, Looks};
use self::screen::Screen;
use crate::args::{ServerArgs, TopArgs};
use crate::details::HEADINGS;
use crate::exit::{self, Failure};
use crate::live::pick::Pick;
use crate::live::{Live, View, json};
use crate::out::{Out, say, table};
use crate::run::signals::Signals;

/// How often times that run are drawn anew.
const TICK: Duration = Duration::from_millis(500);

/// How long the end waits for the server.
const CLOSING: Duration = Duration::from_millis(500);

pub async fn top(server: &ServerArgs, args: &TopArgs, out: &Out) -> Result<u8, Failure> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if !args.once && (out.json || is_dumb || !io::stdin().is_terminal() || !io::stdout().is_terminal()) {
        return Err(Failure::Usage(
            "top draws on a terminal; --once prints what there is and ends, with --json for programs, and dlock serve \
             shows it in a browser"
                .to_owned(),
        ));
    }
    let mut signals = Signals::listen()?;
    let mut live = tokio::select! {
        signal = signals.next() => return Ok(exit::BY_SIGNAL + signal.number()),
        live = Live::start(server, &args.live) => live?,
    };
    let view = tokio::select! {
        signal = signals.next() => return Ok(exit::BY_SIGNAL + signal.number()),
        view = live.first() => view?,
    };
    if let Some(problem) = &view.problem {
        return Err(Failure::Code(exit::FAILED, problem.clone()));
    }
    let looks = Looks::new(Pick { sort: args.sort, ..Pick::default() });
    let code = match args.once {
        true => once(&view, &looks.pick, out).map(|()| 0),
        false => watch(&mut live, looks, &mut signals).await,
    };
    if let Some(client) = live.client() {
        drop(live);
        let _ = timeout(CLOSING, client.close()).await;
    }
    code
}

fn once(view: &View, pick: &Pick, out: &Out) -> Result<(), Failure> {
    if out.json {
        return out.document(&json::view(view, pick, (0, usize::MAX)));
    }
    let rows: Vec<_> = pick.rows(view).iter().map(|row| row.details.row()).collect();
    if !rows.is_empty() {
        out.bytes(table(&HEADINGS, &rows).as_bytes())?;
    }
    if !view.is_complete {
        say("there may be more; --most sets how many are watched");
    }
    Ok(())
}

async fn watch(live: &mut Live, mut looks: Looks, signals: &mut Signals) -> Result<u8, Failure> {
    let cannot = |error: io::Error| Failure::Code(exit::FAILED, format!("cannot use the terminal: {error}"));
    let mut goes_on = Signals::catch(vec![Signal::CONT])?;
    let mut screen = Screen::open().map_err(cannot)?;
    let mut keys = screen.keys();
    let mut tick = interval(TICK);
    let mut view = live.view();
    loop {
        screen.draw(|frame| draw::draw(frame, &view, &mut looks)).map_err(cannot)?;
        #[cfg(debug_assertions)]
        assert!(std::env::var_os("DLOCK_TEST_PANIC").is_none(), "a test asked for a panic");
        tokio::select! {
            biased;
            signal = signals.next() => match signal.signal() {
                Signal::HUP | Signal::INT | Signal::QUIT | Signal::TERM => return Ok(exit::BY_SIGNAL + signal.number()),
                _ => {}
            },
            _ = goes_on.next() => screen.enter().map_err(cannot)?,
            event = keys.recv() => match event {
                // The terminal has gone.
                None => return Ok(exit::BY_SIGNAL + 1),
                Some(event) => match looks.take(&event, &view) {
                    Does::Nothing => {}
                    Does::Quit => return Ok(0),
                    Does::Interrupt => return Ok(exit::BY_SIGNAL + 2),
                    Does::Stop => screen.stop().map_err(cannot)?,
                },
            },
            changed = live.changed() => changed?,
            _ = tick.tick() => {}
        }
        if !looks.is_paused {
            view = live.view();
        }
    }
}
