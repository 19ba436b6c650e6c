//! The choice of each player of a team in one position, as a table and as boards side by side (paper 003).

use crate::markup::board::{Arrow, diagram, picture, side};
use crate::markup::escape;
use crate::play::lineup::BudgetResults;
use crate::team::{Opinion, TeamRule, choose};
use chess::action::Action;
use chess::game::Game;
use mcts::{Line, Snapshot, Wdl};
use shakmaty::Position;
use std::fmt::{self, Write as _};

/// Plies of a line that are shown.
const PLIES: usize = 6;
/// Moves of a player that get an arrow, and their least share of its visits.
const ARROWS: usize = 3;
const LEAST_SHARE: f64 = 0.1;
/// Boards of a row.
const COLUMNS: u32 = 5;
/// Side of a board, and its size with heading and line.
const BOARD: u32 = 220;
const CELL: [u32; 2] = [BOARD + 20, BOARD + 80];
const MARGIN: u32 = 20;
/// Size of the title.
const HEAD: [u32; 2] = [680, 92];

const STYLE: &str = ".arrow.other { opacity: .45; } .arrow.other path { stroke: #6b6862; } .arrow.other .head { fill: #6b6862; stroke: none; }
";

/// The searches of a team in one position.
pub struct TeamSearches<'a> {
    /// The position.
    pub game: &'a Game,
    /// The results of each player.
    pub look: &'a BudgetResults,
    /// How the player that moves is chosen.
    pub rule: TeamRule,
}

/// One player's choice.
struct PlayerChoice {
    /// In standard notation.
    san: String,
    /// V.
    value: f32,
    /// The move is proven to win (true) or to lose.
    proof: Option<bool>,
    /// Its visits, and those of all moves.
    visits: u64,
    all: u64,
    /// Its expected line, in standard notation, the move first.
    line: String,
    arrows: Vec<Arrow>,
}

impl TeamSearches<'_> {
    /// The player that moves; None if no player has searched.
    fn chosen(&self) -> Option<usize> {
        let opinions: Vec<_> = self.look.players.iter().map(Opinion::of).collect();
        choose(self.rule, &opinions)
    }

    /// Each player's choice; None for one that has not searched.
    fn choices(&self) -> Vec<Option<PlayerChoice>> {
        let chosen = self.chosen();
        let choice = |(at, found)| self.choice(found, chosen == Some(at));
        self.look.players.iter().enumerate().map(choice).collect()
    }

    fn choice(&self, found: &Snapshot<Action>, plays: bool) -> Option<PlayerChoice> {
        let opinion = Opinion::of(found)?;
        let best = found.lines.first()?;
        let all = found.lines.iter().map(|line| line.visits).sum();
        let likely = |line: &&Line<Action>| line.visits as f64 >= LEAST_SHARE * all as f64;
        let rest = found.lines.iter().skip(1).filter(likely).take(ARROWS - 1);
        let arrow = |line: &Line<Action>, class| {
            let action = *line.moves.first()?;
            Some(Arrow::of(self.game.position(), action, class))
        };
        // The player's own move last: it is drawn above the others.
        let mut arrows: Vec<Arrow> = rest.filter_map(|line| arrow(line, "other")).collect();
        arrows.extend(arrow(best, if plays { "best" } else { "liked" }));
        let line = sans(self.game, &best.moves);
        Some(PlayerChoice {
            san: line.first()?.clone(),
            value: opinion.value,
            proof: [(Wdl::WIN, true), (Wdl::LOSS, false)]
                .into_iter()
                .find_map(|(value, wins)| (best.value == value).then_some(wins)),
            visits: best.visits,
            all,
            line: line.join(" "),
            arrows,
        })
    }

    /// The player that moves and its choice.
    fn played<'a>(&self, choices: &'a [Option<PlayerChoice>]) -> Option<(usize, &'a PlayerChoice)> {
        self.chosen().and_then(|at| Some((at, choices.get(at)?.as_ref()?)))
    }

    fn headline(&self, choices: &[Option<PlayerChoice>]) -> String {
        self.played(choices).map_or_else(
            || "no player has searched".to_owned(),
            |(at, choice)| format!("the team plays {}, the move of player {at}", choice.san),
        )
    }

    /// Which move is played, whose it is and why, and who agrees.
    fn verdict(&self, choices: &[Option<PlayerChoice>]) -> String {
        let Some((at, choice)) = self.played(choices) else {
            return "No player has searched.".to_owned();
        };
        let agreeing = choices.iter().flatten().filter(|other| other.san == choice.san).count();
        let mut others: Vec<&str> = choices
            .iter()
            .flatten()
            .map(|other| &*other.san)
            .filter(|san| *san != choice.san)
            .collect();
        others.sort_unstable();
        others.dedup();
        let players = choices.iter().flatten().count();
        let others = others.join(", ");
        let agreement = match agreeing {
            _ if others.is_empty() => format!("All {players} players choose it."),
            1 => format!("The others choose {others}."),
            _ => format!("{agreeing} of {players} players choose it, the others {others}."),
        };
        let why = self.reason(choice);
        format!("The team plays {}, the move of player {at}: {why}. {agreement}", choice.san)
    }

    /// Why the rule takes the player of this choice.
    fn reason(&self, choice: &PlayerChoice) -> String {
        let value = format!("{:.1} %", 100.0 * choice.value);
        match (choice.proof, self.rule) {
            (Some(true), _) => "it is a proven win".to_owned(),
            (Some(false), _) => "every player's move is a proven loss".to_owned(),
            (None, TeamRule::Visit) => format!("its {} visits are the most", choice.visits),
            (None, TeamRule::Value) => format!("its value, {value}, is the highest"),
            (None, TeamRule::Lcb) => {
                format!("its value, {value}, is the highest less its exploration term")
            }
            (None, TeamRule::Gap | TeamRule::GapBest) => {
                format!("its value, {value}, is the lowest near the highest one")
            }
        }
    }

    /// A board for each player with its move, and others that it visited often. `network` is the network's name.
    #[must_use]
    pub fn svg(&self, network: &str) -> String {
        let choices = self.choices();
        let players = choices.len() as u32;
        let columns = players.clamp(1, COLUMNS);
        let width = 2 * MARGIN + HEAD[0].max(columns * CELL[0]);
        let height = HEAD[1] + players.div_ceil(columns) * CELL[1] + MARGIN;
        let mut out = format!(
            "<text x='{MARGIN}' y='32' class='title'>{} to move: {}</text>\n\
             <text x='{MARGIN}' y='52' class='soft'>{}, {}</text>\n\
             <text x='{MARGIN}' y='70' class='soft'>Orange: the move played. Blue: the choice of another player. \
             Grey: a move with a tenth of its visits or more.</text>\n",
            side(self.game.position().turn()),
            escape(&self.headline(&choices)),
            escape(&self.game.fen()),
            escape(network)
        );
        for (at, choice) in (0..).zip(&choices) {
            let (x, y) = (MARGIN + at % columns * CELL[0], HEAD[1] + at / columns * CELL[1]);
            let (heading, figures, line, arrows) = match choice {
                Some(PlayerChoice { san, value, visits, all, line, arrows, .. }) => (
                    format!("Player {at}: {san}"),
                    format!("expects {:.1} %, {visits} of {all} visits", 100.0 * value),
                    line.as_str(),
                    arrows.as_slice(),
                ),
                None => (format!("Player {at}"), "has not searched".to_owned(), "", &[][..]),
            };
            let texts = [
                (18, "head", escape(&heading)),
                (34, "soft", figures),
                (BOARD + 60, "soft", escape(line)),
            ];
            for (below, class, text) in texts {
                let _ =
                    writeln!(out, "<text x='{x}' y='{}' class='{class}'>{text}</text>", y + below);
            }
            let board = diagram(self.game.position(), arrows, &format!("Player {at}"));
            let top = y + 42;
            let _ = writeln!(
                out,
                "<svg x='{x}' y='{top}' width='{BOARD}' height='{BOARD}'>{board}</svg>"
            );
        }
        picture(width, height, STYLE, &out)
    }
}

impl fmt::Display for TeamSearches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choices = self.choices();
        writeln!(f, "player  move       value   visits        line")?;
        for (at, choice) in choices.iter().enumerate() {
            match choice {
                Some(PlayerChoice { san, value, visits, all, line, .. }) => writeln!(
                    f,
                    "{at:<7} {san:<8} {:>5.1} % {:>8} {:<10} {line}",
                    100.0 * value,
                    visits,
                    format!("of {all}")
                ),
                None => writeln!(f, "{at:<7} has not searched"),
            }?;
        }
        write!(f, "\n{}", self.verdict(&choices))
    }
}

/// The first moves of a line in standard notation.
fn sans(game: &Game, moves: &[Action]) -> Vec<String> {
    let mut game = game.clone();
    let san = |action: &Action| {
        let san = game.san(*action);
        game.play(*action).ok().map(|()| san)
    };
    moves.iter().take(PLIES).map_while(san).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(game: &Game, moves: &[(&str, u64, f32)]) -> Snapshot<Action> {
        let line = |&(text, visits, q): &(&str, u64, f32)| {
            let mut after = game.clone();
            Line {
                moves: text.split(' ').map(|word| after.play_uci(word).unwrap()).collect(),
                visits,
                value: Wdl::from_score_and_draw(q, 0.1),
                mate_plies: None,
                prior: 0.5,
                q,
            }
        };
        let lines = moves.iter().map(line).collect();
        Snapshot { lines, exploration: 1.0, ..Snapshot::default() }
    }

    #[test]
    fn every_player_has_a_row_and_a_board_and_one_of_them_plays() {
        let game = Game::default();
        let players = vec![
            found(&game, &[("e2e4 e7e5 g1f3", 60, 0.51), ("d2d4", 35, 0.50), ("a2a3", 5, 0.4)]),
            found(&game, &[("d2d4", 90, 0.55), ("e2e4", 9, 0.50)]),
            found(&game, &[("e2e4", 0, 0.5)]),
        ];
        let look = BudgetResults { players };
        let view = TeamSearches { game: &game, look: &look, rule: TeamRule::Value };
        let text = view.to_string();
        let last = text.lines().last().unwrap();
        assert_eq!(
            last,
            "The team plays d4, the move of player 1: its value, 55.0 %, is the highest. The others choose e4."
        );
        let by_visits = TeamSearches { rule: TeamRule::Visit, ..view };
        assert!(by_visits.to_string().contains("its 90 visits are the most"), "{by_visits}");
        let won = || found(&game, &[("e2e4", 10, 1.0)]);
        let look = BudgetResults { players: vec![won(), won()] };
        let win = TeamSearches { look: &look, ..by_visits };
        assert!(win.to_string().ends_with("it is a proven win. All 2 players choose it."), "{win}");
        assert!(text.contains("60 of 100     e4 e5 Nf3"), "{text}");
        assert!(text.contains("2       has not searched"), "{text}");
        let svg = view.svg("a <wild> one");
        assert_eq!(svg.matches("class='board'").count(), 3);
        let arrows = ["best", "liked", "other"]
            .map(|class| svg.matches(&format!("class='arrow {class}'")).count());
        assert_eq!(arrows, [1, 1, 1], "a2a3 and the second player's e2e4 have too few visits");
        assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
        assert!(svg.contains("a &lt;wild&gt; one"));
    }
}
