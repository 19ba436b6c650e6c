//! Content security policy of a page: only its own scripts and style sheets run, recognised by their hashes, and nothing is loaded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The element for the page's head, before any script and style. It allows the texts between the tags of these elements to the
/// byte.
#[must_use]
pub fn of(scripts: &[&str], styles: &[&str]) -> String {
    let hash = |text: &&str| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let [scripts, styles] =
        [scripts, styles].map(|texts| texts.iter().map(hash).collect::<String>());
    format!(
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src{scripts}; \
         style-src{styles}; base-uri 'none'; form-action 'none'\">\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_allowed_by_its_hash() {
        // `printf 'alert(1)' | openssl dgst -sha256 -binary | base64`
        let known = "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='";
        let meta = of(&["alert(1)"], &["", "a"]);
        assert!(meta.contains(&format!("; script-src {known}; style-src 'sha256-")), "{meta}");
        assert_eq!(meta.matches("sha256-").count(), 3);
    }
}
