//! The table's own promises, and what becomes of odd values.

use super::*;

fn set(settings: &mut Settings, name: &str, value: Option<&str>) -> Result<Option<String>, String> {
    settings.set(&SetOption { name: name.to_owned(), value: value.map(str::to_owned) })
}

#[test]
fn defaults_come_from_the_table() {
    let settings = Settings::default();
    assert_eq!(settings.hash_mb, 64);
    assert_eq!(settings.search, Search::Mcts);
    assert!(settings.dynamic_virtual_counts && settings.prior_top_k == 5);
}

#[test]
fn every_default_is_within_its_own_range() {
    for entry in TABLE {
        let text = match entry.kind {
            Kind::Check(default) => default.to_string(),
            Kind::Spin { default, .. } => default.to_string(),
            Kind::Real { default, .. } => default.to_string(),
            Kind::Combo { default, .. } | Kind::Text(default) => default.to_owned(),
            Kind::Button => continue,
        };
        let mut settings = Settings::default();
        assert_eq!(set(&mut settings, entry.name, Some(&text)), Ok(None), "{}", entry.name);
        assert_eq!(settings, Settings::default(), "{}", entry.name);
    }
}

#[test]
fn names_suit_every_gui() {
    // cutechess splits on these words and reads spins as 32-bit numbers.
    for entry in TABLE {
        let taken = ["name", "type", "default", "min", "max", "var"];
        assert!(entry.name.split(' ').all(|word| !taken.contains(&word)), "{}", entry.name);
        if let Kind::Spin { min, max, .. } = entry.kind {
            assert!(i32::try_from(min).is_ok() && i32::try_from(max).is_ok());
        }
    }
}

#[test]
fn odd_values_are_bent_or_refused() {
    let mut settings = Settings::default();
    assert!(set(&mut settings, "hash", Some("0")).unwrap().unwrap().contains("using 1"));
    assert_eq!(settings.hash_mb, 1);
    assert!(set(&mut settings, "THREADS", Some("99999999999999999999")).unwrap().is_some());
    assert_eq!(settings.threads, 1024);
    assert!(set(&mut settings, "Hash", Some("lots")).unwrap_err().contains("`lots`"));
    assert!(set(&mut settings, "Hash", None).is_err());
    assert!(set(&mut settings, "No Such", Some("1")).unwrap_err().contains("`No Such`"));
    assert!(set(&mut settings, "CPuct", Some("NaN")).is_err());
    assert_eq!(set(&mut settings, "CPuct", Some("2.5")), Ok(None));
    assert_eq!(set(&mut settings, "Search", Some("POLICY")), Ok(None));
    assert_eq!(settings.search, Search::Policy);
    assert_eq!(set(&mut settings, "weightsfile", Some("a b.net")), Ok(None));
    assert_eq!(settings.weights_file, "a b.net");
    assert_eq!(set(&mut settings, "WeightsFile", Some("<empty>")), Ok(None));
    assert_eq!(settings.weights_file, "");
    assert_eq!(set(&mut settings, "Clear Hash", None), Ok(None));
}

#[test]
fn documentation_names_every_option() {
    let text = markdown();
    assert!(TABLE.iter().all(|entry| text.contains(entry.name)));
}
