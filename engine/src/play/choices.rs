//! The choices of the options: the search among the engine's own and the registered ones, endgame tables, the notation of games.

use super::players::player::{Players, StaticPlayer};
use super::players::strength::Strength;
use crate::options::settings::{Search, Settings};
use crate::options::{self, Effect, OptionError, OutOfRange};
use chess::game::{Game, GameError};
use chess::syzygy::Tables;
use shakmaty::{CastlingMode, Chess};
use uci::{SetOption, StartPosition};

/// The options' values, and what they choose from.
pub struct Choices {
    /// The present values.
    pub settings: Settings,
    players: Players,
    tables: Tables,
}

impl Choices {
    /// The default options.
    pub fn new(players: Players) -> Choices {
        Choices { settings: Settings::default(), players, tables: Tables::with_bundled("") }
    }

    /// Sets an option. Answers what that changes and what the user should know.
    ///
    /// # Errors
    /// The option, or what is wrong with its value, which stays as it was.
    pub fn set(&mut self, option: &SetOption) -> Result<(Effect, Option<OutOfRange>), OptionError> {
        let before = self.settings.clone();
        let applied = options::apply(&mut self.settings, option)?;
        if let Search::Registered(name) = &self.settings.search
            && self.player(name).is_none()
        {
            let refused = self.unknown_search(name);
            self.settings = before;
            return Err(refused);
        }
        Ok(applied)
    }

    fn player(&self, name: &str) -> Option<StaticPlayer> {
        self.players.iter().find(|(registered, _)| *registered == name).map(|(_, player)| *player)
    }

    fn unknown_search(&self, given: &str) -> OptionError {
        let own = Search::OWN.iter().map(|(name, _)| *name);
        let names: Vec<&str> = own.chain(self.players.iter().map(|(name, _)| *name)).collect();
        let expected = format!("one of {}", names.join(", "));
        OptionError::Value { option: "Search", expected, given: given.to_owned() }
    }

    /// The registered player that is to move, if one is.
    pub fn registered(&self) -> Option<StaticPlayer> {
        match &self.settings.search {
            Search::Registered(name) => self.player(name),
            _ => None,
        }
    }

    /// Finds the endgame tables that the options ask for. Answers in one line how many there are, or what is wrong with
    /// them.
    pub fn find_tables(&mut self) -> Option<String> {
        let path = &self.settings.syzygy_path;
        let trouble;
        (self.tables, trouble) = Tables::open(path);
        trouble.or_else(|| (!path.is_empty()).then(|| self.tables.to_string()))
    }

    /// The tables of the next search. The bundled ones serve the tree search by the rules at full strength; to the
    /// players that are to be the network alone, or weaker, somebody must give tables. A level knows basic mates
    /// ([`Strength::technique`]).
    pub fn tables(&self) -> Option<Tables> {
        let settings = &self.settings;
        let plain = settings.search == Search::Mcts && !settings.imagines();
        let plain = plain && Strength::of(settings).is_none();
        let given = plain || !settings.syzygy_path.is_empty();
        given.then(|| self.tables.up_to(settings.syzygy_probe_limit)).flatten()
    }

    /// The tables that a level knows of basic mates.
    pub fn technique(&self) -> Option<Tables> {
        self.tables.up_to(self.settings.syzygy_probe_limit)
    }

    /// The game after `moves`, in the notation of the option.
    ///
    /// # Errors
    /// Names the FEN or the move.
    pub fn game(&self, start: &StartPosition, moves: &[String]) -> Result<Game, GameError> {
        let mut game = match start {
            StartPosition::Startpos => {
                let mode = CastlingMode::from_chess960(self.settings.chess960);
                Game::new(Chess::default(), mode)
            }
            StartPosition::Fen(fen) => Game::from_fen(fen, self.settings.chess960)?,
        };
        for text in moves {
            game.play_uci(text)?;
        }
        Ok(game)
    }
}
