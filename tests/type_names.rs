//! Names that several files of a crate give to types of their own. Functions' and tests' own types do not count.

use std::collections::{BTreeMap, BTreeSet};

/// Each name with the files that define it. `sources` are a crate's files by their paths below `src`.
pub fn ambiguous(sources: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let mut definitions = BTreeMap::new();
    let mut test_modules = Vec::new();
    for (file, source) in sources {
        let syntax = syn::parse_file(source).unwrap_or_else(|error| panic!("{file}: {error}"));
        let parent = match file.rsplit_once('/') {
            _ if ["lib.rs", "main.rs"].contains(&&**file) => "",
            Some((folder, "mod.rs")) => folder,
            _ => file.trim_end_matches(".rs"),
        };
        collect(&syntax.items, file, parent, &mut definitions, &mut test_modules);
    }
    let is_test = |file: &str| {
        test_modules.iter().any(|module| {
            let rest = file.strip_prefix(&**module);
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        })
    };
    for files in definitions.values_mut() {
        files.retain(|file: &String| !is_test(file));
    }
    definitions.retain(|_, files| files.len() > 1);
    definitions
}

/// Adds the types that `items` of `file` define, and the paths of their test modules, without ending.
fn collect(
    items: &[syn::Item],
    file: &str,
    parent: &str,
    definitions: &mut BTreeMap<String, BTreeSet<String>>,
    test_modules: &mut Vec<String>,
) {
    for item in items {
        let (attributes, name) = match item {
            syn::Item::Struct(item) => (&item.attrs, &item.ident),
            syn::Item::Enum(item) => (&item.attrs, &item.ident),
            syn::Item::Union(item) => (&item.attrs, &item.ident),
            syn::Item::Trait(item) => (&item.attrs, &item.ident),
            syn::Item::Type(item) => (&item.attrs, &item.ident),
            syn::Item::Mod(item) => (&item.attrs, &item.ident),
            _ => continue,
        };
        let is_test = attributes.iter().any(is_test);
        if let syn::Item::Mod(module) = item {
            let path = format!("{parent}/{name}").trim_start_matches('/').to_owned();
            match &module.content {
                _ if is_test => test_modules.push(path),
                Some((_, items)) => collect(items, file, &path, definitions, test_modules),
                None => {}
            }
        } else if !is_test {
            definitions.entry(name.to_string()).or_default().insert(file.to_owned());
        }
    }
}

/// Whether this is `#[cfg(test)]`, alone or as one of several conditions.
fn is_test(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let condition = list.tokens.to_string();
    let words: Vec<&str> = condition.split(|c: char| !c.is_alphanumeric()).collect();
    list.path.is_ident("cfg") && words.contains(&"test") && !words.contains(&"not")
}
