//! Measures of a team of players on one file: puzzles solved by player 0 alone, by each player, by anyone (`max`) and by
//! each rule's choice, at equal totals and at the same nodes for each player; and how often players disagree.
//!
//! [`engine::play::lineup`] has the players and their searches, [`task`] judges moves, [`tally`] counts, [`report`] prints, [`plot`] draws.

pub mod plot;
pub mod report;
pub mod tally;
pub mod task;

use crate::measure::MeasureError;
use engine::play::lineup::{BudgetResults, Lineup};
use engine::process::workers::{WorkerLimits, deal};
use engine::team::{Opinion, TeamRule, choose};
use mcts::Snapshot;
use tally::{ItemResult, TeamTally, View};
use task::{ContestantResult, TeamItem};

/// Has a team search all `items` and counts what it finds. `tried` is called after each.
///
/// # Errors
/// A network failed.
pub fn run(
    items: &[TeamItem],
    lineup: &Lineup,
    crew: WorkerLimits<'_>,
    mut tried: impl FnMut(&TeamTally),
) -> Result<TeamTally, MeasureError> {
    let mut tally = TeamTally::new(lineup.players());
    let start = || {
        let mut lineup = lineup.sibling();
        Ok(move |item: &TeamItem| examine(item, &mut lineup))
    };
    deal(items, crew, start, |_, found| {
        tally.add(found);
        tried(&tally);
        Ok(())
    })?;
    Ok(tally)
}

/// Searches an item's positions until no contestant can solve it any more.
fn examine(item: &TeamItem, lineup: &mut Lineup) -> Result<ItemResult, MeasureError> {
    let contestants = tally::contestants(lineup.players()).len();
    let mut verdicts = vec![ContestantResult::default(); contestants];
    let mut views = None;
    for step in &item.steps {
        let looks = lineup.look(&step.game).map_err(MeasureError::Evaluation)?;
        let judged: Vec<ContestantResult> = looks
            .iter()
            .map(|look| judge(item, step, look))
            .collect::<Result<Vec<_>, _>>()?
            .concat();
        // Player 0 with all nodes is the first of the players of the second budget.
        let alone = judged[contestants / 2];
        for (sum, verdict) in verdicts.iter_mut().zip([alone].into_iter().chain(judged)) {
            sum.then(verdict);
        }
        views.get_or_insert_with(|| looks.iter().map(|look| View::of(&look.players)).collect());
        if !verdicts.iter().any(|verdict| verdict.is_open()) {
            break;
        }
    }
    Ok(ItemResult { verdicts, views: views.unwrap_or_default(), has_task: item.has_task() })
}

fn judge(
    item: &TeamItem,
    step: &task::Step,
    look: &BudgetResults,
) -> Result<Vec<ContestantResult>, MeasureError> {
    let verdicts = look.players.iter().map(|found| item.judge(step, found));
    Ok(with_choices(verdicts.collect::<Result<Vec<_>, _>>()?, &look.players))
}

/// The players' verdicts at one budget, then `max`, then each rule's.
#[must_use]
pub fn with_choices<A>(
    mut verdicts: Vec<ContestantResult>,
    players: &[Snapshot<A>],
) -> Vec<ContestantResult> {
    let opinions: Vec<Option<Opinion>> = players.iter().map(Opinion::of).collect();
    let best = verdicts.iter().copied().reduce(ContestantResult::best).unwrap_or_default();
    let chosen = TeamRule::ALL.map(|rule| verdicts[choose(rule, &opinions).unwrap_or(0)]);
    verdicts.push(best);
    verdicts.extend(chosen);
    verdicts
}
