//! Keys: machine-readable values of options, members and values of JSON, columns, parts of file names and members of
//! sessions. A key never changes, even if the label of the same thing does.

/// Declares the keys of an enum for both directions: `keyed!(Role { Seed = "seed", Target = "target" });` gives
/// `KEYS`, `key()` and `from_key()`. `keyed!(Role, serde { .. });` also writes and reads them in sessions. A second
/// set names its functions, `keyed!(Role, json_key, from_json_key { .. });`, and variants with fields have keys in
/// one direction only: `keyed!(WeightMap, suffix { Error = "rmse", Worse(_) = "worse" });`.
///
/// ```
/// use arcuate_engine::data::keyed;
///
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// enum Side {
///     Left,
///     Right,
/// }
///
/// keyed!(Side, serde {
///     Left = "left",
///     Right = "right",
/// });
///
/// assert_eq!(Side::Left.key(), "left");
/// assert_eq!(Side::from_key("right"), Some(Side::Right));
/// assert_eq!(Side::KEYS, ["left", "right"]);
/// assert_eq!(serde_json::to_string(&Side::Right)?, "\"right\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[macro_export]
macro_rules! keyed {
    ($type:ident { $($variant:ident = $key:literal),+ $(,)? }) => {
        impl $type {
            /// All keys, in the order of their declaration.
            pub const KEYS: &'static [&'static str] = &[$($key),+];
        }
        $crate::keyed!($type, key, from_key { $($variant = $key),+ });
    };
    ($type:ident, serde { $($variant:ident = $key:literal),+ $(,)? }) => {
        $crate::keyed!($type { $($variant = $key),+ });
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.key())
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let key = <String as ::serde::Deserialize>::deserialize(from)?;
                let unknown = || <D::Error as ::serde::de::Error>::unknown_variant(&key, Self::KEYS);
                Self::from_key(&key).ok_or_else(unknown)
            }
        }
    };
    ($type:ident, $to:ident, $from:ident { $($variant:ident = $key:literal),+ $(,)? }) => {
        $crate::keyed!($type, $to { $($variant = $key),+ });
        impl $type {
            /// The value with this key.
            pub fn $from(key: &str) -> Option<Self> {
                match key {
                    $($key => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
    ($type:ident, $to:ident { $($variant:ident $(($($any:tt)*))? = $key:literal),+ $(,)? }) => {
        impl $type {
            /// The key of this value; it never changes.
            pub const fn $to(&self) -> &'static str {
                match self {
                    $(Self::$variant $(($($any)*))? => $key),+
                }
            }
        }
    };
}
