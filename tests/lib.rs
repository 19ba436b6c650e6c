//! Integration tests of the whole house live beside this file as `[[test]]` entries.
