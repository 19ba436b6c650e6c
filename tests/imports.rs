//! Which file of a crate uses which: follows the `mod` declarations from `lib.rs`, reads every `use` and
//! every path, and resolves it to the file that defines the name. A re-export (`pub use`) is not a use;
//! a file that names it uses the file behind it. Nor does a method need one: a call uses the file of an `impl` that stands
//! elsewhere than its type, if the caller's file uses the type's. Test modules do not count.

use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};

/// Files and the files that each of them uses.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// Reads a crate. `read` gives the text of a file by its path below `src`.
pub fn uses(read: &dyn Fn(&str) -> Option<String>) -> Uses {
    let mut modules = Modules::default();
    modules.load(read, Vec::new(), "lib.rs", "");
    let mut found = Uses::new();
    for (path, module) in &modules.0 {
        let named = module.imports.iter().filter(|import| !import.public);
        let named = named.map(|import| &import.path).chain(&module.paths);
        let files = named.filter_map(|name| match modules.resolve(path, name, 0)? {
            Target::File(file) => Some(file),
            Target::Module(_) => None,
        });
        let files = files.filter(|file| *file != module.file).collect();
        found.insert(module.file.clone(), files);
    }
    modules.add_calls(&mut found);
    found
}

/// The sets of files that use each other in a circle.
pub fn circles(uses: &Uses) -> Vec<BTreeSet<String>> {
    let reach = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            for next in uses.get(file).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        uses.keys().map(|file| (file, reach(file))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (file, beyond) in &reached {
        let circle: BTreeSet<String> = beyond
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*file)))
            .cloned()
            .collect();
        if !circle.is_empty() && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

/// The target of a path.
enum Target {
    /// Something that this file defines.
    File(String),
    /// A module itself.
    Module(Vec<String>),
}

/// A name in a file's scope that a `use` has brought there.
struct Import {
    name: String,
    path: Vec<String>,
    public: bool,
}

#[derive(Default)]
struct Module {
    file: String,
    children: BTreeSet<String>,
    imports: Vec<Import>,
    paths: BTreeSet<Vec<String>>,
    /// The types of inherent `impl`s, with each of their methods.
    methods: Vec<(Vec<String>, String)>,
    /// Names of the methods that are called.
    calls: BTreeSet<String>,
    /// Inline modules around what is visited.
    depth: usize,
}

/// By path in the crate; the crate's root is the empty path.
#[derive(Default)]
struct Modules(BTreeMap<Vec<String>, Module>);

impl Modules {
    fn load(
        &mut self,
        read: &dyn Fn(&str) -> Option<String>,
        path: Vec<String>,
        file: &str,
        folder: &str,
    ) {
        let text = read(file).unwrap_or_else(|| panic!("no file {file}"));
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        module.visit_file(&syntax);
        for child in &module.children {
            let below = format!("{folder}{child}/");
            let flat = format!("{folder}{child}.rs");
            let file = if read(&flat).is_some() { flat } else { format!("{below}mod.rs") };
            self.load(read, [&path[..], std::slice::from_ref(child)].concat(), &file, &below);
        }
        self.0.insert(path, module);
    }

    /// Adds the uses that are calls of methods whose `impl` stands in another file than the type.
    fn add_calls(&self, found: &mut Uses) {
        let mut split: BTreeMap<&String, Vec<(String, &String)>> = BTreeMap::new();
        for (path, module) in &self.0 {
            for (of, method) in &module.methods {
                if let Some(Target::File(home)) = self.resolve(path, of, 0)
                    && home != module.file
                {
                    split.entry(method).or_default().push((home, &module.file));
                }
            }
        }
        for module in self.0.values() {
            let Some(uses) = found.get_mut(&module.file) else { continue };
            let called: Vec<&String> = (module.calls.iter())
                .filter_map(|call| split.get(call))
                .flatten()
                .filter(|(home, at)| {
                    **at != module.file && (*home == module.file || uses.contains(home))
                })
                .map(|(_, at)| *at)
                .collect();
            uses.extend(called.into_iter().cloned());
        }
    }

    /// None for what is outside the crate, or a name of the file's own.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Target::Module(Vec::new()),
            "self" => Target::Module(from.to_vec()),
            "super" => Target::Module(from[..from.len().checked_sub(1)?].to_vec()),
            name => self.look_up(from, name, depth)?,
        };
        for name in rest {
            let Target::Module(module) = at else { break };
            at = match name.as_str() {
                "super" => Target::Module(module[..module.len().checked_sub(1)?].to_vec()),
                name => self
                    .look_up(&module, name, depth)
                    .unwrap_or_else(|| Target::File(self.0[&module].file.clone())),
            };
        }
        Some(at)
    }

    /// A name in the scope of `module`: one of its children, or an import.
    fn look_up(&self, module: &[String], name: &str, depth: usize) -> Option<Target> {
        let scope = &self.0[module];
        if scope.children.contains(name) {
            return Some(Target::Module([module, &[name.to_owned()]].concat()));
        }
        // Two names that import each other would be sought for ever.
        let import = scope.imports.iter().find(|import| import.name == name && depth < 16)?;
        self.resolve(module, &import.path, depth + 1)
    }
}

impl Module {
    fn add_path(&mut self, path: Vec<String>) {
        let path = self.outside_inline(path);
        self.paths.insert(path);
    }

    fn add_import(&mut self, tree: &syn::UseTree, prefix: &[String], public: bool) {
        let join = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
        let (name, path) = match tree {
            syn::UseTree::Path(path) => {
                return self.add_import(&path.tree, &join(&path.ident), public);
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.add_import(item, prefix, public));
                return;
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                (prefix.last().cloned().unwrap_or_default(), prefix.to_vec())
            }
            syn::UseTree::Name(name) => (name.ident.to_string(), join(&name.ident)),
            syn::UseTree::Rename(rename) => (rename.rename.to_string(), join(&rename.ident)),
            // Whatever it brings, the module's own file is meant.
            syn::UseTree::Glob(_) => ("*".to_owned(), [prefix, &["*".to_owned()]].concat()),
        };
        self.imports.push(Import { name, path: self.outside_inline(path), public });
    }

    /// `super` of an inline module is the file's own module.
    fn outside_inline(&self, mut path: Vec<String>) -> Vec<String> {
        if self.depth > 0 && path.first().is_some_and(|first| first == "super") {
            path[0] = "self".to_owned();
        }
        path
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        use syn::Item::{Const, Fn, Impl, Macro, Mod, Static, Struct, Use};
        let attributes: &[syn::Attribute] = match item {
            Const(syn::ItemConst { attrs, .. })
            | Fn(syn::ItemFn { attrs, .. })
            | Impl(syn::ItemImpl { attrs, .. })
            | Macro(syn::ItemMacro { attrs, .. })
            | Mod(syn::ItemMod { attrs, .. })
            | Static(syn::ItemStatic { attrs, .. })
            | Struct(syn::ItemStruct { attrs, .. })
            | Use(syn::ItemUse { attrs, .. }) => attrs,
            _ => &[],
        };
        if is_test(attributes) {
            return;
        }
        match item {
            Use(import) => {
                let public = !matches!(import.vis, syn::Visibility::Inherited);
                self.add_import(&import.tree, &[], public);
            }
            Mod(module) if module.content.is_none() => {
                self.children.insert(module.ident.to_string());
            }
            Mod(_) => {
                self.depth += 1;
                visit::visit_item(self, item);
                self.depth -= 1;
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let (None, syn::Type::Path(of)) = (&item.trait_, &*item.self_ty) {
            let of: Vec<_> = of.path.segments.iter().map(|part| part.ident.to_string()).collect();
            let of = self.outside_inline(of);
            let names = item.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(function) => Some(function.sig.ident.to_string()),
                _ => None,
            });
            self.methods.extend(names.map(|name| (of.clone(), name)));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.calls.insert(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    /// A name's visibility is no use of a file: `pub(super)`.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add_path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    /// The inside of a macro's brackets is no syntax yet, only words.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let text = call.tokens.to_string().replace(" :: ", "::");
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        for word in text.split(|c| !is_word(c)).filter(|word| word.contains("::")) {
            self.add_path(word.split("::").map(str::to_owned).collect());
        }
        visit::visit_macro(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let read = |path: &str| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        };
        circles(&uses(&read)).into_iter().map(|circle| circle.into_iter().collect()).collect()
    }

    #[test]
    fn a_circle_is_found_behind_facades_aliases_and_macros() {
        let facade = ("lib.rs", "mod a; mod b; mod c; pub use c::C;");
        let circle = vec![vec!["a/mod.rs".to_owned(), "b.rs".to_owned(), "c.rs".to_owned()]];
        for b in [
            "use crate::C; pub struct B;",
            "use super::c::{self as d, C}; pub struct B(C);",
            "use crate::c; pub fn b() { c::run() }",
            "pub fn b() { println!(\"{}\", crate::c::NAME) }",
            "mod inner { fn f() -> super::super::C { todo!() } } pub struct B(super::C);",
        ] {
            let a = ("a/mod.rs", "use crate::b::B; pub struct A;");
            let files = [facade, a, ("b.rs", b), ("c.rs", "use crate::a::A; pub struct C;")];
            assert_eq!(found(&files), circle, "{b}");
        }
    }

    #[test]
    fn a_child_that_needs_its_parent_is_a_circle_only_if_the_parent_needs_it() {
        let lib = ("lib.rs", "mod a;");
        let child = ("a/child.rs", "use super::A; pub struct Child(A);");
        let facade = ("a.rs", "mod child; pub use child::Child; pub struct A;");
        assert_eq!(found(&[lib, facade, child]), Vec::<Vec<String>>::new());
        let user = ("a.rs", "mod child; pub use child::Child; pub struct A(Box<Child>);");
        assert_eq!(found(&[lib, user, child]), [["a.rs", "a/child.rs"]]);
    }

    #[test]
    fn methods_in_another_file_than_their_type_are_used_where_they_are_called() {
        let lib = ("lib.rs", "mod a; mod b; mod job;");
        let job = ("job.rs", "pub struct Job;");
        let a = ("a.rs", "use super::job::Job; impl Job { pub fn a(&self) { self.b() } }");
        let with = |b| found(&[lib, job, a, ("b.rs", b)]);
        let circle = "use crate::job::Job; impl Job { pub fn b(&self) { run(|| self.a()) } }";
        assert_eq!(with(circle), [["a.rs", "b.rs"]]);
        let one_way = "use crate::job::Job; impl Job { pub fn b(&self) {} }";
        assert_eq!(with(one_way), Vec::<Vec<String>>::new());
        let of_another = "pub struct Other; impl Other { pub fn b(&self) { self.a() } }";
        assert_eq!(with(of_another), Vec::<Vec<String>>::new());
        let back = ("job.rs", "pub struct Job; fn run(job: &Job) { job.a() }");
        assert_eq!(found(&[lib, back, a, ("b.rs", one_way)]), [["a.rs", "b.rs", "job.rs"]]);
    }

    #[test]
    fn tests_and_other_crates_do_not_count() {
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod tests;"),
            (
                "a.rs",
                "use crate::b::B; use other::b::C; pub struct A(B); #[cfg(test)] mod tests { use crate::b; }",
            ),
            ("b.rs", "use std::fmt; pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"),
        ];
        assert_eq!(found(&files), Vec::<Vec<String>>::new());
    }
}
