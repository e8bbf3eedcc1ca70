//! The network: an LSTM of 32 units, and a layer from it to the actions.
//!
//! ```text
//! z = Wx*x + Wh*h + b,   z = (zi, zf, zg, zo)
//! c = s(zf)*c + s(zi)*tanh(zg),   h = s(zo)*tanh(c),   s(y) = 1/(1 + exp(-y))
//! action = argmax(Wy*h + by)
//! ```
//!
//! The order of the gates and all formulas are those of PyTorch's `nn.LSTM`.

/// Inputs: delay, delivery rate, send rate, window, and the last action as one of five.
pub const INPUTS: usize = 4 + ACTIONS;
/// Units of the LSTM.
pub const UNITS: usize = 32;
/// Actions.
pub const ACTIONS: usize = 5;

const GATES: usize = 4 * UNITS;
/// Numbers in a file of weights: Wx (inputs x gates), Wh (units x gates), b, Wy (units x actions),
/// by; little-endian, 32 bits each.
pub const WEIGHTS: usize = (INPUTS + UNITS + 1) * GATES + (UNITS + 1) * ACTIONS;

/// The weights.
#[derive(Debug)]
pub struct Weights(Box<[f32; WEIGHTS]>);

impl Weights {
    /// From the bytes of a file; missing ones are zero.
    pub fn new(bytes: &[u8]) -> Self {
        let mut all = Box::new([0.0; WEIGHTS]);
        for (weight, bytes) in all.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *weight = f32::from_le_bytes(*bytes);
        }
        Self(all)
    }

    /// Whether all are numbers.
    #[cfg(test)]
    pub fn is_finite(&self) -> bool {
        self.0.iter().all(|weight| weight.is_finite())
    }
}

/// The state of the LSTM.
#[derive(Debug, Clone)]
pub struct Memory {
    h: [f32; UNITS],
    c: [f32; UNITS],
}

impl Memory {
    /// Of a new connection.
    pub const NEW: Self = Self {
        h: [0.0; UNITS],
        c: [0.0; UNITS],
    };

    /// One step. Returns a number for each action, the logarithm of its probability up to a
    /// constant.
    pub fn step(&mut self, weights: &Weights, input: &[f32; INPUTS]) -> [f32; ACTIONS] {
        let (wx, rest) = weights.0.split_at(INPUTS * GATES);
        let (wh, rest) = rest.split_at(UNITS * GATES);
        let (b, rest) = rest.split_at(GATES);
        let (wy, by) = rest.split_at(UNITS * ACTIONS);
        let mut z = [0.0; GATES];
        z.copy_from_slice(b);
        let rows = wx.chunks_exact(GATES).zip(input);
        for (row, x) in rows.chain(wh.chunks_exact(GATES).zip(&self.h)) {
            for (z, w) in z.iter_mut().zip(row) {
                *z += w * x;
            }
        }
        for unit in 0..UNITS {
            let gate = |number: usize| z[number * UNITS + unit];
            let c = sigmoid(gate(1)) * self.c[unit] + sigmoid(gate(0)) * gate(2).tanh();
            self.c[unit] = c;
            self.h[unit] = sigmoid(gate(3)) * c.tanh();
        }
        let mut scores = [0.0; ACTIONS];
        scores.copy_from_slice(by);
        for (row, h) in wy.chunks_exact(ACTIONS).zip(&self.h) {
            for (score, w) in scores.iter_mut().zip(row) {
                *score += w * h;
            }
        }
        scores
    }
}

fn sigmoid(y: f32) -> f32 {
    1.0 / (1.0 + (-y).exp())
}
