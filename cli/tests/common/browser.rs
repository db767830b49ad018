//! A real browser without a screen, by the DevTools protocol over its pipes: each message is JSON with a NUL behind it.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use libdlock_testkit::process::spawn;
use libdlock_testkit::temp::TempDir;
use serde_json::{Value, json};

use crate::common::PATIENCE;

/// A browser with one page. Killed at drop.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    sent: u64,
    /// Events that came while an answer was awaited.
    pub events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    pub fn start() -> Browser {
        let profile = TempDir::new();
        let mut command = Command::new("sh");
        // It reads commands from descriptor 3 and writes to 4.
        command.args(["-c", "exec 3<&0 4>&1 >/dev/null 2>&1 </dev/null; exec \"$0\" \"$@\"", "chromium"]);
        command.args([
            "--headless",
            "--remote-debugging-pipe",
            // Tests may run as root, and open no page but ours.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = spawn(command).expect("chromium starts: scripts/deps.sh installs it");
        let mut stdout = child.stdout.take().expect("piped");
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            let (mut bytes, mut pending) = (vec![0; 64 << 10], Vec::new());
            while let Ok(length @ 1..) = stdout.read(&mut bytes) {
                pending.extend_from_slice(&bytes[..length]);
                while let Some(end) = pending.iter().position(|byte| *byte == 0) {
                    let message: Vec<u8> = pending.drain(..=end).collect();
                    let message = serde_json::from_slice(&message[..end]).expect("JSON");
                    if sender.send(message).is_err() {
                        return;
                    }
                }
            }
        });
        let commands = child.stdin.take().expect("piped");
        let (session, events) = (String::new(), Vec::new());
        let mut browser = Browser { child, commands, messages, session, sent: 0, events, _profile: profile };
        let targets = browser.send("Target.getTargets", json!({}));
        let page = targets["targetInfos"].as_array().expect("a list").iter().find(|target| target["type"] == "page");
        let target = page.expect("a page")["targetId"].clone();
        let attached = browser.send("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        browser.send("Page.enable", json!({}));
        browser.send("Runtime.enable", json!({}));
        browser.send("Log.enable", json!({}));
        browser
    }

    /// Sends a command and waits for its answer.
    #[track_caller]
    pub fn send(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut command = json!({ "id": self.sent, "method": method, "params": parameters });
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).expect("it reads");
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("an answer of the browser");
            if message["id"] == self.sent {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// A screen of this size in this scheme, without motion.
    pub fn screen(&mut self, (width, height): (u32, u32), scheme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.send("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" }]);
        self.send("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    pub fn open(&mut self, url: &str) {
        self.send("Page.navigate", json!({ "url": url }));
    }

    fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        self.send("Runtime.evaluate", asked)
    }

    /// What an expression of JavaScript gives.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let answer = self.evaluate(expression);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true; it fails on a page that is not there yet.
    #[track_caller]
    pub fn shows(&mut self, expression: &str) {
        let began = Instant::now();
        while self.evaluate(expression)["result"]["value"] != true {
            if began.elapsed() > PATIENCE {
                let page = self.value("document.body.innerText");
                panic!("{expression} did not become true: {page}");
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses and releases a key, such as `Tab`.
    pub fn key(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            " " => (32, " "),
            other => (i64::from(other.as_bytes()[0].to_ascii_uppercase()), other),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.send("Input.dispatchKeyEvent", event);
        }
    }

    /// Keeps what is on the screen as a picture in build/screenshots.
    pub fn picture(&mut self, name: &str) {
        let shot = self.send("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = base64(shot["data"].as_str().expect("base64"));
        assert!(bytes.starts_with(b"\x89PNG"), "a picture");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/screenshots");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(format!("{name}.png")), bytes).expect("written");
    }

    /// Events of this kind so far.
    pub fn seen(&self, method: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["method"] == method).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|letter| *letter != b'=').collect();
    let mut bytes = Vec::with_capacity(letters.len());
    for four in letters.chunks(4) {
        let bits =
            four.iter().fold(0u32, |bits, letter| bits << 6 | u32::from(digit(*letter))) << (6 * (4 - four.len()));
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}
