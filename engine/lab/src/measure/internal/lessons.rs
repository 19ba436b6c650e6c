//! Traces to teach a decoder with: the teacher's, over lists made up at random. A decoder sees no boards, and what
//! it is to write follows from the words alone, so that any list teaches as well as a network's; these are made
//! to hold what is rare in games as often as it takes to learn it: equal values, short lists, ends of the game.

use engine::internal::grammar::Grammar;
use engine::internal::teacher::step;
use nn::encode::MoveCode;
use nn::rng::Rng;
use nn::writer::word::{BUCKETS, ITEMS, complement};
use nn::writer::{Backup, Shape, Trace};

/// How the lists of one trace are made.
struct ListStyle {
    /// Largest distance between what a node promises and what its child says.
    noise: usize,
    /// Values are of these alone, if there are any.
    few: &'static [u8],
    /// Chances in 100 that a list is shorter than the breadth may ask for, and that the game is over.
    short: usize,
    over: usize,
}

/// A whole trace of `shape`, by minimax or alpha-beta.
#[must_use]
pub fn lesson(shape: Shape, backup: Backup, random: &mut Rng) -> Trace {
    let pick = |random: &mut Rng, from: &[usize]| from[random.below(from.len())];
    let style = ListStyle {
        noise: pick(random, &[0, 1, 1, 2, 4, 8, 24, 64]),
        few: [&[][..], &[], &[], &[0, 1, 62, 63], &[0, 63, 31, 32], &[63]][random.below(6)],
        short: pick(random, &[0, 0, 20, 60]),
        over: pick(random, &[0, 0, 4, 30]),
    };
    let mut trace = Trace::new(shape, backup);
    let mut grammar = Grammar::new(shape, backup);
    // Following what the trace itself holds cannot fail.
    while grammar.follow(&trace).is_ok() {
        if trace.asks_for().is_some() {
            give(&mut trace, &style, random);
        } else {
            let Some(next) = step(&grammar, &trace) else { break };
            if trace.write(next).is_err() {
                break;
            }
        }
    }
    trace
}

/// Makes up the board that is asked for.
fn give(trace: &mut Trace, style: &ListStyle, random: &mut Rng) {
    let node = trace.asks_for().unwrap_or_default();
    if node > 0 && random.below(100) < style.over {
        // Mated, drawn, no board: mates are what a tie goes to.
        return trace.give_over([0, 0, BUCKETS / 2, BUCKETS - 1][random.below(4)]);
    }
    let promised = trace.child(node).and_then(|child| child.bucket).map(complement);
    let free = random.below(usize::from(BUCKETS)) as u8;
    let near = |value: u8, noise: usize, random: &mut Rng| {
        let shifted = usize::from(value) + random.below(2 * noise + 1);
        shifted.saturating_sub(noise).min(usize::from(BUCKETS) - 1) as u8
    };
    let best = near(promised.unwrap_or(free), style.noise, random);
    let length = match random.below(100) < style.short {
        true => 1 + random.below(usize::from(Shape::MOST_BREADTH)),
        false => ITEMS,
    };
    // In games, good moves have similar values, and choices among them go wrong.
    let spread = [1, 2, 2, 3, 4, 12][random.below(6)];
    let list: Vec<(MoveCode, u8)> = (0..length)
        .map(|at| {
            let below = if at == 0 { 0 } else { random.below(spread) as u8 };
            let bucket = match style.few {
                [] => best.saturating_sub(below),
                few => few[random.below(few.len())],
            };
            let code = random.below(64 * 64);
            let promotion = if random.below(30) == 0 { 4 } else { 0 };
            (MoveCode { from: (code / 64) as u8, to: (code % 64) as u8, promotion }, bucket)
        })
        .collect();
    trace.give_list(&list);
}

/// Shapes by the share of the training that is done (the curriculum of the design: depth 1 first, then 2, then 3);
/// in its last fifth large trees are half of all.
#[must_use]
pub fn shape(progress: f64, random: &mut Rng) -> Shape {
    let breadth = 2 + random.below(4) as u8;
    let deepest = if progress < 0.1 {
        1
    } else if progress < 0.3 {
        2
    } else {
        3
    };
    let large = progress >= 0.8;
    let bounds = if large { [2, 20, 50] } else { [3, 45, 88] };
    let drawn = random.below(100);
    let depth = bounds.iter().filter(|bound| drawn >= **bound).count() as u8;
    let depth = u8::min(depth, deepest);
    // The widest trees of depth 3 cost as much as thirty of depth 1.
    let breadth = match depth {
        3 if large => [3, 4, 4, 5, 5][random.below(5)],
        3 if random.below(4) > 0 => 2 + random.below(2) as u8,
        3 => breadth.min(4),
        _ => breadth,
    };
    Shape { breadth, depth }
}

/// How values are to be backed up in a lesson of `shape`: at one ply alpha-beta has nothing to leave out.
#[must_use]
pub fn backup(shape: Shape, random: &mut Rng) -> Backup {
    let pruned = if shape.depth < 2 { 20 } else { 70 };
    if random.below(100) < pruned { Backup::AlphaBeta } else { Backup::Minimax }
}

/// Traces of one shape, at least one, up to `words` words in total; each counts as long as the longest, because the
/// batch is padded.
#[must_use]
pub fn group(shape: Shape, words: usize, random: &mut Rng) -> Vec<Trace> {
    let backup = backup(shape, random);
    let mut group = vec![lesson(shape, backup, random)];
    let mut longest = group[0].words().len();
    loop {
        // A short one before a long one would have many as long follow.
        let next = lesson(shape, backup, random);
        longest = longest.max(next.words().len());
        if (group.len() + 1) * longest > words {
            return group;
        }
        group.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::writer::Kind;

    #[test]
    fn lessons_are_whole_and_hold_what_is_rare() {
        let mut random = Rng::from_state(1);
        let (mut overs, mut short, mut ties) = (0, 0, 0);
        for _ in 0..300 {
            let shape = shape(random.below(100) as f64 / 100.0, &mut random);
            let backup = backup(shape, &mut random);
            let trace = lesson(shape, backup, &mut random);
            assert!(trace.played().is_some(), "{shape:?}");
            let mut grammar = Grammar::new(shape, backup);
            assert!(grammar.follow(&trace).is_ok() && grammar.is_done());
            let words = trace.words();
            overs += words.iter().filter(|word| word.kind == Kind::Over).count();
            let selects = words.iter().filter(|word| word.kind == Kind::Select);
            for select in selects {
                let scores = words
                    .iter()
                    .filter(|word| word.kind == Kind::Score && word.parent == select.node);
                let buckets: Vec<_> = scores.map(|word| word.bucket).collect();
                short +=
                    usize::from(!buckets.is_empty() && buckets.len() < usize::from(shape.breadth));
                ties += usize::from(buckets.iter().filter(|b| **b == select.bucket).count() > 1);
            }
        }
        assert!(overs > 50 && short > 30 && ties > 50, "{overs} {short} {ties}");
    }

    #[test]
    fn a_group_costs_no_more_than_it_may() {
        let mut random = Rng::from_state(2);
        let shape = Shape { breadth: 4, depth: 2 };
        let mut several = 0;
        for _ in 0..100 {
            let group = group(shape, 600, &mut random);
            let longest = group.iter().map(|trace| trace.words().len()).max().unwrap_or(0);
            assert!(group.len() == 1 || group.len() * longest <= 600, "{}", group.len());
            several += usize::from(group.len() > 1);
        }
        assert!(several > 50, "{several}");
    }
}
