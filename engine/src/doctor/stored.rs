//! Compares the built-in networks with their stored answers. Implementations are compared with each other elsewhere;
//! this check finds errors common to all.

use super::{Finding, Verdict};
use crate::markup::counted;
use chess::game::Game;
use nn::checkpoint::Network;
use nn::evaluator::cpu::CpuEvaluator;
use nn::precision::Arithmetic;
use nn::{Evaluator, Query};
use serde::{Deserialize, Serialize};
use shakmaty::Position;

/// Stored answers. The test below prints new ones for the same positions after a change of the network.
const STORED: &str = include_str!("../../../assets/answers.json");
/// Tolerance of values and policies: the order of single-precision sums differs between implementations.
const TOLERANCE: f32 = 1e-3;

/// Answers of one network.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// [`Network::hash`].
    network: String,
    answers: Vec<StoredAnswer>,
}

/// The network's answer for a position.
#[derive(Serialize, Deserialize)]
struct StoredAnswer {
    fen: String,
    /// Win probability of the side to move.
    value: f32,
    /// First move of the policy, and its probability.
    best: String,
    policy: f32,
}

impl StoredAnswer {
    /// The answer of `evaluator` for `fen`; an error text if it fails.
    fn by(evaluator: &CpuEvaluator, fen: &str) -> Result<StoredAnswer, String> {
        let game = Game::from_fen(fen, true).map_err(|why| why.to_string())?;
        let (position, legal) = (game.position(), game.position().legal_moves());
        let computed = evaluator.evaluate(&[Query { position, legal: &legal }]);
        let computed = computed.map_err(|why| why.to_string())?.pop().ok_or("no answer")?;
        let ranked = game.legal_actions().into_iter().zip(&computed.policy);
        let (best, policy) = ranked.max_by(|a, b| a.1.total_cmp(b.1)).ok_or("no move")?;
        let (fen, best) = (fen.to_owned(), game.uci(best));
        Ok(StoredAnswer { fen, value: computed.value, best, policy: *policy })
    }

    fn agrees(&self, other: &StoredAnswer) -> bool {
        self.best == other.best
            && (self.value - other.value).abs() <= TOLERANCE
            && (self.policy - other.policy).abs() <= TOLERANCE
    }
}

/// Compares `network` with the stored answers, if they belong to it.
pub(super) fn check(network: &Network) -> Option<Finding> {
    let stored: Vec<Stored> = match serde_json::from_str(STORED) {
        Ok(stored) => stored,
        Err(why) => {
            let text = format!("the stored answers do not read: {why}");
            return Some(Finding::new("answers", Verdict::Fault, text));
        }
    };
    let own = stored.iter().find(|stored| stored.network == network.hash)?;
    Some(compare(network, &own.answers))
}

fn compare(network: &Network, stored: &[StoredAnswer]) -> Finding {
    let evaluator = CpuEvaluator::new(network, Arithmetic::Single);
    let wrong = stored.iter().find_map(|answer| match StoredAnswer::by(&evaluator, &answer.fen) {
        Ok(computed) if computed.agrees(answer) => None,
        Ok(computed) => Some(format!(
            "{:.4} and {} in `{}`, where it was {:.4} and {}",
            computed.value, computed.best, answer.fen, answer.value, answer.best
        )),
        Err(why) => Some(format!("`{}`: {why}", answer.fen)),
    });
    match wrong {
        Some(text) => Finding::new("answers", Verdict::Fault, text),
        None => {
            let text =
                format!("{} as they were when it was built in", counted(stored.len(), "position"));
            Finding::new("answers", Verdict::Fine, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::network::load;

    #[test]
    fn the_built_in_network_answers_as_it_did() {
        let stored: Vec<Stored> = serde_json::from_str(STORED).unwrap();
        assert_eq!(stored[0].answers.len(), 6);
        let network = load(None).unwrap();
        let evaluator = CpuEvaluator::new(&network, Arithmetic::Single);
        let again =
            stored[0].answers.iter().map(|answer| StoredAnswer::by(&evaluator, &answer.fen));
        let answers = again.map(Result::unwrap).collect();
        let now = [Stored { network: network.hash.clone(), answers }];
        let text = serde_json::to_string_pretty(&now).unwrap();
        let finding = check(&network).filter(|finding| finding.verdict == Verdict::Fine);
        assert!(finding.is_some(), "assets/answers.json would have to be\n{text}");
    }

    #[test]
    fn another_answer_is_a_fault() {
        let network = load(None).unwrap();
        let mut stored: Vec<Stored> = serde_json::from_str(STORED).unwrap();
        stored[0].answers[1].value += 0.01;
        let finding = compare(&network, &stored[0].answers);
        assert_eq!(finding.verdict, Verdict::Fault);
        assert!(finding.text.contains("2n5"), "{}", finding.text);
        // Other networks have no stored answers.
        assert!(check(&Network { hash: "another".to_owned(), ..network }).is_none());
    }
}
