//! Events in, commands out: the pure part.
