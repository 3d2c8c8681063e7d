//! Fields of a YAML mapping, with their place in the file for errors. No error shows a value: it
//! may be a key or a token.

use serde_yaml::{Mapping, Value as Yaml};

use crate::encoding::base64_decoded;

/// A mapping, and its place in the file.
#[derive(Default)]
pub(crate) struct Fields<'a> {
    place: String,
    mapping: Option<&'a Mapping>,
}

impl<'a> Fields<'a> {
    /// A whole document; null is an empty mapping.
    pub(crate) fn of(document: &'a Yaml) -> Result<Self, String> {
        match mapping(Some(document)) {
            Ok(mapping) => Ok(Self { place: String::new(), mapping }),
            Err(()) => Err("there must be a mapping".to_owned()),
        }
    }

    /// An error about one of the fields.
    pub(crate) fn wrong(&self, name: &str, what: &str) -> String {
        format!("{}: {what}", self.place_of(name))
    }

    /// A text; none: it is empty or absent.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.value(name) {
            None => Ok(None),
            Some(Yaml::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(_) => Err(self.wrong(name, "must be a text; if it is one, put it in quotes")),
        }
    }

    /// Absent is false.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.value(name) {
            None => Ok(false),
            Some(Yaml::Bool(value)) => Ok(*value),
            Some(_) => Err(self.wrong(name, "must be true or false")),
        }
    }

    /// The bytes of a text in base64.
    pub(crate) fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match base64_decoded(text) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(self.wrong(name, "must be base64")),
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let text = |item: &Yaml| item.as_str().map(str::to_owned);
        let texts = self.items(name)?.iter().map(text).collect::<Option<_>>();
        texts.ok_or_else(|| self.wrong(name, "must be a list of texts"))
    }

    /// A mapping, empty if it is absent.
    pub(crate) fn fields(&self, name: &str) -> Result<Self, String> {
        match mapping(self.value(name)) {
            Ok(mapping) => Ok(Self { place: self.place_of(name), mapping }),
            Err(()) => Err(self.wrong(name, "must be a mapping")),
        }
    }

    /// A list of mappings.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<Self>, String> {
        let items = self.items(name)?.iter().enumerate().map(|(index, item)| {
            let place = format!("{}[{index}]", self.place_of(name));
            match mapping(Some(item)) {
                Ok(mapping) => Ok(Self { place, mapping }),
                Err(()) => Err(format!("{place}: must be a mapping")),
            }
        });
        items.collect()
    }

    /// Names and values.
    pub(crate) fn entries(&self) -> Result<Vec<(&'a str, &'a Yaml)>, String> {
        let name =
            |name: &'a Yaml| name.as_str().ok_or_else(|| self.wrong("", "names must be texts"));
        let entries = self.mapping.into_iter().flatten();
        entries.map(|(key, value)| Ok((name(key)?, value))).collect()
    }

    /// Whether the field is there and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a Yaml> {
        self.mapping?.get(name).filter(|value| !value.is_null())
    }

    fn items(&self, name: &str) -> Result<&'a [Yaml], String> {
        match self.value(name) {
            None => Ok(&[]),
            Some(Yaml::Sequence(items)) => Ok(items),
            Some(_) => Err(self.wrong(name, "must be a list")),
        }
    }

    fn place_of(&self, name: &str) -> String {
        match (self.place.as_str(), name) {
            ("", name) => name.to_owned(),
            (place, "") => place.to_owned(),
            (place, name) => format!("{place}.{name}"),
        }
    }
}

fn mapping(value: Option<&Yaml>) -> Result<Option<&Mapping>, ()> {
    match value {
        None | Some(Yaml::Null) => Ok(None),
        Some(Yaml::Mapping(mapping)) => Ok(Some(mapping)),
        Some(_) => Err(()),
    }
}
