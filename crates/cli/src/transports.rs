//! What carries an algorithm: our own transports, and the Linux kernel.

use whimbrel_cc::Spec;

/// What can run an algorithm today: `send, tcp, kernel (bbr)`.
pub fn carriers(spec: &Spec) -> String {
    let mut all = vec!["send".to_owned()];
    if !spec.entry().is_fed_bursts() {
        all.push("tcp".to_owned());
        let plain = spec.classifier().is_none() && spec.to_string() == spec.entry().name;
        if let Some(name) = spec.entry().kernel.filter(|_| plain) {
            all.push(format!("kernel ({name})"));
        }
    }
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriers_are_named() {
        let of = |name: &str| carriers(&name.parse().expect(name));
        assert_eq!(of("bbr"), "send, tcp, kernel (bbr)");
        assert_eq!(of("cubic+cerl"), "send, tcp");
        assert_eq!(of("enhanced-aatp"), "send");
    }
}
