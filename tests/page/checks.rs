//! What the page promises, each promise with a fault that breaks it.

use super::browser::{Browser, Key};
use serde_json::{Value, json};

/// A promise of the page.
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// Width and height of the window.
    window: [u32; 2],
    run: fn(&mut Browser) -> Result<(), String>,
    /// A text of the page, and the one that breaks the promise.
    pub fault: [&'static str; 2],
    /// The faulty page keeps its content security policy: neither script nor style sheet is changed.
    pub keeps_policy: bool,
}

const DESKTOP: [u32; 2] = [1366, 900];
const PHONE: [u32; 2] = [360, 800];

/// All checks.
pub const CHECKS: [Check; 12] = [
    check("stepping", DESKTOP, stepping, ["next: step(1)", "next: step(0)"]),
    check("keyboard", DESKTOP, keyboard, ["End: steps.last", "End: steps.first"]),
    check("lines", DESKTOP, lines, ["follow(line, made + by)", "follow(line, made)"]),
    check("mistakes", DESKTOP, mistakes, ["points === 0", "points === 9"]),
    check("clock", DESKTOP, clock, ["`clock ${clock(left)}`", "''"]),
    check("network view", DESKTOP, network_view, ["if (!root.open) return;", "return;"]),
    check("phone", PHONE, phone, [".sides tbody { display: flex; }", ".sides { width: 34rem; }"]),
    check("contrast", DESKTOP, contrast, ["--inaccuracy: #856000", "--inaccuracy: #b8860b"]),
    check("names", DESKTOP, names, ["aria-label='Turn the board' title='Turn the board (f)'", ""]),
    check("policy", DESKTOP, policy, ["<title>", "<title> "]),
    Check {
        keeps_policy: true,
        ..check("hostile tags", DESKTOP, hostile_tags, ["<h2>&lt;img src=x", "<h2><img src=x"])
    },
    Check {
        keeps_policy: true,
        ..check(
            "no script",
            DESKTOP,
            no_script,
            ["<div class='viewer replay' hidden>", "<div class='viewer'>"],
        )
    },
];

const fn check(
    name: &'static str,
    window: [u32; 2],
    run: fn(&mut Browser) -> Result<(), String>,
    fault: [&'static str; 2],
) -> Check {
    Check { name, window, run, fault, keeps_policy: false }
}

impl Check {
    /// Opens the page and looks.
    pub fn run(&self, browser: &mut Browser, url: &str) -> Result<(), String> {
        let [width, height] = self.window;
        browser.window(width, height, false);
        let without = json!({ "value": self.name == "no script" });
        browser.call("Emulation.setScriptExecutionDisabled", without);
        browser.open(url);
        (self.run)(browser)
    }
}

/// Waits for the boards, which are made once their games come near the window.
pub fn settled(browser: &mut Browser) -> Result<(), String> {
    let wait = "(async () => {
        for (const section of document.querySelectorAll('section[id^=g]')) {
            section.scrollIntoView();
            const viewer = section.querySelector('.viewer');
            for (let i = 0; i < 300 && viewer.hidden; i++) await new Promise(done => setTimeout(done, 10));
            if (viewer.hidden) throw new Error('no board in ' + section.id);
        }
        scrollTo(0, 0);
    })()";
    browser.eval(wait).map(drop)
}

fn expect(browser: &mut Browser, expression: &str, expected: Value) -> Result<(), String> {
    let found = browser.eval(expression)?;
    if found == expected {
        Ok(())
    } else {
        Err(format!("{expression}: {found}, expected {expected}"))
    }
}

/// Whether a text contains another one.
fn says(browser: &mut Browser, selector: &str, part: &str) -> Result<(), String> {
    let text = browser.eval(&format!("document.querySelector({selector:?}).textContent"))?;
    let text = text.as_str().unwrap_or_default();
    if text.contains(part) { Ok(()) } else { Err(format!("{selector}: `{text}` without `{part}`")) }
}

/// Number of moves of a game up to the one that is marked.
fn ply(browser: &mut Browser, game: &str, expected: i32) -> Result<(), String> {
    let moves = format!("[...document.querySelectorAll('{game} .moves-list .move')]");
    expect(
        browser,
        &format!("{moves}.findIndex(move => move.matches('.now')) + 1"),
        json!(expected),
    )
}

/// Clicks the first element of `selector` with this text.
pub fn click_text(browser: &mut Browser, selector: &str, text: &str) -> Result<(), String> {
    let mark = format!(
        "document.querySelectorAll('.clicked').forEach(old => old.classList.remove('clicked'));
         [...document.querySelectorAll({selector:?})].find(one => one.textContent.includes({text:?})).classList.add('clicked')"
    );
    browser.eval(&mark)?;
    browser.click(".clicked")
}

fn click_square(
    browser: &mut Browser,
    game: &str,
    name: &str,
    is_turned: bool,
) -> Result<(), String> {
    let letters: Vec<u8> = name.bytes().collect();
    let (file, rank) = (f64::from(letters[0] - b'a'), f64::from(letters[1] - b'1'));
    let (column, row) = if is_turned { (7.0 - file, rank) } else { (file, 7.0 - rank) };
    browser.click_at(&format!("{game} .stage .board"), [(column + 0.5) / 8.0, (row + 0.5) / 8.0])
}

fn stepping(browser: &mut Browser) -> Result<(), String> {
    settled(browser)?;
    for _ in 0..3 {
        browser.click("#g2 [data-go=next]")?;
    }
    ply(browser, "#g2", 3)?;
    says(browser, "#g2 .said", "2. e5")?;
    let on_e5 = "document.querySelectorAll(\"#g2 .stage use[href='#p'][class='w'][x='180'][y='135']\").length";
    expect(browser, on_e5, json!(1))?;
    says(browser, "#g2 .score", "White expects")?;
    browser.click("#g2 [data-go=back]")?;
    ply(browser, "#g2", 2)?;
    browser.click("#g2 [data-go=last]")?;
    ply(browser, "#g2", 67)?;
    click_text(browser, "#g2 .moves-list .move", "Nb6")?;
    ply(browser, "#g2", 8)?;
    browser.click_at("#g2 .plot", [0.51, 0.2])?;
    ply(browser, "#g2", 34)?;
    let first = browser.eval("+document.querySelector('#g2 h4 a').dataset.ply")?;
    browser.click("#g2 h4 a")?;
    ply(browser, "#g2", first.as_i64().unwrap_or_default() as i32)
}

const RIGHT: Key = ("ArrowRight", 39);
const LEFT: Key = ("ArrowLeft", 37);

fn keyboard(browser: &mut Browser) -> Result<(), String> {
    settled(browser)?;
    browser.eval("document.querySelector('#g2').scrollIntoView()")?;
    browser.click("#g2 [data-go=first]")?;
    for (key, expected) in [(RIGHT, 1), (RIGHT, 2), (LEFT, 1), (("End", 35), 67), (("Home", 36), 0)]
    {
        browser.press(key);
        ply(browser, "#g2", expected)?;
    }
    browser.press(("f", 70));
    says(browser, "#g2 .stage text", "h")?;
    // Tab goes through the buttons in their order, then to the mistakes.
    let name = "(a => a.getAttribute('aria-label') || a.textContent)(document.activeElement)";
    browser.eval("document.querySelector('#g2 [data-go=first]').focus()")?;
    for expected in ["Back", "On", "End", "Turn the board"] {
        browser.press(("Tab", 9));
        expect(browser, name, json!(expected))?;
    }
    browser.press(("Tab", 9));
    expect(browser, &format!("{name}.startsWith('Learn from')"), json!(true))?;
    browser.press(("Enter", 13));
    expect(browser, "document.activeElement.tagName", json!("INPUT"))?;
    let now = browser.eval("document.querySelector('#g2 .stage .board').innerHTML")?;
    browser.press(RIGHT);
    expect(browser, "document.querySelector('#g2 .stage .board').innerHTML", now)
}

fn lines(browser: &mut Browser) -> Result<(), String> {
    settled(browser)?;
    click_text(browser, "#g1 .moves-list .move", "Nf6")?;
    ply(browser, "#g1", 6)?;
    let now = "document.querySelector('#g1 .lines .now').textContent";
    click_text(browser, "#g1 .lines button", "Variation")?;
    expect(browser, now, json!("g6"))?;
    browser.press(RIGHT);
    expect(browser, now, json!("Qf3"))?;
    says(browser, "#g1 .score", "In a variation")?;
    click_text(browser, "#g1 .lines .move", "Qd1")?;
    // The nested one has the moves before it on the board: White's queen is at home, Black's pawn on g6.
    for [piece, class, x, y] in [["q", "w", "135", "315"], ["p", "b", "270", "90"]] {
        let found = format!(
            "document.querySelectorAll(\"#g1 .stage use[href='#{piece}'][class='{class}'][x='{x}'][y='{y}']\").length"
        );
        expect(browser, &found, json!(1))?;
    }
    browser.press(LEFT);
    ply(browser, "#g1", 5)?;
    // The better line of a card leads to the same board.
    browser.click("#g2 .moments [data-line]")?;
    says(browser, "#g2 .score", "In the better line")
}

fn mistakes(browser: &mut Browser) -> Result<(), String> {
    settled(browser)?;
    click_text(browser, "#g1 .starts button", "Black")?;
    says(browser, "#g1 .task", "3… Nf6?? was played. Find a better move for Black")?;
    expect(browser, "document.querySelector('#g1 .sight').checkVisibility()", json!(false))?;
    let verdict = "#g1 .verdict";
    for square in ["a7", "a6"] {
        click_square(browser, "#g1", square, true)?;
    }
    says(browser, verdict, "a6 is not it")?;
    browser.click("#g1 .learn input")?;
    for (typed, answer) in [("Nf6", "was played in the game"), ("Qxh7", "is not a legal move")] {
        browser.insert(typed);
        browser.press(("Enter", 13));
        says(browser, verdict, answer)?;
    }
    let best = "JSON.parse(document.getElementById('replays-1').textContent)[0].tries.find(one => one[0] === 5)[2][0]";
    let best = browser.eval(best)?.as_str().unwrap_or_default().to_owned();
    for square in [&best[..2], &best[2..4]] {
        click_square(browser, "#g1", square, true)?;
    }
    says(browser, verdict, "Right: ")?;
    says(browser, "#g1 .score", "In the better line")?;
    click_text(browser, "#g1 .learn button", "End")?;
    expect(browser, "document.querySelector('#g1 .asking').hidden", json!(true))
}

fn clock(browser: &mut Browser) -> Result<(), String> {
    settled(browser)?;
    browser.click("#g1 [data-go=next]")?;
    says(browser, "#g1 .score", "clock 2:59")?;
    let covers = "(() => { const [cursor, clocks] = ['.cursor', '.clocks'].map(name => \
                  document.querySelector('#g1 ' + name).getBoundingClientRect()); return cursor.bottom >= clocks.bottom; })()";
    expect(browser, covers, json!(true))?;
    expect(browser, "document.querySelectorAll('.clocks').length", json!(1))
}

fn network_view(browser: &mut Browser) -> Result<(), String> {
    settled(browser)?;
    browser.click("#g2 .sight summary")?;
    let text = "document.querySelector('#g2 .sight div').textContent";
    let rows = "document.querySelectorAll('#g2 .sight tr').length > 2 && document.querySelectorAll('#g2 .sight svg').length";
    // The event of an opened element comes later.
    let opened = format!("new Promise(done => setTimeout(() => done({rows}), 100))");
    expect(browser, &opened, json!(1))?;
    let before = browser.eval(text)?;
    browser.click("#g2 [data-go=next]")?;
    if browser.eval(text)? == before {
        return Err("the next position shows the same".to_owned());
    }
    let board = browser.eval("document.querySelector('#g2 .stage .board').innerHTML")?;
    browser.click("#g2 .sight .line button")?;
    if browser.eval("document.querySelector('#g2 .stage .board').innerHTML")? == board {
        return Err("the board does not show the predicted one".to_owned());
    }
    Ok(())
}

fn phone(browser: &mut Browser) -> Result<(), String> {
    settled(browser)?;
    browser.click("#g2 .sight summary")?;
    click_text(browser, "#g2 .moves-list .move", "f4")?;
    let wide = "document.querySelectorAll('details').forEach(one => { one.open = true; });
        [...document.querySelectorAll('body *')].filter(one => !one.closest('.pieces') && !one.parentElement.closest('.scroll, svg')).filter(one => {
            const box = one.getBoundingClientRect();
            return box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5);
        }).map(one => one.tagName + '.' + one.className)";
    expect(browser, wide, json!([]))?;
    expect(browser, "document.documentElement.scrollWidth", json!(360))?;
    let low = "[...document.querySelectorAll('.controls button, .lines button, .starts button')].filter(one => \
               one.getBoundingClientRect().height < 44).length";
    expect(browser, low, json!(0))?;
    // A move number and its move are on one line.
    let broken = "[...document.querySelectorAll('#g2 .first')].filter(one => one.getBoundingClientRect().height > 30).length";
    expect(browser, broken, json!(0))?;
    let counts = "[...document.querySelectorAll('#g2 .sides th[aria-label]')].map(one => one.getBoundingClientRect()).filter(box => \
                  box.width > 0 && box.right <= innerWidth).length";
    expect(browser, counts, json!(4))
}

/// All visible text outside pictures in both colour schemes, by WCAG 2.2, success criterion 1.4.3.
fn contrast(browser: &mut Browser) -> Result<(), String> {
    let [width, height] = DESKTOP;
    for is_dark in [false, true] {
        browser.window(width, height, is_dark);
        settled(browser)?;
        browser.click("#g2 [data-go=last]")?;
        browser
            .eval("document.querySelectorAll('details').forEach(one => { one.open = true; })")?;
        let faint = "(() => {
            const parts = color => color.match(/[0-9.]+/g).map(Number);
            const light = color => {
                const [r, g, b] = parts(color).map(part => part / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const ground = one => {
                for (; one; one = one.parentElement) {
                    const color = getComputedStyle(one).backgroundColor, alpha = parts(color)[3];
                    if (alpha === undefined || alpha === 1) return color;
                }
                return 'rgb(255, 255, 255)';
            };
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
            while (walker.nextNode()) {
                const one = walker.currentNode.parentElement;
                if (!walker.currentNode.data.trim() || one.closest('svg, script') || !one.checkVisibility()) continue;
                const [a, b] = [light(getComputedStyle(one).color), light(ground(one))].sort((x, y) => y - x);
                if ((a + 0.05) / (b + 0.05) < 4.5) found.push(walker.currentNode.data.trim().slice(0, 20) + ' ' + ((a + 0.05) / (b + 0.05)).toFixed(2));
            }
            return [...new Set(found)];
        })()";
        expect(browser, faint, json!([]))?;
        let ground = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).every(part => part < 60)";
        expect(browser, ground, json!(is_dark))?;
    }
    Ok(())
}

/// Everything that can be used or is a picture has a name with letters or digits for screen readers.
fn names(browser: &mut Browser) -> Result<(), String> {
    settled(browser)?;
    browser.click("#g2 [data-go=next]")?;
    let tree = browser.call("Accessibility.getFullAXTree", json!({}));
    let roles = ["button", "link", "textbox", "image", "img", "region", "DisclosureTriangle"];
    let (mut named, mut nameless) = (0, Vec::new());
    for node in tree["nodes"].as_array().into_iter().flatten() {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if node["ignored"] == true || !roles.contains(&role) {
            continue;
        }
        let name = node["name"]["value"].as_str().unwrap_or_default();
        match name.chars().any(char::is_alphanumeric) {
            true => named += 1,
            false => nameless.push(format!("{role} `{name}`")),
        }
    }
    match (named, nameless.as_slice()) {
        (20.., []) => Ok(()),
        (named, nameless) => Err(format!("{named} named, without a name: {nameless:?}")),
    }
}

/// A script that gets into the page does not run, and nothing is loaded.
fn policy(browser: &mut Browser) -> Result<(), String> {
    settled(browser)?;
    let foreign = "(async () => {
        const script = document.createElement('script');
        script.textContent = \"window.hit = 'script'\";
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<p onclick=\"window.hit = 1\" id=foreign>x</p>');
        document.getElementById('foreign').click();
        const loaded = await fetch('data:text/plain,x').then(() => true, () => false);
        return [window.hit || null, loaded];
    })()";
    expect(browser, foreign, json!([null, false]))
}

fn hostile_tags(browser: &mut Browser) -> Result<(), String> {
    settled(browser)?;
    click_text(browser, "#g1 .moves-list .move", "Nf6")?;
    expect(browser, "window.hit || null", Value::Null)?;
    says(browser, "#g1 h2", "<img src=x onerror=window.hit='name'>")?;
    says(
        browser,
        "#g1 p",
        "</script><script>window.hit='event'</script> · javascript:window.hit='site'",
    )?;
    expect(
        browser,
        "document.querySelectorAll('img, iframe, object, embed, link, base, body script:not([id]) ~ script').length",
        json!(0),
    )?;
    let schemes =
        "[...document.links].filter(one => !['file:', 'https:'].includes(one.protocol)).length";
    expect(browser, schemes, json!(0))?;
    let site = "document.querySelector('#g2 p a').href";
    expect(browser, site, json!("https://example.org/game?a=1&b=2"))?;
    let asked: Vec<Value> = browser.events("Network.requestWillBeSent");
    let addresses: Vec<String> =
        asked.iter().map(|asked| asked["request"]["url"].to_string()).collect();
    if asked.len() == 1 { Ok(()) } else { Err(format!("asked for {addresses:?}")) }
}

fn no_script(browser: &mut Browser) -> Result<(), String> {
    let seen =
        "[...document.querySelectorAll('.viewer')].filter(one => one.checkVisibility()).length";
    expect(browser, seen, json!(0))?;
    expect(browser, "document.querySelectorAll('#g2 .moves tr').length", json!(68))?;
    for part in [".curve", ".moments .board", ".sides", "#player .games-curve"] {
        let count = format!("document.querySelectorAll('{part}').length > 0");
        expect(browser, &count, json!(true))?;
    }
    Ok(())
}
