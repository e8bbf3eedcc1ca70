//! The data of a connection over several paths, counted in segments: what its sender has not yet given to any path, and
//! what its receiver has put together.

use crate::engine::packet::Block;
use crate::network::TcpSettings;
use crate::ranges::Ranges;
use crate::tcp::Mapping;
use whimbrel_units::Bytes;

/// What no path has taken yet, and what the other end is known to have.
#[derive(Debug)]
pub(super) struct Unsent {
    next: u32,
    /// Segments in all; `u32::MAX`: endless.
    total: u32,
    mss: u32,
    /// Bytes of the last of them.
    last: u32,
    /// Receive window in segments.
    window: u32,
    /// The next segment that the other end expects, as far as is known.
    acknowledged: u32,
}

impl Unsent {
    /// `size` bytes, endless when `None`.
    pub fn new(size: Option<Bytes>, settings: &TcpSettings) -> Self {
        let mss = settings.mss.get();
        let segments = size.map_or(u64::from(u32::MAX), |size| size.get().div_ceil(mss));
        let last = size.map_or(mss, |size| size.get() - segments.saturating_sub(1) * mss);
        let window = settings.receive_window.get() / mss;
        Self {
            next: 0,
            total: u32::try_from(segments).unwrap_or(u32::MAX - 1),
            mss: mss as u32,
            last: last as u32,
            window: u32::try_from(window).unwrap_or(u32::MAX).max(1),
            acknowledged: 0,
        }
    }

    /// The next segment, if there is one and the receive window has room for it.
    pub fn next(&self) -> Option<Mapping> {
        let open = self.next < self.total && self.next - self.acknowledged < self.window;
        open.then(|| Mapping {
            data: self.next,
            payload: self.payload(self.next),
        })
    }

    /// A path has taken the next segment.
    pub fn take(&mut self) {
        self.next += 1;
    }

    /// There is no more than what was taken.
    pub fn stop(&mut self) {
        if self.next < self.total {
            self.total = self.next;
            self.last = self.mss;
        }
    }

    /// The other end expects this segment next, or did when it said so: another path may have been faster.
    pub fn on_data_ack(&mut self, next: u32) {
        self.acknowledged = self.acknowledged.max(next.min(self.next));
    }

    pub fn is_acknowledged(&self, data: u32) -> bool {
        data < self.acknowledged
    }

    pub fn all_acknowledged(&self) -> bool {
        self.is_all(self.acknowledged)
    }

    /// Whether so many segments are all that there are.
    pub fn is_all(&self, segments: u32) -> bool {
        self.total != u32::MAX && segments >= self.total
    }

    /// Bytes of one segment.
    pub fn payload(&self, data: u32) -> u32 {
        if data.checked_add(1) == Some(self.total) {
            self.last
        } else {
            self.mss
        }
    }

    /// Bytes of so many segments from the first on.
    pub fn bytes(&self, segments: u32) -> u64 {
        let full = u64::from(segments) * u64::from(self.mss);
        match segments {
            0 => 0,
            n if n == self.total => full - u64::from(self.mss - self.last),
            _ => full,
        }
    }
}

/// What the receiver has put together of what came on all paths.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    next: u32,
    beyond: Ranges,
}

impl Reassembly {
    /// The next segment expected: all below it are with the application.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// A segment came; false if it had come before.
    pub fn on_data(&mut self, data: u32) -> bool {
        if data < self.next || self.beyond.holding(data).is_some() {
            return false;
        }
        if data > self.next {
            let one = Block {
                start: data,
                end: data + 1,
            };
            self.beyond.insert(one, |_| {});
            return true;
        }
        self.next += 1;
        if let Some(block) = self.beyond.holding(self.next) {
            self.next = block.end;
            self.beyond.forget_below(self.next);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsent(bytes: u64, window: u64) -> Unsent {
        let settings = TcpSettings {
            mss: Bytes::new(1000),
            receive_window: Bytes::new(window),
            ..TcpSettings::default()
        };
        Unsent::new(Some(Bytes::new(bytes)), &settings)
    }

    #[test]
    fn the_last_segment_is_what_is_left() {
        // 2500 bytes in segments of 1000: 1000, 1000, 500.
        let mut unsent = unsent(2500, 1 << 20);
        let mut sizes = Vec::new();
        while let Some(mapping) = unsent.next() {
            sizes.push((mapping.data, mapping.payload));
            unsent.take();
        }
        assert_eq!(sizes, [(0, 1000), (1, 1000), (2, 500)]);
        assert_eq!((unsent.bytes(2), unsent.bytes(3)), (2000, 2500));
        assert!(unsent.is_all(3) && !unsent.is_all(2));
    }

    #[test]
    fn the_receive_window_counts_from_the_data_ack_and_an_older_one_takes_nothing_back() {
        let mut unsent = unsent(100_000, 3500);
        for _ in 0..3 {
            assert!(unsent.next().is_some());
            unsent.take();
        }
        assert_eq!(unsent.next(), None, "3 whole segments fit into 3500 bytes");
        unsent.on_data_ack(2);
        unsent.on_data_ack(1);
        assert_eq!(unsent.next().map(|m| m.data), Some(3));
        assert!(unsent.is_acknowledged(1) && !unsent.is_acknowledged(2));
        unsent.on_data_ack(u32::MAX);
        assert!(
            !unsent.is_acknowledged(3),
            "what was never sent cannot have come"
        );
    }

    #[test]
    fn what_is_stopped_ends_with_what_was_taken() {
        let mut unsent = unsent(100_000, 1 << 20);
        unsent.take();
        unsent.take();
        unsent.stop();
        assert_eq!(unsent.next(), None);
        assert!(unsent.is_all(2));
        assert_eq!(unsent.bytes(2), 2000);
    }

    #[test]
    fn data_is_delivered_in_order_and_once_in_whatever_order_it_comes() {
        let mut reassembly = Reassembly::default();
        let came: Vec<_> = [1, 3, 0, 1, 3, 2, 0, 4]
            .map(|data| (reassembly.on_data(data), reassembly.next()))
            .to_vec();
        let expected = [
            (true, 0),
            (true, 0),
            (true, 2),
            (false, 2),
            (false, 2),
            (true, 4),
            (false, 4),
            (true, 5),
        ];
        assert_eq!(came, expected);
    }
}
