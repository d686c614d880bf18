//! The declaration of options, once per verb: JSON keys, flags with their help, Python's signatures
//! and docstrings and the reference are all made from it.

/// A group of options that `options!` declared.
pub trait Options {
    /// Its doc comment.
    const ABOUT: &'static str;
    /// Its options, in order.
    const ENTRIES: &'static [Entry];
}

/// An option, or a group of them that several verbs share.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// One option.
    Field(Field),
    /// The options of a shared group.
    Group {
        /// What the group is here.
        help: &'static str,
        /// Its options.
        entries: &'static [Entry],
    },
}

/// An option as it was declared.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in a request.
    pub name: &'static str,
    /// Its type in Rust.
    pub kind: &'static str,
    /// Its doc comment.
    pub help: &'static str,
}

/// Declares a request or a group of options.
///
/// A field has, in this order: its doc comment, which is its help everywhere; `#[command(flatten)]`
/// where it is a shared group, else `#[arg(...)]` with clap's settings of the flag (`skip` where the
/// program has none); and `#[serde(...)]` where its JSON form is special. `= value` is its default.
///
/// clap sees the declaration only with the feature `program`.
macro_rules! options {
    (
        $(#[doc = $about:literal])*
        $(#[command($($command:tt)*)])?
        $(#[derive($($derived:ident),*)])?
        $(#[serde($($form:tt)*)])?
        pub struct $name:ident {
            $(
                $(#[doc = $help:literal])*
                $(#[command($flatten:ident)])?
                $(#[arg($($arg:tt)*)])?
                $(#[serde($($serde:tt)*)])?
                pub $field:ident: $kind:ty $(= $default:expr)?,
            )*
        }
    ) => {
        $(#[doc = $about])*
        // Help says `[default: none]`, which is no link.
        #[allow(rustdoc::broken_intra_doc_links)]
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
        $(#[derive($($derived),*)])?
        #[cfg_attr(feature = "program", derive(clap::Args))]
        $(#[cfg_attr(feature = "program", command($($command)*))])?
        #[serde(default)]
        $(#[serde($($form)*)])?
        pub struct $name {
            $(
                $(#[doc = $help])*
                $(
                    #[cfg_attr(feature = "program", command($flatten))]
                    #[serde($flatten)]
                )?
                $(#[cfg_attr(feature = "program", arg($($arg)*))])?
                $(#[cfg_attr(feature = "program", arg(default_value_t = $default))])?
                $(#[serde($($serde)*)])?
                pub $field: $kind,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::options::options!(@default $($default)?)),* }
            }
        }

        impl $crate::options::Options for $name {
            const ABOUT: &'static str = concat!($($about, "\n"),*);
            const ENTRIES: &'static [$crate::options::Entry] = &[
                $($crate::options::options!(@entry [$($flatten)?] $field $kind; $($help),*)),*
            ];
        }
    };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (@entry [flatten] $field:ident $kind:ty; $($help:literal),*) => {
        $crate::options::Entry::Group {
            help: concat!($($help, "\n"),*),
            entries: <$kind as $crate::options::Options>::ENTRIES,
        }
    };
    (@entry [] $field:ident $kind:ty; $($help:literal),*) => {
        $crate::options::Entry::Field($crate::options::Field {
            name: stringify!($field),
            kind: stringify!($kind),
            help: concat!($($help, "\n"),*),
        })
    };
}

pub(crate) use options;
