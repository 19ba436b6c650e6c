//! Result of a match as a CSV row.

use super::elo::MatchStatistics;
use super::tally::Tally;
use crate::uci_client::limit::Limit;
use engine::process::files::csv_field;

/// Header of the CSV file.
pub const HEAD: &str = "event,date,first,second,first_limit,second_limit,games,wins,draws,losses,score,\
                        elo,error95,los,p0,p1,p2,p3,p4,first_illegal,first_time,first_crashes,\
                        first_stalls,first_warnings,second_illegal,second_time,second_crashes,\
                        second_stalls,second_warnings\n";

/// Metadata of a row.
#[derive(Clone, Copy, Debug)]
pub struct RowMetadata<'a> {
    pub event: &'a str,
    /// `2026.01.31`.
    pub date: &'a str,
    pub names: [&'a str; 2],
    pub limits: [Limit; 2],
}

/// A row with line end. None without games.
#[must_use]
pub fn line(facts: &RowMetadata<'_>, tally: &Tally) -> Option<String> {
    let MatchStatistics { score, elo, error, los } = tally.judgement()?;
    let [first, second] = facts.names;
    let mut fields =
        vec![csv_field(facts.event), facts.date.to_owned(), csv_field(first), csv_field(second)];
    fields.extend(facts.limits.map(|limit| csv_field(&limit.to_string())));
    fields.extend([tally.games(), tally.wins, tally.draws, tally.losses].map(|n| n.to_string()));
    fields.extend([
        format!("{score:.4}"),
        format!("{elo:.1}"),
        format!("{error:.1}"),
        format!("{los:.4}"),
    ]);
    fields.extend(tally.pairs.map(|count| count.to_string()));
    for record in [&tally.first, &tally.second] {
        let warnings = record.warnings.iter().sum();
        let counts =
            [record.illegal_moves, record.time_losses, record.crashes, record.stalls, warnings];
        fields.extend(counts.map(|count| count.to_string()));
    }
    Some(fields.join(",") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_columns_of_the_head() {
        let limits = [Limit::Nodes(400), "10+0.1".parse().unwrap()];
        let facts =
            RowMetadata { event: "a \"b\"", date: "2026.01.31", names: ["new", "old"], limits };
        assert_eq!(line(&facts, &Tally::default()), None);
        let mut tally = Tally::default();
        (tally.wins, tally.draws, tally.pairs) = (1, 1, [0, 0, 0, 1, 0]);
        let line = line(&facts, &tally).unwrap();
        assert_eq!(line.split(',').count(), HEAD.split(',').count());
        assert!(line.starts_with(
            "\"a \"\"b\"\"\",2026.01.31,\"new\",\"old\",\"400 nodes\",\"10+0.1\",2,1,1,0,"
        ));
    }
}
