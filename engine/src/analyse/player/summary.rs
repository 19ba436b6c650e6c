//! Sums over the games of a player, game by game.

use super::game::{PlayedGame, PlayedMove};
use super::kinds::{ErrorKind, SHORT};
use crate::analyse::judge::Glyph;
use shakmaty::Color;
use std::collections::HashMap;

/// Openings that are shown.
const OPENINGS: usize = 8;
/// Lower ends of the groups by time left, in seconds, and their names.
const TIMES: [(f64, &str); 4] = [
    (300.0, "5 minutes or more"),
    (60.0, "1 to 5 minutes"),
    (SHORT, "20 seconds to 1 minute"),
    (0.0, "less than 20 seconds"),
];

/// All that is known of a player.
pub struct Summary {
    /// The name that was asked for.
    pub name: String,
    /// The games without their moves, in order.
    pub games: Vec<PlayedGame>,
    /// All moves.
    pub all: Group,
    /// By colour, White first.
    pub colors: [Group; 2],
    /// By phase of the game.
    pub phases: [Group; 3],
    /// By time left when the move began; empty without clocks.
    pub times: [Group; 4],
    openings: HashMap<String, Group>,
    kinds: HashMap<ErrorKind, usize>,
}

/// Moves with something in common.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Games with such moves, and those of them that have a result.
    pub games: usize,
    ended: usize,
    points: f32,
    /// Number of moves.
    pub moves: usize,
    accuracy: f64,
    errors: usize,
}

impl Group {
    fn named(name: &str) -> Group {
        Group { name: name.to_owned(), ..Group::default() }
    }

    /// Adds the moves of a game; none leave the group as it is.
    fn add<'a>(&mut self, game: &PlayedGame, moves: impl Iterator<Item = &'a PlayedMove>) {
        let before = self.moves;
        for made in moves {
            self.moves += 1;
            self.accuracy += made.accuracy;
            self.errors += usize::from(is_error(made));
        }
        if self.moves > before {
            self.games += 1;
            self.ended += usize::from(game.score.is_some());
            self.points += game.score.unwrap_or(0.0);
        }
    }

    /// Mean accuracy of the moves in percent.
    #[must_use]
    pub fn accuracy(&self) -> Option<f64> {
        (self.moves > 0).then(|| self.accuracy / self.moves as f64)
    }

    /// Number of `?` and `??` in a hundred moves.
    #[must_use]
    pub fn errors(&self) -> Option<f64> {
        (self.moves > 0).then(|| 100.0 * self.errors as f64 / self.moves as f64)
    }

    /// Score in the games that ended, 0 to 1.
    #[must_use]
    pub fn score(&self) -> Option<f32> {
        (self.ended > 0).then(|| self.points / self.ended as f32)
    }
}

fn is_error(made: &PlayedMove) -> bool {
    matches!(made.glyph, Some(Glyph::Mistake | Glyph::Blunder))
}

impl Summary {
    /// No game yet.
    #[must_use]
    pub fn new(name: &str) -> Summary {
        Summary {
            name: name.to_owned(),
            games: Vec::new(),
            all: Group::named("All"),
            colors: ["White", "Black"].map(Group::named),
            phases: ["Opening", "Middlegame", "Endgame"].map(Group::named),
            times: TIMES.map(|(_, name)| Group::named(name)),
            openings: HashMap::new(),
            kinds: HashMap::new(),
        }
    }

    /// Adds a game.
    pub fn add(&mut self, mut game: PlayedGame) {
        let moves = std::mem::take(&mut game.moves);
        self.all.add(&game, moves.iter());
        self.colors[usize::from(game.color == Color::Black)].add(&game, moves.iter());
        for (phase, group) in self.phases.iter_mut().enumerate() {
            group.add(&game, moves.iter().filter(|made| made.phase == phase));
        }
        let time = |made: &PlayedMove| {
            TIMES.iter().position(|(least, _)| made.left.is_some_and(|left| left >= *least))
        };
        for (place, group) in self.times.iter_mut().enumerate() {
            group.add(&game, moves.iter().filter(|made| time(made) == Some(place)));
        }
        // `Sicilian Defense: Najdorf Variation` is a Sicilian.
        let family = game.opening.split(':').next().unwrap_or_default().trim();
        if !family.is_empty() {
            let group = self.openings.entry(family.to_owned());
            group.or_insert_with(|| Group::named(family)).add(&game, moves.iter());
        }
        for kind in moves.iter().flat_map(|made| &made.kinds) {
            *self.kinds.entry(*kind).or_default() += 1;
        }
        if self.games.is_empty() {
            self.name.clone_from(&game.player);
        }
        self.games.push(game);
    }

    /// The openings of most games, and how many others there are.
    #[must_use]
    pub fn openings(&self) -> (Vec<&Group>, usize) {
        let mut groups: Vec<&Group> = self.openings.values().collect();
        groups.sort_by(|a, b| b.games.cmp(&a.games).then_with(|| a.name.cmp(&b.name)));
        let others = groups.len().saturating_sub(OPENINGS);
        groups.truncate(OPENINGS);
        (groups, others)
    }

    /// Kinds of errors with their number, the most frequent first; [`ErrorKind::Other`] last.
    #[must_use]
    pub fn kinds(&self) -> Vec<(ErrorKind, usize)> {
        let count = |kind| self.kinds.get(&kind).map(|count| (kind, *count));
        let mut kinds: Vec<_> = ErrorKind::ALL.into_iter().filter_map(count).collect();
        kinds.sort_by_key(|(kind, count)| (*kind == ErrorKind::Other, usize::MAX - count));
        kinds
    }

    /// Number of `?` and `??`.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.all.errors
    }

    /// Games won, drawn and lost.
    #[must_use]
    pub fn results(&self) -> [usize; 3] {
        [1.0, 0.5, 0.0]
            .map(|score| self.games.iter().filter(|game| game.score == Some(score)).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(phase: usize, left: f64, glyph: Option<Glyph>, accuracy: f64) -> PlayedMove {
        let kinds = if glyph == Some(Glyph::Blunder) {
            vec![ErrorKind::LeavesPiece, ErrorKind::Haste]
        } else {
            Vec::new()
        };
        PlayedMove { accuracy, phase, left: Some(left), glyph, kinds }
    }

    fn game(number: usize, color: Color, score: f32, moves: Vec<PlayedMove>) -> PlayedGame {
        PlayedGame {
            number,
            player: "Ann".to_owned(),
            color,
            opponent: String::new(),
            date: String::new(),
            score: Some(score),
            eco: "B20".to_owned(),
            opening: format!("Sicilian Defense: {number}"),
            accuracy: Some(90.0),
            loss: Some(20.0),
            counts: [0; 3],
            moves,
        }
    }

    #[test]
    fn moves_are_counted_in_every_group_they_belong_to() {
        let mut summary = Summary::new("Ann");
        let blunder = || made(1, 30.0, Some(Glyph::Blunder), 20.0);
        summary.add(game(1, Color::White, 1.0, vec![made(0, 300.0, None, 100.0), blunder()]));
        summary.add(game(
            2,
            Color::Black,
            0.5,
            vec![made(0, 10.0, None, 90.0), blunder(), blunder()],
        ));
        assert_eq!(summary.results(), [1, 1, 0]);
        let shown = |group: &Group| (group.games, group.moves, group.errors().map(f64::round));
        assert_eq!(shown(&summary.all), (2, 5, Some(60.0)));
        assert_eq!(summary.all.accuracy(), Some(50.0));
        assert_eq!(summary.colors.each_ref().map(Group::score), [Some(1.0), Some(0.5)]);
        assert_eq!(
            summary.phases.each_ref().map(shown),
            [(2, 2, Some(0.0)), (2, 3, Some(100.0)), (0, 0, None)]
        );
        assert_eq!(summary.times.each_ref().map(|group| group.moves), [1, 0, 3, 1]);
        let (openings, others) = summary.openings();
        assert_eq!((openings.len(), openings[0].name.as_str(), others), (1, "Sicilian Defense", 0));
        assert_eq!(summary.kinds(), [(ErrorKind::LeavesPiece, 3), (ErrorKind::Haste, 3)]);
        assert!(summary.games[1].moves.is_empty());
    }
}
