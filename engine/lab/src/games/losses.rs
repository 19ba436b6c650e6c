//! The losses of the network.

/// Names of the losses, in order.
pub const LOSSES: [&str; 8] =
    ["policy", "actions", "value", "result", "legality", "cells", "end", "intrinsic"];
/// Their weights. Guess; the three kinds of values share one and a third.
pub const WEIGHTS: [f32; 8] = [1.0, 0.3, 0.3, 0.7, 0.1, 1.0, 1.0, 0.2];
