//! The lab's page in a real browser: sliders, keys, drawing, the tour, links, errors, contrast.

mod contrast;

use std::time::Duration;
use whimbrel_browser_tests::Chromium;
use whimbrel_lab::State;
use whimbrel_lab::server::Lab;

const DESK: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (390, 844);
/// A request that takes milliseconds.
const SHORT: &str = "duration=2+s&algorithms=cubic,whimbrel";

/// A page in this state. Its server ends with the process of the test.
async fn opened(state: &str, size: (u32, u32)) -> Chromium {
    let lab = Lab::bind(0).expect("a port");
    let url = lab.url(&State::parse(state).expect("a state"));
    std::thread::spawn(move || lab.serve());
    let chromium = Chromium::open_url(&url, size).await;
    idle(&chromium).await;
    chromium
}

/// Waits until the results are those of the state.
async fn idle(chromium: &Chromium) {
    chromium
        .wait("!whimbrel.busy() && document.querySelectorAll('#table tbody tr').length > 0")
        .await;
}

/// Does something, and waits for its results.
async fn after(chromium: &Chromium, script: &str) {
    chromium.run(script).await;
    idle(chromium).await;
}

async fn summary(chromium: &Chromium) -> String {
    chromium
        .value("document.getElementById('summary').textContent")
        .await
}

async fn state(chromium: &Chromium, key: &str) -> String {
    chromium.value(&format!("whimbrel.state().{key}")).await
}

/// Ends a test; the page must have reported no error.
async fn done(mut chromium: Chromium) {
    assert_eq!(chromium.complaints().await, Vec::<String>::new());
    chromium.close().await;
}

/// Sets a slider as a hand does: by its position.
fn slide(key: &str, position: u32) -> String {
    format!(
        "const slider = document.getElementById('{key}-slider');
         slider.value = {position};
         slider.dispatchEvent(new Event('input', {{ bubbles: true }}))"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slider_changes_link_numbers_and_words() {
    let chromium = opened(SHORT, DESK).await;
    let before = summary(&chromium).await;
    assert!(before.contains("Mbit/s of 20.0 Mbit/s"), "{before}");
    after(&chromium, &slide("rate", 250)).await;
    let rate = state(&chromium, "rate").await;
    assert!(rate.ends_with(" Mbit/s") && rate != "20 Mbit/s", "{rate}");
    let hash: String = chromium.value("location.hash").await;
    let encoded = rate.replace('/', "%2F").replace(' ', "+");
    assert!(hash.contains(&format!("rate={encoded}")), "{hash}");
    let told: String = chromium
        .value("document.getElementById('rate-slider').getAttribute('aria-valuetext')")
        .await;
    assert_eq!(told, rate);
    assert_ne!(summary(&chromium).await, before);
    // The words are announced.
    let live: bool = chromium
        .value("document.getElementById('summary').closest('[aria-live=polite]') !== null")
        .await;
    assert!(live);
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_numbers_are_those_of_the_saved_scenario() {
    let chromium = opened(
        "rate=50+Mbit/s&rtt=20+ms&duration=3+s&algorithms=cubic,cerl&seed=4",
        DESK,
    )
    .await;
    let text: String = chromium
        .value(
            "fetch('scenario', { method: 'POST', headers: { 'content-type': 'application/x-whimbrel-lab' },
               body: location.hash.slice(1) }).then((answer) => answer.text())",
        )
        .await;
    let file = std::path::Path::new("lab.toml");
    let scenario = whimbrel_sim::scenario::Scenario::parse(&text, file).expect("valid");
    let mut rates = Vec::new();
    for point in scenario.points() {
        let outcome = whimbrel_sim::run(&point.network(point.seeds()[0]));
        let bytes: f64 = outcome.flows.iter().map(|f| f.delivered.get() as f64).sum();
        let rate = bytes * 8e-6 / outcome.duration.as_secs_f64();
        assert!((1.0..99.0).contains(&rate), "in Mbit/s: {rate}");
        rates.push(rate);
    }
    let words = summary(&chromium).await;
    for (name, rate) in ["cubic", "cerl"].iter().zip(rates) {
        let decimals = if rate >= 9.995 { 1 } else { 2 };
        let part = format!("{name} {rate:.decimals$} Mbit/s");
        assert!(words.contains(&part), "no {part} in {words}");
    }
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_reached_by_keys_and_has_a_name() {
    let chromium = opened(SHORT, DESK).await;
    let nameless: Vec<String> = chromium
        .value(
            "[...document.querySelectorAll('input, select, button, [role=slider], [tabindex=\"0\"]')]
               .filter((e) => e.getClientRects().length)
               .filter((e) => !(e.labels?.length || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim()))
               .map((e) => e.outerHTML.slice(0, 120))",
        )
        .await;
    assert_eq!(nameless, Vec::<String>::new());
    // Tab passes the header, the tour and the first fields, in this order.
    chromium.run("document.body.focus()").await;
    let mut passed = Vec::new();
    for _ in 0..22 {
        chromium.key("Tab").await;
        let id: String = chromium
            .value("document.activeElement.id || document.activeElement.textContent.trim().slice(0, 30)")
            .await;
        passed.push(id);
    }
    let place = |id: &str| passed.iter().position(|one| one == id);
    let order = ["skip", "copy", "theme", "rate", "rate-slider"].map(place);
    assert!(order.iter().all(Option::is_some), "{order:?} {passed:?}");
    assert!(order.is_sorted(), "{passed:?}");
    // An arrow key moves the slider.
    chromium
        .run("document.getElementById('rate-slider').focus()")
        .await;
    for _ in 0..4 {
        chromium.key("ArrowRight").await;
    }
    idle(&chromium).await;
    assert_ne!(state(&chromium, "rate").await, "20 Mbit/s");
    // The link that skips to the results does not change the state.
    chromium
        .run("document.getElementById('skip').focus()")
        .await;
    chromium.key("Enter").await;
    let focused: String = chromium.value("document.activeElement.id").await;
    assert_eq!(focused, "results");
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_is_drawn_with_the_pointer_and_with_keys() {
    let chromium = opened(SHORT, DESK).await;
    after(
        &chromium,
        "document.querySelector('[name=rate-mode][value=drawn]').click()",
    )
    .await;
    assert_eq!(
        state(&chromium, "rates").await,
        "0:20",
        "it begins with the slider's rate"
    );
    let [left, top, width, height]: [f64; 4] = chromium
        .value(
            "(() => { const box = document.querySelector('#draw-rates .drawing');
               box.scrollIntoView({ block: 'center' });
               const { left, top, width, height } = box.getBoundingClientRect();
               return [left, top, width, height]; })()",
        )
        .await;
    let place = |x: f64, y: f64| [left + x * width, top + y * height];
    chromium
        .drag(&[place(0.34, 0.9), place(0.5, 0.9), place(0.65, 0.9)])
        .await;
    idle(&chromium).await;
    let drawn = state(&chromium, "rates").await;
    let steps: Vec<&str> = drawn.split(' ').collect();
    assert_eq!(steps.len(), 3, "down and up again: {drawn}");
    let value = |step: &str| -> f64 {
        let (_, value) = step.split_once(':').expect("a step");
        value.parse().expect("a number")
    };
    assert!(value(steps[1]) < 1.0 && value(steps[2]) == 20.0, "{drawn}");
    // Keys: to the first column, then up.
    chromium
        .run("document.querySelector('#draw-rates [tabindex=\"0\"]').focus()")
        .await;
    chromium.key("Home").await;
    chromium.key("ArrowUp").await;
    idle(&chromium).await;
    let keyed = state(&chromium, "rates").await;
    assert!(
        value(keyed.split(' ').next().expect("one")) > 20.0,
        "{keyed}"
    );
    let told: String = chromium
        .value("document.activeElement.getAttribute('aria-valuetext')")
        .await;
    assert!(told.ends_with("Mbit/s"), "{told}");
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_goes_through_its_scenes() {
    let chromium = opened(SHORT, DESK).await;
    after(
        &chromium,
        "document.querySelector('#scenes button').click()",
    )
    .await;
    for scene in whimbrel_lab::tour::SCENES {
        let title: String = chromium
            .value("document.getElementById('scene-title').textContent")
            .await;
        assert!(title.ends_with(scene.title), "{title}");
        let focused: String = chromium.value("document.activeElement.id").await;
        assert_eq!(focused, "scene-title", "a screen reader reads it");
        let error: bool = chromium
            .value("[...document.querySelectorAll('.error')].some((e) => !e.hidden)")
            .await;
        assert!(!error, "{}", scene.id);
        let figures: Vec<String> = chromium.value("whimbrel.figures()").await;
        assert!(figures.contains(&"time-0".to_owned()), "{figures:?}");
        after(&chromium, "document.getElementById('next').click()").await;
    }
    let hidden: bool = chromium
        .value("document.getElementById('scene').hidden")
        .await;
    assert!(hidden, "the end of the tour closes it");
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_value_is_explained_beside_its_field() {
    let mut chromium = opened(SHORT, DESK).await;
    chromium
        .run(
            "const box = document.getElementById('queue'); box.value = '7';
             box.dispatchEvent(new Event('change', { bubbles: true }))",
        )
        .await;
    chromium
        .wait("!document.getElementById('queue-error').hidden && !whimbrel.busy()")
        .await;
    let [why, invalid, about]: [String; 3] = chromium
        .value(
            "(() => { const box = document.getElementById('queue');
               return [document.getElementById('queue-error').textContent, box.getAttribute('aria-invalid'),
                       box.getAttribute('aria-describedby')]; })()",
        )
        .await;
    assert!(why.contains("bdp"), "{why}");
    assert_eq!((invalid.as_str(), about.as_str()), ("true", "queue-error"));
    after(&chromium, &slide("queue", 300)).await;
    let gone: bool = chromium
        .value("document.getElementById('queue-error').hidden && !document.querySelector('[aria-invalid]')")
        .await;
    assert!(gone);
    // The browser itself notes the refused request.
    let complaints = chromium.complaints().await;
    assert!(
        complaints.iter().all(|text| text.contains("422")),
        "{complaints:?}"
    );
    chromium.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn neighbours_and_algorithms_are_chosen() {
    let chromium = opened(SHORT, DESK).await;
    after(
        &chromium,
        "const box = document.getElementById('neighbour'); box.value = 'newreno';
         box.dispatchEvent(new Event('change', { bubbles: true }))",
    )
    .await;
    assert_eq!(state(&chromium, "neighbours").await, "newreno:1");
    let words = summary(&chromium).await;
    assert!(words.contains("its neighbours"), "{words}");
    chromium
        .run("document.getElementById('find').focus()")
        .await;
    chromium
        .run("document.getElementById('find').value = 'cubic+cerl'")
        .await;
    chromium.key("Enter").await;
    idle(&chromium).await;
    let all = state(&chromium, "algorithms").await;
    assert_eq!(all, "cubic,whimbrel,cubic+cerl");
    after(
        &chromium,
        "document.querySelector('#chosen button').click()",
    )
    .await;
    assert_eq!(state(&chromium, "algorithms").await, "whimbrel,cubic+cerl");
    let figures: Vec<String> = chromium.value("whimbrel.figures()").await;
    assert!(
        figures.iter().any(|id| id.starts_with("shares")),
        "{figures:?}"
    );
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_fetched_from_elsewhere_and_no_script_runs_inline() {
    let mut chromium = opened(SHORT, DESK).await;
    let origin: String = chromium.value("location.origin").await;
    let fetched = chromium.fetched().await;
    assert!(fetched.len() > 3, "{fetched:?}");
    assert!(
        fetched.iter().all(|url| url.starts_with(&origin)),
        "{fetched:?}"
    );
    let refused: String = chromium
        .value(
            "new Promise((resolve) => {
                document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
                const script = document.createElement('script');
                script.textContent = 'window.let_in = true';
                document.body.append(script);
            })",
        )
        .await;
    assert_eq!(refused, "script-src-elem");
    let _ = chromium.complaints().await;
    chromium.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_shows_everything_without_scrolling_sideways() {
    let chromium = opened("duration=2+s", PHONE).await;
    after(
        &chromium,
        "document.querySelector('#scenes button').click()",
    )
    .await;
    let [page, window]: [f64; 2] = chromium
        .value("[document.documentElement.scrollWidth, window.innerWidth]")
        .await;
    assert!(page <= window, "{page} of {window}");
    let narrow: bool = chromium
        .value(
            "[...document.querySelectorAll('.chart')].every((chart) =>
               chart.querySelector('.plot.narrow').getClientRects().length > 0
               && chart.querySelector('.plot.wide').getClientRects().length === 0)",
        )
        .await;
    assert!(narrow);
    // The results are far below the fields: their words stay in sight.
    let strip: String = chromium
        .value("document.getElementById('strip').checkVisibility() ? document.getElementById('strip').textContent : ''")
        .await;
    assert_eq!(strip, summary(&chromium).await);
    // Targets of a finger.
    let small: Vec<String> = chromium
        .value(
            "[...document.querySelectorAll('button, input:not([type=checkbox], [type=radio]), select')]
               .filter((e) => e.getClientRects().length && e.getBoundingClientRect().height < 20)
               .map((e) => e.id || e.textContent)",
        )
        .await;
    assert_eq!(small, Vec::<String>::new());
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_have_contrast_in_light_and_dark() {
    let chromium = opened("duration=2+s&fades=1", DESK).await;
    after(
        &chromium,
        "document.querySelector('#scenes button').click()",
    )
    .await;
    for scheme in ["light", "dark"] {
        chromium.emulate("screen", scheme).await;
        let low: Vec<String> = chromium.value(contrast::TOO_LOW).await;
        assert_eq!(low, Vec::<String>::new(), "{scheme}");
    }
    done(chromium).await;
}

/// Pictures to look at: `LAB_PICTURES=FOLDER cargo test -p whimbrel-browser-tests --test lab --
/// --ignored pictures`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes pictures for people"]
async fn pictures_of_the_page() {
    use chromiumoxide::page::ScreenshotParams;
    let Some(folder) = std::env::var_os("LAB_PICTURES") else {
        return;
    };
    let folder = std::path::PathBuf::from(folder);
    for (size, name) in [(DESK, "desk"), (PHONE, "phone")] {
        for scheme in ["light", "dark"] {
            let chromium = opened("", size).await;
            chromium.emulate("screen", scheme).await;
            after(
                &chromium,
                "document.querySelectorAll('#scenes button')[0].click()",
            )
            .await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            for (kind, full) in [("top", false), ("full", true)] {
                let parameters = ScreenshotParams::builder().full_page(full).build();
                let to = folder.join(format!("{name}-{scheme}-{kind}.png"));
                chromium
                    .page
                    .save_screenshot(parameters, to)
                    .await
                    .expect("a picture");
            }
            chromium.close().await;
        }
    }
}
