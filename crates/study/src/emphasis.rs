//! Emphasis in text for terminals. An output stream that is no terminal removes it.

use anstyle::{AnsiColor, Style};

fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// Bold text.
pub fn bold(text: &str) -> String {
    styled(text, Style::new().bold())
}

/// Dimmed text.
pub fn dim(text: &str) -> String {
    styled(text, Style::new().dimmed())
}

/// Bold text of a color.
pub fn colored(text: &str, color: AnsiColor) -> String {
    styled(text, color.on_default().bold())
}
