//! The table's own promises, and what becomes of odd values.

use super::*;
use crate::options::settings::Search;
use mcts::Fpu;

/// The note, if any.
fn set(
    settings: &mut Settings,
    name: &str,
    value: Option<&str>,
) -> Result<Option<String>, OptionError> {
    let option = SetOption { name: name.to_owned(), value: value.map(str::to_owned) };
    apply(settings, &option).map(|(_, note)| note.map(|note| note.to_string()))
}

/// The default that is announced to the GUI.
fn default_of(entry: &Entry) -> Option<String> {
    match entry.spec(&Settings::default()).kind {
        OptionKind::Check { default } => Some(default.to_string()),
        OptionKind::Spin { default, .. } => Some(default.to_string()),
        OptionKind::Combo { default, .. } | OptionKind::Text { default } => Some(default),
        OptionKind::Button | OptionKind::Other(_) => None,
    }
}

#[test]
fn every_default_is_within_its_own_range() {
    for entry in table(Shown::All) {
        let Some(text) = default_of(entry) else { continue };
        let mut settings = Settings::default();
        assert_eq!(set(&mut settings, entry.name, Some(&text)), Ok(None), "{}", entry.name);
        assert_eq!(settings, Settings::default(), "{}", entry.name);
    }
}

#[test]
fn every_option_writes_the_field_it_reads_and_no_other() {
    for entry in table(Shown::All) {
        let value = match entry.kind {
            Kind::Check { get, .. } => (!get(&Settings::default())).to_string(),
            Kind::Spin { min, max, get, .. } => {
                let at_most = get(&Settings::default()) == i64::from(max);
                if at_most { min } else { max }.to_string()
            }
            Kind::Real { max, .. } => max.to_string(),
            Kind::Combo { names, .. } => names().last().unwrap().to_string(),
            Kind::Text { .. } => "something".to_owned(),
            Kind::Button => continue,
        };
        let mut settings = Settings::default();
        assert_eq!(set(&mut settings, entry.name, Some(&value)), Ok(None), "{}", entry.name);
        assert_ne!(settings, Settings::default(), "{}", entry.name);
        for other in table(Shown::All) {
            let changed = other.spec(&settings) != other.spec(&Settings::default());
            assert_eq!(changed, other.name == entry.name, "{} by {}", other.name, entry.name);
        }
    }
}

#[test]
fn names_suit_every_gui() {
    // cutechess splits on these words.
    for entry in table(Shown::All) {
        let taken = ["name", "type", "default", "min", "max", "var"];
        assert!(entry.name.split(' ').all(|word| !taken.contains(&word)), "{}", entry.name);
    }
}

#[test]
fn odd_values_are_bent_or_refused() {
    let mut settings = Settings::default();
    assert!(set(&mut settings, "hash", Some("0")).unwrap().unwrap().contains("using 1"));
    assert_eq!(settings.hash_mb, 1);
    assert!(set(&mut settings, "THREADS", Some("99999999999999999999")).unwrap().is_some());
    assert_eq!(settings.threads, 1024);
    let error = |result: Result<_, OptionError>| result.unwrap_err().to_string();
    assert!(error(set(&mut settings, "Hash", Some("lots"))).contains("`lots`"));
    assert!(set(&mut settings, "Hash", None).is_err());
    assert!(error(set(&mut settings, "No Such", Some("1"))).contains("`No Such`"));
    assert!(set(&mut settings, "CPuct", Some("NaN")).is_err());
    assert!(set(&mut settings, "CPuct", Some("1e99")).unwrap().is_some());
    assert_eq!(settings.tree.c_puct, 16.0);
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
fn a_gui_shows_twenty_options_at_most() {
    assert!(table(Shown::Everyday).count() <= 20, "{}", table(Shown::Everyday).count());
}

#[test]
fn documentation_names_every_option() {
    let text = markdown(Shown::All);
    assert!(table(Shown::All).all(|entry| text.contains(entry.name)));
}

#[test]
fn hidden_options_are_understood() {
    let mut settings = Settings::default();
    assert_eq!(set(&mut settings, "FPU", Some("parent")), Ok(None));
    assert_eq!(settings.tree.fpu, Fpu::ParentQ);
    assert!(specs(Shown::Everyday).all(|spec| spec.name != "FPU"));
    assert!(specs(Shown::All).any(|spec| spec.name == "FPU"));
}
