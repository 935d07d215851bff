//! Where NULL is sorted, and which way, when ORDER BY does not say.

/// How rows are sorted where ORDER BY does not say.
#[derive(Clone, Copy, Default)]
pub struct OrderDefaults {
    /// Whether the greatest comes first.
    pub descending: bool,
    /// Where NULL is.
    pub nulls: NullOrder,
}

/// Where NULL is sorted.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum NullOrder {
    #[default]
    /// After all values.
    Last,
    /// Before all values.
    First,
    /// As the smallest value.
    Smallest,
    /// As the greatest value.
    Greatest,
}

impl NullOrder {
    /// By the names that DuckDB has for it.
    pub fn named(text: &str) -> Option<Self> {
        Some(match text.to_lowercase().replace(' ', "_").as_str() {
            "nulls_last" | "null_last" | "last" => Self::Last,
            "nulls_first" | "null_first" | "first" => Self::First,
            "nulls_first_on_asc_last_on_desc" | "sqlite" | "mysql" => Self::Smallest,
            "nulls_last_on_asc_first_on_desc" | "postgres" => Self::Greatest,
            _ => return None,
        })
    }

    /// The setting's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Last => "NULLS_LAST",
            Self::First => "NULLS_FIRST",
            Self::Smallest => "NULLS_FIRST_ON_ASC_LAST_ON_DESC",
            Self::Greatest => "NULLS_LAST_ON_ASC_FIRST_ON_DESC",
        }
    }

    /// What DataFusion's planner calls it.
    pub fn planner_name(self) -> &'static str {
        match self {
            Self::Last => "nulls_last",
            Self::First => "nulls_first",
            Self::Smallest => "nulls_min",
            Self::Greatest => "nulls_max",
        }
    }
}
