//! The storage on a simulated disk, whose machine crashes.
//!
//! | part | content |
//! |---|---|
//! | `life` | a life: transfers, crashes, and what must hold after each of them |
//! | `tests` | many lives; a failing one is made shorter |

mod life;
mod tests;
