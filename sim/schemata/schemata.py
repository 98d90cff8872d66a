"""All mutants of a sample in one build, each behind a switch of its own: a mutant then costs its runs, and no build.

The change of an expression becomes `(if crate::mutant::is(7) { changed } else { as it was })`, a function begins with
`if crate::mutant::is(8) { return another value; }`. Which of them is on says KLAMM_MUTANT when the process begins; `all` makes none of them, and
tells on standard error which would have been asked. What does not compile in this form is found by where the compiler complains, and taken out.

An operator is exchanged in the tree and not in the text: of `a && b && c` with the first one exchanged `(a || b) && c` is left.
"""

import collections
import json
import subprocess

# What the copy of the broker is given. Nothing of it is in the broker itself.
SWITCH = """//! Which of the mutants in these sources is on.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const ALL: u32 = u32::MAX;
static CHOSEN: AtomicU32 = AtomicU32::new(ALL - 1);
static ASKED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

#[inline]
pub fn is(number: u32) -> bool {
    let chosen = CHOSEN.load(Ordering::Relaxed);
    chosen == number || chosen == ALL && note(number)
}

#[cold]
fn note(number: u32) -> bool {
    if !ASKED[number as usize].swap(true, Ordering::Relaxed) {
        eprintln!("asked {number}");
    }
    false
}

pub fn choose() {
    if let Ok(chosen) = std::env::var("KLAMM_MUTANT") {
        CHOSEN.store(if chosen == "all" { ALL } else { chosen.parse().expect("a number") }, Ordering::Relaxed);
    }
}
"""
# A complaint inside the change itself, which the change would meet outside its switch too: types, traits, names, and matches that are not exhaustive.
OWN_ERRORS = {"E0004", "E0005", "E0061", "E0063", "E0107", "E0277", "E0308", "E0368", "E0369", "E0423", "E0425", "E0432", "E0433", "E0599", "E0600",
              "E0604", "E0605", "E0606", "E0614", "E0624", "E0790", "expected expression, found `let` statement"}

Change = collections.namedtuple("Change", "number genre start end replacement")
# Where a mutant stands in what was composed: `own` is its changed text alone, else the whole with its switch and what is left as it was.
Place = collections.namedtuple("Place", "start end numbers own")
# What stands before all, before and behind each change, before what is left as it was, and behind all.
EXPRESSION = (b"(", b"if crate::mutant::is(%d) { (", b") } else ", b"{ (", b") })")
FORMS = {
    "FnValue": (b"", b"if crate::mutant::is(%d) { return ", b"; } ", b"", b""),
    # Without brackets, since it may be a statement.
    "MatchArm": (b"", b"if crate::mutant::is(%d) { ", b" } else ", b"{ ", b" }"),
}


def change_of(number, entry, text):
    """A mutant of cargo-mutants, with its span in bytes. Lines and columns count from one, columns in characters."""
    lines = text.decode().splitlines(keepends=True)

    def offset(position):
        before = lines[:position["line"] - 1] + [lines[position["line"] - 1][:position["column"] - 1]]
        return len("".join(before).encode())

    return Change(number, entry["genre"], offset(entry["span"]["start"]), offset(entry["span"]["end"]), entry["replacement"].encode())


def alone(tree, entry):
    """The file with one mutant in it, and no switch."""
    text = (tree / entry["file"]).read_bytes()
    change = change_of(0, entry, text)
    return text[:change.start] + change.replacement + text[change.end:]


def wholes(helper, tree, changes):
    """For each (file, change) the range that gets the switch: a body, a guard, or the expression around an operator, an arm, a field; or none."""
    asked = "".join(f"{file} {change.start} {change.end}\n" for file, change in changes)
    told = subprocess.run([helper, tree], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
    for (_, change), line in zip(changes, told, strict=True):
        if change.genre in ("FnValue", "MatchArmGuard"):
            yield change.start, change.end
        else:
            yield None if line == "none" else tuple(map(int, line.split()))


def compose(text, switched):
    """The file with all of these (whole, change) in it, and the places of each."""
    targets = collections.defaultdict(list)
    for (start, end), change in switched:
        # Outer ones first; a body before an expression that is all of it.
        targets[start, -end, change.genre != "FnValue"].append(change)
    out, places = bytearray(), []

    def write(start, end, keys):
        while keys:
            first, last = keys[0][0], -keys[0][1]
            inner = [key for key in keys[1:] if key[0] < last]
            out.extend(text[start:first])
            switch(first, last, targets[keys[0]], inner)
            start, keys = last, keys[len(inner) + 1:]
        out.extend(text[start:end])

    def switch(start, end, changes, inner):
        opening, before, after, otherwise, closing = FORMS.get(changes[0].genre, EXPRESSION)
        begin = len(out)
        out.extend(opening)
        for change in changes:
            out.extend(before % change.number)
            own = len(out)
            out.extend(text[start:change.start] + change.replacement + text[change.end:end])
            places.append(Place(own, len(out), [change.number], True))
            out.extend(after)
        out.extend(otherwise)
        write(start, end, inner)
        out.extend(closing)
        places.append(Place(begin, len(out), [change.number for change in changes], False))

    write(0, len(text), sorted(targets))
    return bytes(out), places


def complaints(told):
    """The compiler's errors, of lines of JSON: (code, its places (file, start, end), what it says), the main place first."""
    for line in told.splitlines():
        message = json.loads(line).get("message") if line.startswith("{") else None
        if message and message.get("level") == "error" and message["spans"]:
            spans = sorted(message["spans"], key=lambda span: not span["is_primary"])
            yield (message["code"] or {}).get("code") or message["message"], [
                (span["file_name"], span["byte_start"], span["byte_end"]) for span in spans], message["rendered"]


def blamed(spans, places):
    """The smallest place that holds a complaint, of the first of its spans that lies in one."""
    for file, start, end in spans:
        holding = [place for place in places.get(file, []) if place.start <= start and end <= place.end]
        if holding:
            return min(holding, key=lambda place: place.end - place.start)
    return None


def fit(tree, helper, entries, out, lay, check):
    """Lays the tree with all mutants in it that compile beside each other; tells of the others {number: (the complaint, whether it is the change's own)}.

    `out` are those of which that is known already, `lay` writes files over the tree that is built, `check` gives that tree to the compiler.
    """
    texts = {entry["file"]: (tree / entry["file"]).read_bytes() for entry in entries}
    changes = [(entry["file"], change_of(number, entry, texts[entry["file"]])) for number, entry in enumerate(entries)]
    switched, out = collections.defaultdict(list), dict(out)
    for (file, change), whole in zip(changes, wholes(helper, tree, changes), strict=True):
        if whole:
            switched[file].append((whole, change))
        else:
            out[change.number] = ("no expression", False)
    given = {
        "src/mutant.rs": SWITCH.replace("COUNT", str(len(entries))).encode(),
        "src/lib.rs": (tree / "src/lib.rs").read_bytes() + b"pub mod mutant;\n",
        "sim/src/main.rs": (tree / "sim/src/main.rs").read_bytes().replace(b"    command::main()", b"    klamm::mutant::choose();\n    command::main()"),
    }
    while True:
        composed = {file: compose(texts[file], [one for one in inside if one[1].number not in out]) for file, inside in switched.items()}
        lay(given | {file: text for file, (text, _) in composed.items()})
        told = check()
        if told.returncode == 0:
            return out
        known, errors = len(out), list(complaints(told.stdout))
        for code, spans, _ in errors:
            place = blamed(spans, {file: places for file, (_, places) in composed.items()})
            for number in place.numbers if place else []:
                out.setdefault(number, (code, place.own and code in OWN_ERRORS))
        if len(out) == known:
            raise RuntimeError("no mutant is to blame:\n" + "\n".join(rendered for _, _, rendered in errors[:5]) + told.stderr[-2000:])
        print(f"{len(out)} of {len(entries)} mutants do not compile beside the others", flush=True)
