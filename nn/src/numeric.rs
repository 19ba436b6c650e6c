//! Small functions over rows of numbers, shared by several rooms.

/// Argmax, the first of equals; NaN is less than any number. None if empty.
#[must_use]
pub fn argmax(numbers: &[f32]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (index, number) in numbers.iter().enumerate() {
        if best.is_none_or(|best| {
            *number > numbers[best] || (numbers[best].is_nan() && !number.is_nan())
        }) {
            best = Some(index);
        }
    }
    best
}

/// Logistic function.
#[must_use]
pub fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

/// Softmax of a few logits.
#[must_use]
pub fn softmax(logits: &[f32]) -> Vec<f32> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut p: Vec<f32> = logits.iter().map(|x| (x - top).exp()).collect();
    let total: f32 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= total);
    p
}
