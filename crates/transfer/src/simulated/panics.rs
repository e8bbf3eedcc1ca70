//! Panics in a thread: a runtime contains those of a task, and an endpoint those of a connection,
//! so that a life goes on as if nothing had happened.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;
use std::thread;

thread_local! {
    static FIRST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on the first panic in this thread is kept.
pub(crate) fn begin() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // While the thread ends there is nothing to keep it in.
            let keep = |first: &RefCell<Option<String>>| {
                if let Ok(mut first) = first.try_borrow_mut() {
                    first.get_or_insert_with(|| panic.to_string());
                }
            };
            FIRST.try_with(keep).ok();
            usual(panic);
        }));
    });
    FIRST.replace(None);
}

/// The first panic since [`begin`].
pub(crate) fn first() -> Option<String> {
    FIRST.with_borrow(Option::clone)
}

/// The result of a life, of which a panic is an error.
pub(crate) fn as_errors<T>(lived: thread::Result<Result<T, String>>) -> Result<T, String> {
    lived.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_task_is_kept() {
        begin();
        assert_eq!(first(), None);
        let task = tokio::spawn(async { panic!("lost") }).await;
        assert!(task.is_err());
        let text = first().expect("kept");
        assert!(text.contains("lost") && text.contains(file!()), "{text}");
    }
}
