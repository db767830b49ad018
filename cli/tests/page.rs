//! The page of `dlock serve` in a real browser.

use crate::common::browser::Browser;
use crate::common::served::Served;
use crate::common::{at, expect, start};
use libdlock_testkit::Server;
use serde_json::json;

/// Names that would run in a page that is put together from text.
const MARKUP: [&str; 4] = [
    "<script>window.ran=1;alert(1)</script>",
    "<img src=x onerror=\"window.ran=2\">",
    "\"><svg onload=window.ran=3>",
    "</script><script nonce>window.ran=4</script>",
];

fn server() -> Server {
    Server::options().rights(vec!["+scan".to_owned()]).start()
}

/// Locks as clients leave them on the server: two for each name, the second waits.
fn with_locks(server: &Server, names: &[&str]) {
    for (number, name) in names.iter().enumerate() {
        let client = format!("3e9b9a5c-6f34-4b9a-8d5e-0a1b2c3d{:04x}", number % 5);
        server.cmd(&["HSET", name, &format!("{client}:{number}"), "1"]);
        server.cmd(&["PEXPIRE", name, &(60_000 * (number + 1)).to_string()]);
        if number % 3 == 0 {
            let waits = "7d0c1a2b-1111-4222-8333-0a1b2c3d0001";
            let joined = server.cmd(&["TIME"]).array()[0].text().to_owned() + "000000";
            server.cmd(&["ZADD", &format!("dlock_queue:{{{name}}}"), &joined, waits]);
        }
    }
}

#[test]
fn a_name_like_a_script_does_nothing_in_the_page() {
    let server = server();
    with_locks(&server, &MARKUP);
    let served = Served::start(at(&server, &["serve"]));
    let mut browser = Browser::start();
    browser.screen((1280, 800), "light");
    browser.open(&served.url);
    browser.shows("document.querySelectorAll('#objects tbody tr').length === 4");
    let names =
        browser.value("[...document.querySelectorAll('#objects button.name')].map((name) => name.textContent).sort()");
    let mut expected = MARKUP;
    expected.sort_unstable();
    assert_eq!(names, json!(expected), "each is shown as it is");
    // The detail of one, too.
    browser.value("document.querySelector('#objects button.name').click()");
    browser.shows("document.querySelectorAll('#detail dd').length > 3");
    assert_eq!(browser.value("window.ran ?? null"), json!(null));
    assert_eq!(browser.value("document.querySelectorAll('script, img, svg').length"), json!(1), "our own script");
    assert!(browser.seen("Page.javascriptDialogOpening").is_empty(), "no alert");
    // And the policy would not have let them.
    let put = "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran=5\">')";
    assert_eq!(browser.value(&format!("try {{ {put} }} catch (error) {{ error.name }}")), json!("TypeError"));
    let script = "{ const script = document.createElement('script'); try { script.textContent = 'window.ran=6'; } catch {} \
                  document.body.append(script); window.ran ?? null }";
    assert_eq!(browser.value(script), json!(null));
}

#[test]
fn the_page_is_readable_on_a_phone_and_a_desk_light_and_dark() {
    let server = server();
    let long = format!("customers/{}", "very-long-name-".repeat(12));
    let many: Vec<String> = (0..25).map(|number| format!("orders/{number:05}")).collect();
    let mut names: Vec<&str> = many.iter().map(String::as_str).collect();
    names.extend([MARKUP[0], &long, "строка/замок", "right\u{202e}left"]);
    with_locks(&server, &names);
    expect(&server, &["queue", "put", "mails", "x"], 0);
    expect(&server, &["queue", "put", "mails", "y", "--delay", "10m"], 0);
    expect(&server, &["limit", "api", "-r", "100/m", "--cost", "60"], 0);
    let served = Served::start(at(&server, &["serve"]));
    let mut browser = Browser::start();
    for (width, height) in [(360, 800), (1280, 900)] {
        for scheme in ["light", "dark"] {
            browser.screen((width, height), scheme);
            browser.open(&served.url);
            browser.shows("document.querySelectorAll('#objects tbody tr').length === 31");
            let overflow = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(overflow, json!(0), "nothing is wider than {width}");
            let ground = browser.value("getComputedStyle(document.body).backgroundColor");
            assert_eq!(ground == json!("rgb(246, 247, 249)"), scheme == "light", "{ground}");
            browser.picture(&format!("serve-{width}-{scheme}"));
            browser.value("document.querySelector('#objects button.name').click()");
            browser.shows("document.querySelectorAll('#detail dd').length > 3");
            browser.picture(&format!("serve-{width}-{scheme}-detail"));
        }
    }
    let text = browser.value("document.body.innerText");
    assert!(text.as_str().unwrap().contains("right\\u{202e}left"), "what reorders text is escaped");
    let errors = browser.seen("Log.entryAdded");
    assert!(errors.is_empty(), "{errors:?}");
    assert!(browser.seen("Runtime.exceptionThrown").is_empty());
}

#[test]
fn the_page_is_used_by_keyboard_and_releases_when_allowed() {
    let server = server();
    let holder = start(at(&server, &["run", "held/by-a-command", "--", "sh", "-c", "echo in; exec sleep 60"]));
    holder.said("in");
    with_locks(&server, &["other"]);
    let served = Served::start(at(&server, &["serve", "--allow-force"]));
    let mut browser = Browser::start();
    browser.screen((1280, 800), "light");
    browser.open(&served.url);
    browser.shows("document.querySelectorAll('#objects tbody tr').length === 2");
    let focused = "document.activeElement.id || document.activeElement.textContent";
    let mut order = Vec::new();
    for _ in 0..5 {
        browser.key("Tab");
        order.push(browser.value(focused).as_str().unwrap().to_owned());
    }
    assert_eq!(order, ["filter", "kind", "sort", "pause", "held/by-a-command"]);
    // Rows are drawn anew each second, and the place stays.
    browser.value("new Promise((done) => setTimeout(done, 2500))");
    assert_eq!(browser.value(focused), json!("held/by-a-command"));
    browser.key("Enter");
    browser.shows("document.querySelector('#detail').open && !document.querySelector('#release').hidden");
    browser.key("Escape");
    browser.shows("!document.querySelector('#detail').open");
    assert_eq!(browser.value(focused), json!("held/by-a-command"));
    // The filter, and what a client does.
    browser.value("document.querySelector('#filter').focus()");
    for letter in ["o", "t", "h"] {
        browser.key(letter);
    }
    browser.shows("document.querySelectorAll('#objects tbody tr').length === 1");
    browser.value("document.querySelector('#clients button.name').click()");
    browser.shows("document.querySelector('#detail').innerText.includes('holds')");
    browser.key("Escape");
    // The question is answered before it is asked, as a dialog would hold up what answers it.
    browser.value("window.confirm = (text) => { window.asked = text; return true; }");
    browser.value("document.querySelector('#filter').value = ''");
    browser.key("Enter");
    browser.shows("document.querySelectorAll('#objects tbody tr').length === 2");
    browser.value("document.querySelector('#objects button.name').click()");
    browser.shows("!document.querySelector('#release').hidden");
    browser.value("document.querySelector('#release').click()");
    browser.shows("[...document.querySelectorAll('#detail dd')].some((cell) => cell.textContent === 'free')");
    assert!(browser.value("window.asked").as_str().unwrap().contains("held/by-a-command"));
    assert_eq!(holder.ended().code, 124, "its holder has lost it");
}

#[test]
fn the_page_says_that_the_server_is_away_and_when_it_is_back() {
    let mut server = server();
    with_locks(&server, &["a"]);
    let served = Served::start(at(&server, &["serve"]));
    let mut browser = Browser::start();
    browser.screen((360, 800), "dark");
    browser.open(&served.url);
    browser.shows("document.querySelector('#status').textContent === 'up'");
    server.stop();
    browser.shows("document.querySelector('#status').textContent === 'server away'");
    browser.shows("document.querySelector('#problem').textContent.includes('127.0.0.1')");
    browser.picture("serve-360-dark-away");
    assert_eq!(served.get("/healthz").code, 503);
    assert!(served.get("/metrics").body.contains("dlock_up 0\n"));
    server.start_again();
    browser.shows("document.querySelector('#status').textContent === 'up'");
    assert_eq!(served.get("/healthz").code, 200);
    assert!(served.get("/metrics").body.contains("dlock_up 1\n"));
    // It is the program itself that has gone.
    served.running.signal("TERM");
    assert_eq!(served.running.ended().code, 0);
    browser.shows("document.querySelector('#status').textContent === 'no answer'");
}
