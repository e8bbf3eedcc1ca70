//! The connections of Linux TCP that an algorithm controlled: what became of them, as a table with
//! lines about what qualifies it, as a time line, and as a page.

mod page;
mod status;
mod summary;
mod time_line;

pub use page::ConnectionsPage;
pub use status::status;
pub use summary::{Summary, text};
pub use time_line::{COLUMNS, logs, time_line};
