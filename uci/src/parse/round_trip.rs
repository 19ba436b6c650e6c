//! Round trips: random values of every type that has a line, from fixed seeds.

use super::answer::parse_answer;
use super::fuzz::Random;
use super::parse;
use crate::answer::{Answer, BestMove, Bound, CurrentMove, IdLine, Info, Score};
use crate::command::{Command, Go, SetOption, StartPosition};
use crate::option::{OptionKind, OptionSpec};

/// Values as they are sent: every field with some probability, no text that the protocol cannot carry.
impl Random {
    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    fn maybe<T>(&mut self, make: impl Fn(&mut Random) -> T) -> Option<T> {
        self.chance().then(|| make(self))
    }

    fn count(&mut self) -> u32 {
        (self.below(1 << 33) >> self.below(33)) as u32
    }

    fn big(&mut self) -> u64 {
        (self.below(usize::MAX) >> self.below(64)) as u64
    }

    fn time(&mut self) -> i64 {
        self.big() as i64 - i64::from(self.count())
    }

    fn a_move(&mut self) -> String {
        self.square_pair() + self.pick(&["", "", "", "q", "n"])
    }

    fn moves(&mut self) -> Vec<String> {
        (0..self.below(6)).map(|_| self.a_move()).collect()
    }

    fn text(&mut self) -> String {
        let words = ["Move", "Overhead", "/a/b.net", "typed", "maximum", "variety", "64", "é"];
        let words: Vec<&str> = (0..=self.below(3)).map(|_| self.pick(&words)).collect();
        words.join(" ")
    }

    fn command(&mut self) -> Command {
        match self.below(6) {
            0 => {
                parse(self.pick(&["uci", "isready", "ucinewgame", "stop", "ponderhit", "quit"]))
                    .unwrap()
                    .0
            }
            1 => Command::Debug(self.chance()),
            2 => {
                let value = self.maybe(|random| match random.chance() {
                    true => random.text(),
                    false => String::new(),
                });
                Command::SetOption(SetOption { name: self.text(), value })
            }
            3 => {
                let fens = [
                    "3r2k1/p5n1/1pq1p2p/2p3p1/2P1P1n1/1P1P2pP/PN1Q2K1/5R2 w - - 0 27",
                    "bnrbnkrq/pppppppp/8/8/4P3/8/PPPP1PPP/BNRBNKRQ b GCgc e3 0 1",
                    "8/8/8/8/8/8/8/K1k5 w - -",
                ];
                let start = match self.chance() {
                    true => StartPosition::Startpos,
                    false => StartPosition::Fen(self.pick(&fens).to_owned()),
                };
                Command::Position { start, moves: self.moves() }
            }
            _ => Command::Go(Go {
                searchmoves: self.moves(),
                ponder: self.chance(),
                infinite: self.chance(),
                wtime: self.maybe(Random::time),
                btime: self.maybe(Random::time),
                winc: self.maybe(Random::time),
                binc: self.maybe(Random::time),
                movestogo: self.maybe(Random::count),
                depth: self.maybe(Random::count),
                nodes: self.maybe(Random::big),
                mate: self.maybe(Random::count),
                movetime: self.maybe(Random::time),
                perft: self.maybe(Random::count),
            }),
        }
    }

    fn answer(&mut self) -> Answer {
        match self.below(6) {
            0 => Answer::Id(IdLine::Name(self.text())),
            1 => Answer::Id(IdLine::Author(self.text())),
            2 => {
                let kind = match self.below(6) {
                    0 => OptionKind::Check { default: self.chance() },
                    1 => OptionKind::Spin {
                        default: self.time(),
                        min: self.time(),
                        max: self.time(),
                    },
                    2 => OptionKind::Combo {
                        default: self.text(),
                        choices: (0..self.below(4)).map(|_| self.text()).collect(),
                    },
                    3 => OptionKind::Text { default: self.text() },
                    4 => OptionKind::Text { default: String::new() },
                    _ => OptionKind::Button,
                };
                Answer::Option(OptionSpec { name: self.text(), kind })
            }
            3 => {
                let best = self.maybe(Random::a_move);
                let ponder = best.is_some().then(|| self.maybe(Random::a_move)).flatten();
                Answer::BestMove(BestMove { best, ponder })
            }
            4 if self.below(4) == 0 => Answer::Info(Info::text(self.text())),
            _ => {
                let score = self.maybe(|random| match random.chance() {
                    true => Score::Centipawns(random.count() as i32),
                    false => Score::Mate(random.count() as i32),
                });
                let bound = match score {
                    Some(_) => self.maybe(|random| match random.chance() {
                        true => Bound::Lower,
                        false => Bound::Upper,
                    }),
                    None => None,
                };
                Answer::Info(Info {
                    depth: self.maybe(Random::count),
                    seldepth: self.maybe(Random::count),
                    multipv: self.maybe(Random::count),
                    current: self.maybe(|random| CurrentMove {
                        action: "a7a8q".to_owned(),
                        number: random.count(),
                    }),
                    score,
                    bound,
                    wdl: self.maybe(|random| [0; 3].map(|_| random.count())),
                    nodes: self.maybe(Random::big),
                    nps: self.maybe(Random::big),
                    hashfull: self.maybe(Random::count),
                    tbhits: self.maybe(Random::big),
                    time_ms: self.maybe(Random::big),
                    pv: self.moves(),
                    string: None,
                })
            }
        }
    }
}

#[test]
fn every_command_printed_is_read_as_itself() {
    let mut random = Random(21);
    for turn in 0..5_000 {
        let command = random.command();
        let line = command.to_string();
        let read = parse(&line);
        assert_eq!(read, Some((command, vec![])), "value {turn} of seed 21: {line}");
    }
}

#[test]
fn every_answer_printed_is_read_as_itself() {
    let mut random = Random(22);
    for turn in 0..5_000 {
        let answer = random.answer();
        let line = answer.to_string();
        assert_eq!(parse_answer(&line), Some(answer), "value {turn} of seed 22: {line}");
    }
}

#[test]
fn no_damaged_line_panics_and_what_is_read_survives_printing() {
    let mut random = Random(23);
    for turn in 0..10_000 {
        let answer = random.answer();
        let mut line: Vec<char> = answer.to_string().chars().collect();
        for _ in 0..random.below(4) {
            let place = random.below(line.len() + 1);
            match random.below(3) {
                0 => line.truncate(place),
                1 => line.rotate_left(place),
                _ if place < line.len() => drop(line.remove(place)),
                _ => {}
            }
        }
        let line: String = line.into_iter().collect();
        let Some(read) = parse_answer(&line) else { continue };
        let again = parse_answer(&read.to_string());
        let place = format!("line {turn} of seed 23: {line:?}");
        match read {
            // A string beside other fields, and a bound without a score, are not printed.
            Answer::Info(info) => {
                assert!(matches!(again, Some(Answer::Info(_))), "{place} {info:?}")
            }
            Answer::Option(_) => assert!(matches!(again, Some(Answer::Option(_))), "{place}"),
            read => assert_eq!(again, Some(read), "{place}"),
        }
    }
}
