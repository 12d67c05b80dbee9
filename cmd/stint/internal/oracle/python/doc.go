// Package python writes the second implementation of a schema: a server in plain Python 3 that needs nothing but the
// standard library. It shares no code with the interpreter of package oracle, so that a suite which passes on both
// says the same thing as the specification, twice. It is also what a perfect agent would have written, and with flaws
// ([Flaw]) what a less perfect one would.
//
// What the comparison of the two has found, and what became of it:
//
//   - "in descending order of F (false comes before true)" can be read as false first even then; the same holds for
//     "`B` comes before `a`". The clauses of sort keys and default orders now say which value is less.
//   - Under `delivery: delta` the text of a change does not name the toolchain; who starts every turn without a conversation
//     (mode teleport) never learned of it. Now every prompt of such a turn says it.
//   - Suites of grown schemas could not be recorded at all where a PUT check gave another value to a field that had become
//     immutable (checks of the ids and of the state); it showed when the suites of all turns were wanted.
//
// No answer of the two has differed so far: neither on the suites of the scenarios that CI proves, nor on the random
// requests of TestStorm in package suite.
package python
