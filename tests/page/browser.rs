//! Chromium without a window, driven by its DevTools protocol over two pipes: file descriptors 3 and 4 of
//! `--remote-debugging-pipe`, messages ended by a zero byte.

use mavka_tests::PATIENCE;
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Names of the program.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The program: in the environment variable CHROMIUM, or on the path.
pub fn installed() -> Option<PathBuf> {
    if let Some(given) = env::var_os("CHROMIUM") {
        return Some(given.into());
    }
    let path = env::var_os("PATH")?;
    let mut places = env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    places.find(|place| place.is_file())
}

/// One tab of a browser of its own.
pub struct Browser {
    child: Child,
    profile: PathBuf,
    to: ChildStdin,
    from: Receiver<Value>,
    last: u64,
    session: Option<String>,
    events: Vec<Value>,
}

/// A key: its name, and the code that pages of today ignore and Chromium needs for its own acts.
pub type Key = (&'static str, u32);

impl Browser {
    /// Starts the program.
    pub fn start(program: &PathBuf) -> Browser {
        let profile = env::temp_dir().join(format!("mavka-page-{}", std::process::id()));
        // The shell moves its input and output to where Chromium looks for the pipes.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-extensions"])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--disable-quic", "--disable-sync", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, from) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let sent = serde_json::from_slice(&message).map(|message| sender.send(message));
                if !matches!(sent, Ok(Ok(()))) {
                    break;
                }
                message.clear();
            }
        });
        let events = Vec::new();
        let mut browser = Browser { child, profile, to, from, last: 0, session: None, events };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn receive(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).expect("an answer of Chromium")
    }

    /// Calls a method of the protocol.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == json!(self.last) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a page and waits until it is loaded.
    pub fn open(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }));
        let is_loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(is_loaded) {
            let event = self.receive();
            self.events.push(event);
        }
    }

    /// Parameters of the events of this name since the page was opened.
    pub fn events(&self, name: &str) -> Vec<Value> {
        let named = self.events.iter().filter(|event| event["method"] == name);
        named.map(|event| event["params"].clone()).collect()
    }

    /// The value of an expression; a promise is waited for.
    pub fn eval(&mut self, expression: &str) -> Result<Value, String> {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let found = self.call("Runtime.evaluate", asked);
        match found.get("exceptionDetails") {
            Some(fault) => Err(format!("{expression}: {}", fault["exception"]["description"])),
            None => Ok(found["result"]["value"].clone()),
        }
    }

    /// Size of the window, and the preferred colours.
    pub fn window(&mut self, width: u32, height: u32, is_dark: bool) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// A click into the middle of an element, or at a share of its box.
    pub fn click_at(&mut self, selector: &str, share: [f64; 2]) -> Result<(), String> {
        // Sections out of sight have no layout; after two frames those in sight have theirs.
        let box_of = format!(
            "(async () => {{ const found = document.querySelector({selector:?}); const frame = () => new Promise(requestAnimationFrame);
             for (let i = 0; i < 2; i++) {{ found.scrollIntoView({{ block: 'center' }}); await frame(); }}
             const box = found.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; }})()"
        );
        let found = self.eval(&box_of)?;
        let number = |place: usize| found[place].as_f64().unwrap_or_default();
        let [x, y] = [0, 1].map(|axis| number(axis) + share[axis] * number(axis + 2));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
        Ok(())
    }

    /// The same in the middle.
    pub fn click(&mut self, selector: &str) -> Result<(), String> {
        self.click_at(selector, [0.5, 0.5])
    }

    /// Presses and releases a key.
    pub fn press(&mut self, (name, code): Key) {
        for kind in ["keyDown", "keyUp"] {
            let mut event =
                json!({ "type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && name == "Enter" {
                event["text"] = json!("\r");
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Types a text.
    pub fn insert(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// A picture of the upper part of the page, as base64 of a PNG.
    pub fn picture(&mut self, width: u32, height: u32) -> String {
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let found = self.call("Page.captureScreenshot", asked);
        found["data"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}
