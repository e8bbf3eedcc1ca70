//! Input to the page (mouse, keyboard, media) and queries of its figures (places, texts, colours).
//!
//! Places are in pixels of the window.

use crate::Chromium;
use chromiumoxide::cdp::browser_protocol::emulation::{MediaFeature, SetEmulatedMediaParams};
use chromiumoxide::cdp::browser_protocol::input::{
    DispatchKeyEventParams, DispatchKeyEventType, DispatchMouseEventParams, DispatchMouseEventType,
    MouseButton,
};

impl Chromium {
    async fn mouse(&self, kind: DispatchMouseEventType, [x, y]: [f64; 2], pressed: bool) {
        let event = DispatchMouseEventParams::builder().r#type(kind).x(x).y(y);
        let event = event.button(if pressed {
            MouseButton::Left
        } else {
            MouseButton::None
        });
        let event = event.buttons(i64::from(pressed)).click_count(1);
        let event = event.build().expect("an event");
        self.page.execute(event).await.expect("the mouse moves");
    }

    /// Moves the mouse to a place.
    pub async fn point(&self, at: [f64; 2]) {
        self.mouse(DispatchMouseEventType::MouseMoved, at, false)
            .await;
    }

    /// Presses the mouse button at the first place, moves through the others and releases it at the
    /// last.
    pub async fn drag(&self, places: &[[f64; 2]]) {
        if let (Some(from), Some(to)) = (places.first(), places.last()) {
            self.mouse(DispatchMouseEventType::MousePressed, *from, true)
                .await;
            for place in &places[1..] {
                self.mouse(DispatchMouseEventType::MouseMoved, *place, true)
                    .await;
            }
            self.mouse(DispatchMouseEventType::MouseReleased, *to, true)
                .await;
        }
    }

    /// Presses and releases a key, by its DOM name.
    pub async fn key(&self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            " " => 32,
            "0" => 48,
            "+" => 187,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            other => panic!("no code for {other}"),
        };
        for kind in [DispatchKeyEventType::KeyDown, DispatchKeyEventType::KeyUp] {
            let mut event = DispatchKeyEventParams::builder()
                .key(key)
                .code(match key {
                    " " => "Space",
                    "0" => "Digit0",
                    "+" => "Equal",
                    key => key,
                })
                .windows_virtual_key_code(code);
            let text = match key {
                " " => Some(" "),
                "Enter" => Some("\r"),
                _ => None,
            };
            if let Some(text) = text.filter(|_| kind == DispatchKeyEventType::KeyDown) {
                event = event.text(text);
            }
            let event = event.r#type(kind).build().expect("an event");
            self.page.execute(event).await.expect("a key");
        }
    }

    /// Scrolls to a figure and returns the place of a point that is given in values of its axes.
    pub async fn place(&self, figure: &str, panel: usize, [x, y]: [f64; 2]) -> [f64; 2] {
        self.show(figure).await;
        self.value(&format!("whimbrel.place('{figure}', {panel}, [{x}, {y}])"))
            .await
    }

    /// Scrolls to a figure, and waits until the page has heard of it.
    pub async fn show(&self, figure: &str) {
        let _: bool = self
            .value(&format!(
                "new Promise((resolve) => {{
                    document.getElementById('{figure}').scrollIntoView({{ block: 'center' }});
                    requestAnimationFrame(() => requestAnimationFrame(() => resolve(true)));
                }})"
            ))
            .await;
    }

    /// Scrolls to a figure and returns the middle of the `n`-th text in it that equals `text`,
    /// counted from 0.
    pub async fn text(&self, figure: &str, text: &str, n: usize) -> [f64; 2] {
        self.show(figure).await;
        self.value(&format!(
            "(() => {{
                const texts = [...document.getElementById('{figure}').querySelectorAll('.plot.wide text')];
                const box = texts.filter((t) => t.textContent === '{text}')[{n}].getBoundingClientRect();
                return [box.left + box.width / 2, box.top + box.height / 2];
            }})()"
        ))
        .await
    }

    /// The tooltip's text, once it is visible.
    pub async fn tip(&self) -> String {
        self.wait("!document.getElementById('tip').hidden").await;
        self.value("document.getElementById('tip').innerText.replace(/\\s+/g, ' ')")
            .await
    }

    /// Number of visible marks, lines and areas of this colour, `rgb(1, 2, 3)`, in a figure.
    pub async fn drawn_in(&self, figure: &str, colour: &str) -> usize {
        self.value(&format!(
            "[...document.getElementById('{figure}').querySelectorAll('.plot .series *, .plot .item:not(.off) *')].filter((e) => {{
                const {{ fill, stroke }} = getComputedStyle(e);
                return e.getClientRects().length && (fill === '{colour}' || stroke === '{colour}');
            }}).length"
        ))
        .await
    }

    /// Emulates a medium (`screen`, `print`) and a colour scheme (`light`, `dark`).
    pub async fn emulate(&self, media: &str, scheme: &str) {
        let feature = MediaFeature::new("prefers-color-scheme", scheme);
        let emulated = SetEmulatedMediaParams::builder()
            .media(media)
            .feature(feature);
        self.page
            .execute(emulated.build())
            .await
            .expect("emulated media");
    }
}
