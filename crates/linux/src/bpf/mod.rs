//! Loading BPF programs: objects, maps, links, the ring, shared memory.
