//! Fields of a request that are a value, or text that stands for one.

/// Reads and writes `$type`, a wrapper of `$value` that text can be parsed as: from either by serde
/// (`try_from = "Written"`), and as the value.
macro_rules! written {
    ($type:ident($value:ty), $expecting:literal) => {
        /// The forms that it takes in a request.
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = $expecting)]
        enum Written {
            Value($value),
            Text(String),
        }

        impl TryFrom<Written> for $type {
            type Error = <$type as std::str::FromStr>::Err;
            fn try_from(written: Written) -> Result<Self, Self::Error> {
                match written {
                    Written::Value(value) => Ok(Self(value)),
                    Written::Text(text) => text.parse(),
                }
            }
        }

        impl From<$type> for $value {
            fn from(wrapper: $type) -> Self {
                wrapper.0
            }
        }
    };
}

pub(crate) use written;
