//! What the league reads from an engine's `info` lines: enough for the PGN's comments, adjudication
//! and the check of principal variations. Lenient: unknown words are skipped.

use std::fmt;

/// An engine's opinion, from the mover's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    Centipawns(i32),
    /// Moves to mate; negative: the mover is mated.
    Mate(i32),
}

impl Score {
    /// One number for adjudication: mates lie beyond every evaluation.
    #[must_use]
    pub fn centipawns(self) -> i32 {
        match self {
            Score::Centipawns(score) => score,
            Score::Mate(moves) if moves > 0 => 100_000,
            Score::Mate(_) => -100_000,
        }
    }
}

/// As in the PGN comments of other match runners: pawns with a sign, `+M3`, `-M2`.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Score::Centipawns(score) => write!(f, "{:+.2}", f64::from(score) / 100.0),
            Score::Mate(moves) if moves > 0 => write!(f, "+M{moves}"),
            Score::Mate(moves) => write!(f, "-M{}", moves.unsigned_abs()),
        }
    }
}

/// One `info` line, as far as we care.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pub depth: Option<u32>,
    pub nodes: Option<u64>,
    pub score: Option<Score>,
    /// The score is only a bound: not to be shown or adjudicated on.
    pub bound: bool,
    pub multipv: Option<u32>,
    pub pv: Vec<String>,
}

impl Info {
    /// Reads a line. None if it is no `info`, or only `info string`.
    #[must_use]
    pub fn read(line: &str) -> Option<Info> {
        let mut words = line.split_ascii_whitespace().peekable();
        if words.next()? != "info" {
            return None;
        }
        let mut info = Info::default();
        let mut facts = 0;
        while let Some(word) = words.next() {
            facts += 1;
            match word {
                "depth" => info.depth = words.next().and_then(|word| word.parse().ok()),
                "nodes" => info.nodes = words.next().and_then(|word| word.parse().ok()),
                "multipv" => info.multipv = words.next().and_then(|word| word.parse().ok()),
                "score" => {
                    let kind = words.next();
                    let value = words.next().and_then(|word| word.parse().ok());
                    info.score = match (kind, value) {
                        (Some("cp"), Some(value)) => Some(Score::Centipawns(value)),
                        (Some("mate"), Some(value)) => Some(Score::Mate(value)),
                        _ => None,
                    };
                }
                "lowerbound" | "upperbound" => info.bound = true,
                "pv" => info.pv = words.by_ref().map(str::to_owned).collect(),
                "string" => {
                    facts -= 1;
                    break;
                }
                _ => {}
            }
        }
        (facts > 0).then_some(info)
    }

    /// The line speaks of the best variation.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.multipv.is_none_or(|number| number == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_line_is_read() {
        let line = "info depth 12 seldepth 20 multipv 1 score cp -31 wdl 1 2 997 nodes 4242 nps 10 \
                    hashfull 3 time 7 pv e2e4 e7e5";
        let info = Info::read(line).unwrap();
        assert_eq!(info.depth, Some(12));
        assert_eq!(info.nodes, Some(4242));
        assert_eq!(info.score, Some(Score::Centipawns(-31)));
        assert!(info.is_main() && !info.bound);
        assert_eq!(info.pv, ["e2e4", "e7e5"]);
    }

    #[test]
    fn strings_are_no_information() {
        assert_eq!(Info::read("info string pv e2e4"), None);
        assert_eq!(Info::read("bestmove e2e4"), None);
        assert_eq!(Info::read(""), None);
    }

    #[test]
    fn second_variations_and_bounds_are_told_apart() {
        assert!(!Info::read("info multipv 10 score cp 1").unwrap().is_main());
        assert!(Info::read("info score cp 20 lowerbound").unwrap().bound);
    }

    #[test]
    fn scores_are_shown_as_in_other_runners() {
        assert_eq!(Score::Centipawns(35).to_string(), "+0.35");
        assert_eq!(Score::Centipawns(-1234).to_string(), "-12.34");
        assert_eq!(Score::Mate(3).to_string(), "+M3");
        assert_eq!(Score::Mate(-2).to_string(), "-M2");
    }
}
