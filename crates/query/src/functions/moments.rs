//! What is kept of numbers to say how far they spread and how they go together: counts, means, squares and products of distances.
//!
//! As in DuckDB, a deviation that is not finite is an error.

use super::sums::Sums;

/// What is asked of the values of one column, or of the pairs of two.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    One(fn(&One) -> Answer),
    Two(fn(&Two) -> Answer),
    /// Of one column.
    Sums(fn(&Sums) -> Answer),
}

/// A number, or what is out of range.
pub(super) type Number = std::result::Result<f64, &'static str>;
/// A number, none, or what is out of range.
pub(super) type Answer = std::result::Result<Option<f64>, &'static str>;

/// Name, other names, and what is answered.
pub(super) const STATISTICS: [(&str, &[&str], Of); 23] = [
    ("var_pop", &[], Of::One(|x| x.known(x.var_pop("VARPOP")))),
    (
        "var_samp",
        &["variance"],
        Of::One(|x| x.var_samp("VARSAMP")),
    ),
    (
        "stddev_pop",
        &[],
        Of::One(|x| Ok(x.known(x.var_pop("STDDEV_POP"))?.map(f64::sqrt))),
    ),
    (
        "stddev_samp",
        &["stddev"],
        Of::One(|x| Ok(x.var_samp("STDDEV_SAMP")?.map(f64::sqrt))),
    ),
    (
        "covar_pop",
        &[],
        Of::Two(|both| both.known(Ok(both.covar_pop()))),
    ),
    (
        "covar_samp",
        &[],
        Of::Two(|both| Ok((both.x.count > 1.0).then(|| both.co / (both.x.count - 1.0)))),
    ),
    ("corr", &[], Of::Two(|both| both.known(both.corr()))),
    ("regr_count", &[], Of::Two(|both| Ok(Some(both.x.count)))),
    (
        "regr_avgx",
        &[],
        Of::Two(|both| both.known(Ok(both.sum_x / both.x.count))),
    ),
    (
        "regr_avgy",
        &[],
        Of::Two(|both| both.known(Ok(both.sum_y / both.x.count))),
    ),
    (
        "regr_sxx",
        &[],
        Of::Two(|both| both.known(both.x.var_pop("VARPOP").map(|var| var * both.x.count))),
    ),
    (
        "regr_syy",
        &[],
        Of::Two(|both| both.known(both.y.var_pop("VARPOP").map(|var| var * both.x.count))),
    ),
    ("regr_sxy", &[], Of::Two(|both| both.known(Ok(both.co)))),
    ("regr_slope", &[], Of::Two(|both| both.known(both.slope()))),
    ("regr_intercept", &[], Of::Two(Two::intercept)),
    ("regr_r2", &[], Of::Two(Two::r2)),
    (
        "sem",
        &[],
        Of::One(|x| {
            let deviation = x.known(x.var_pop("SEM"))?.map(f64::sqrt);
            Ok(deviation.map(|deviation| deviation / x.count.sqrt()))
        }),
    ),
    ("product", &[], Of::Sums(Sums::product)),
    ("skewness", &[], Of::Sums(Sums::skewness)),
    ("kurtosis", &[], Of::Sums(|x| x.kurtosis(true))),
    ("kurtosis_pop", &[], Of::Sums(|x| x.kurtosis(false))),
    (
        "fsum",
        &["sumkahan", "kahan_sum"],
        Of::Sums(Sums::exact_sum),
    ),
    ("favg", &[], Of::Sums(Sums::exact_mean)),
];

/// The values of a column so far, added up by Welford's way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct One {
    count: f64,
    mean: f64,
    /// Of the distances from the mean.
    squares: f64,
}

impl One {
    fn known(&self, answer: Number) -> Answer {
        match self.count > 0.0 {
            true => answer.map(Some),
            false => Ok(None),
        }
    }

    fn var_pop(&self, name: &'static str) -> Number {
        match self.count > 1.0 {
            true => finite(self.squares / self.count, name),
            false => Ok(0.0),
        }
    }

    fn var_samp(&self, name: &'static str) -> Answer {
        match self.count > 1.0 {
            true => finite(self.squares / (self.count - 1.0), name).map(Some),
            false => Ok(None),
        }
    }
}

fn finite(value: f64, name: &'static str) -> Number {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(name)
    }
}

/// The pairs of two columns so far; `y` is the first argument, as in DuckDB.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Two {
    x: One,
    y: One,
    /// Products of the distances from both means.
    co: f64,
    sum_x: f64,
    sum_y: f64,
}

impl Two {
    fn known(&self, answer: Number) -> Answer {
        self.x.known(answer)
    }

    fn covar_pop(&self) -> f64 {
        self.co / self.x.count
    }

    fn corr(&self) -> Number {
        let x = self.x.var_pop("STDDEV_POP for X")?.sqrt();
        let y = self.y.var_pop("STDDEV_POP for Y")?.sqrt();
        Ok(match x * y == 0.0 {
            true => f64::NAN,
            false => self.covar_pop() / (x * y),
        })
    }

    fn slope(&self) -> Number {
        let var = self.x.var_pop("VARPOP")?;
        Ok(match var == 0.0 {
            true => f64::NAN,
            false => self.covar_pop() / var,
        })
    }

    fn intercept(&self) -> Answer {
        let slope = self.known(self.slope())?.filter(|slope| !slope.is_nan());
        let mean = |sum: f64| sum / self.x.count;
        Ok(slope.map(|slope| mean(self.sum_y) - slope * mean(self.sum_x)))
    }

    fn r2(&self) -> Answer {
        if self.x.var_pop("VARPOP(X)")? == 0.0 {
            return Ok(None);
        }
        Ok(Some(match self.y.var_pop("VARPOP(Y)")? == 0.0 {
            true => 1.0,
            false => self.corr()?.powi(2),
        }))
    }
}

/// What is kept of values: numbers that can be added up.
pub(super) trait Moments: Copy + Default + Send + Sync + std::fmt::Debug + 'static {
    /// The names of its numbers.
    const NUMBERS: &'static [&'static str];

    /// Adds the values of one row, as many as there are arguments.
    fn add(&mut self, row: &[f64]);
    fn merge(&mut self, other: &Self);
    fn numbers(&self) -> Vec<f64>;
    fn from_numbers(numbers: &[f64]) -> Option<Self>;
    fn answer(&self, of: Of) -> Answer;
}

impl Moments for One {
    const NUMBERS: &'static [&'static str] = &["count", "mean", "squares"];

    fn add(&mut self, row: &[f64]) {
        let &[value, ..] = row else { return };
        self.count += 1.0;
        let from_old = value - self.mean;
        self.mean += from_old / self.count;
        self.squares += from_old * (value - self.mean);
    }

    fn merge(&mut self, other: &Self) {
        if other.count == 0.0 || self.count == 0.0 {
            *self = if self.count == 0.0 { *other } else { *self };
            return;
        }
        let count = self.count + other.count;
        let apart = other.mean - self.mean;
        self.squares += other.squares + apart * apart * self.count * other.count / count;
        self.mean += apart * other.count / count;
        self.count = count;
    }

    fn numbers(&self) -> Vec<f64> {
        vec![self.count, self.mean, self.squares]
    }

    fn from_numbers(numbers: &[f64]) -> Option<Self> {
        let &[count, mean, squares] = numbers else {
            return None;
        };
        Some(Self {
            count,
            mean,
            squares,
        })
    }

    fn answer(&self, of: Of) -> Answer {
        match of {
            Of::One(answer) => answer(self),
            Of::Two(_) | Of::Sums(_) => Ok(None),
        }
    }
}

impl Moments for Two {
    const NUMBERS: &'static [&'static str] = &[
        "count",
        "mean_x",
        "squares_x",
        "mean_y",
        "squares_y",
        "co",
        "sum_x",
        "sum_y",
    ];

    fn add(&mut self, row: &[f64]) {
        let &[y, x] = row else { return };
        let from_mean = y - self.y.mean;
        self.x.add(&[x]);
        self.y.add(&[y]);
        self.co += from_mean * (x - self.x.mean);
        self.sum_x += x;
        self.sum_y += y;
    }

    fn merge(&mut self, other: &Self) {
        let both = self.x.count + other.x.count;
        if self.x.count > 0.0 && other.x.count > 0.0 {
            let apart = (other.x.mean - self.x.mean) * (other.y.mean - self.y.mean);
            self.co += apart * self.x.count * other.x.count / both;
        }
        self.co += other.co;
        self.x.merge(&other.x);
        self.y.merge(&other.y);
        self.sum_x += other.sum_x;
        self.sum_y += other.sum_y;
    }

    fn numbers(&self) -> Vec<f64> {
        let (x, y) = (&self.x, &self.y);
        vec![
            x.count, x.mean, x.squares, y.mean, y.squares, self.co, self.sum_x, self.sum_y,
        ]
    }

    fn from_numbers(numbers: &[f64]) -> Option<Self> {
        let &[
            count,
            mean_x,
            squares_x,
            mean_y,
            squares_y,
            co,
            sum_x,
            sum_y,
        ] = numbers
        else {
            return None;
        };
        let one = |mean, squares| One {
            count,
            mean,
            squares,
        };
        let (x, y) = (one(mean_x, squares_x), one(mean_y, squares_y));
        Some(Self {
            x,
            y,
            co,
            sum_x,
            sum_y,
        })
    }

    fn answer(&self, of: Of) -> Answer {
        match of {
            Of::Two(answer) => answer(self),
            Of::One(_) | Of::Sums(_) => Ok(None),
        }
    }
}
