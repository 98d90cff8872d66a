//! Which expression a place in a source file is part of: `sim/mutants` has spans of mutants, and puts a switch around what it is told here.
//!
//!     klamm-schemata ROOT < spans     each line `file start end`, in bytes from the start of the file
//!
//! Prints a line for each: start and end of the smallest expression that holds the span and more than that, or `none`. It must not know what a
//! mutant is.

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::{env, fs, io};

use syn::Expr;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::args().nth(1).ok_or("the root of the sources is missing")?;
    let mut files = BTreeMap::new();
    for line in io::stdin().lines() {
        let line = line?;
        let [file, start, end] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("{line}: a line is a file, a start and an end").into());
        };
        if !files.contains_key(file) {
            files.insert(file.to_owned(), Expressions::of(&Path::new(&root).join(file))?);
        }
        match files[file].around(&(start.parse()?..end.parse()?)) {
            Some(found) => println!("{} {}", found.start, found.end),
            None => println!("none"),
        }
    }
    Ok(())
}

/// Where the expressions of a file are, in no order that matters.
#[derive(Default)]
struct Expressions(Vec<Range<usize>>);

impl Expressions {
    fn of(path: &Path) -> Result<Expressions, Box<dyn Error>> {
        let file =
            syn::parse_file(&fs::read_to_string(path)?).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut found = Expressions::default();
        found.visit_file(&file);
        Ok(found)
    }

    fn around(&self, span: &Range<usize>) -> Option<&Range<usize>> {
        let holds = |range: &&Range<usize>| range.start <= span.start && span.end <= range.end && *range != span;
        self.0.iter().filter(holds).min_by_key(|range| range.len())
    }
}

impl<'ast> Visit<'ast> for Expressions {
    fn visit_expr(&mut self, expression: &'ast Expr) {
        self.0.push(expression.span().byte_range());
        visit::visit_expr(self, expression);
    }
}
