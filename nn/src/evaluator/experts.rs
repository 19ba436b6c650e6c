//! Networks that share the game by its phases: a position goes to the one that was trained on boards with as many
//! pieces (Helfenstein et al. 2024, "Checkmating One, by Using Many", whose experts learn apart, as ours do). An
//! evaluation costs what one network's does, and three networks know more than one.

use super::Evaluator;
use super::error::EvalError;
use super::query::{Evaluation, Query};
use super::transition::{Imagined, Refusal, Step, Transition};
use crate::encode::{Encoded, Features};
use shakmaty::{Chess, Position};

/// Something for each phase of the game: parameters, evaluators.
#[derive(Clone, Debug)]
pub struct Experts<T> {
    /// With the most pieces on the boards that each is asked about; fewest first.
    members: Vec<(usize, T)>,
}

/// A board has no more pieces than this.
const ALL_PIECES: usize = 32;

impl<T> Experts<T> {
    /// `only` for every phase.
    pub fn one(only: T) -> Experts<T> {
        Experts { members: vec![(ALL_PIECES, only)] }
    }

    /// Each with the most pieces, kings included, that its boards have. None unless these numbers grow from one to
    /// the next and end with all 32.
    #[must_use]
    pub fn new(members: Vec<(usize, T)>) -> Option<Experts<T>> {
        let grows = members.is_sorted_by(|a, b| a.0 < b.0);
        let whole = members.last().is_some_and(|(most, _)| *most == ALL_PIECES);
        (grows && whole).then_some(Experts { members })
    }

    /// The same phases with what `make` makes of each member.
    ///
    /// # Errors
    /// The first that `make` gives.
    pub fn try_map<U, E>(&self, make: impl Fn(&T) -> Result<U, E>) -> Result<Experts<U>, E> {
        let members = self.members.iter().map(|(most, member)| Ok((*most, make(member)?)));
        Ok(Experts { members: members.collect::<Result<_, E>>()? })
    }

    /// The members, from the endgame's to the opening's.
    pub fn members(&self) -> impl Iterator<Item = &T> {
        self.members.iter().map(|(_, member)| member)
    }

    /// The only member; all of them back if there are several.
    ///
    /// # Errors
    /// There are several.
    pub fn into_one(mut self) -> Result<T, Experts<T>> {
        match self.members.pop() {
            Some((_, only)) if self.members.is_empty() => Ok(only),
            last => {
                self.members.extend(last);
                Err(self)
            }
        }
    }

    /// Which member judges boards with so many pieces.
    fn place(&self, pieces: usize) -> usize {
        // The last one takes all that the others do not.
        self.members.iter().position(|(most, _)| pieces <= *most).unwrap_or(self.members.len() - 1)
    }

    /// Which member judges this board.
    #[must_use]
    pub fn place_of(&self, board: &Features) -> usize {
        self.place(board.pieces.iter().filter(|class| **class > 0).count())
    }

    /// Asks each member its questions, those whose positions have its number of pieces; answers in order.
    fn deal<Q, A>(
        &self,
        questions: Vec<Q>,
        pieces: impl Fn(&Q) -> usize,
        ask: impl Fn(&T, Vec<Q>) -> Result<Vec<A>, EvalError>,
    ) -> Result<Vec<A>, EvalError> {
        let mut parts: Vec<(Vec<usize>, Vec<Q>)> = Vec::new();
        parts.resize_with(self.members.len(), Default::default);
        for (number, question) in questions.into_iter().enumerate() {
            let (numbers, part) = &mut parts[self.place(pieces(&question))];
            numbers.push(number);
            part.push(question);
        }
        let mut answers = Vec::new();
        for (member, (numbers, part)) in self.members().zip(parts) {
            if !part.is_empty() {
                answers.extend(numbers.into_iter().zip(ask(member, part)?));
            }
        }
        answers.sort_unstable_by_key(|(number, _)| *number);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }
}

fn pieces(position: &Chess) -> usize {
    position.board().occupied().count()
}

impl<T: Evaluator> Evaluator for Experts<T> {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.evaluate_encoded(batch, batch.iter().map(Query::encode).collect())
    }

    fn evaluate_encoded(
        &self,
        batch: &[Query<'_>],
        inputs: Vec<Encoded>,
    ) -> Result<Vec<Evaluation>, EvalError> {
        let questions: Vec<(Query<'_>, Encoded)> = batch.iter().copied().zip(inputs).collect();
        let pieces = |question: &(Query<'_>, Encoded)| pieces(question.0.position);
        self.deal(questions, pieces, |member, part| {
            let (batch, inputs): (Vec<_>, Vec<_>) = part.into_iter().unzip();
            member.evaluate_encoded(&batch, inputs)
        })
    }

    fn preferred_batch(&self) -> usize {
        self.members[0].1.preferred_batch()
    }

    fn batches(&self) -> &[usize] {
        self.members[0].1.batches()
    }

    fn in_flight(&self) -> usize {
        self.members[0].1.in_flight()
    }

    fn transition(&self) -> Option<&dyn Transition> {
        self.members().all(|member| member.transition().is_some()).then_some(self)
    }
}

/// The world of one of several members, all of which have one.
fn world(member: &impl Evaluator) -> Result<&dyn Transition, EvalError> {
    let none = || EvalError::Device("an expert has no world model".to_owned());
    member.transition().ok_or_else(none)
}

impl<T: Evaluator> Transition for Experts<T> {
    fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        let ask = |member: &T, part: Vec<Step<'_>>| world(member)?.imagine(&part);
        self.deal(batch.to_vec(), |step| pieces(step.state), ask)
    }

    fn refine(&self, answers: &mut [Result<Imagined, Refusal>]) -> Result<(), EvalError> {
        for answer in answers {
            if let Ok(imagined) = answer {
                let (_, member) = &self.members[self.place(pieces(&imagined.state))];
                world(member)?.refine(std::slice::from_mut(answer))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
