// Package suite turns a scenario into what is checked: black-box checks over HTTP, generated as data with
// expectations frozen by the oracle, the runner that plays them against a server, and the feedback text.
//
// A [Suite] needs no oracle to run: every step holds its request and the answer it must get. Row ids are the
// server's own, so they are captured as symbols ("${a}") and never literal. Every check cites the clauses it
// asserts, its subject clause first, and is named after the number of that clause and a variant from a closed
// list (k17.below). A negative request breaks exactly one clause, so the order of validation never matters.
//
// Checks live in three worlds, each on a fresh server with an empty store: W0 is seeded and holds lists and
// analytics, W1 holds everything that works on rows of its own, W2 is empty. No expectation depends on another
// check having passed; any check may be left out or, in W1, be run alone.
//
//	s, err := suite.Generate(sc, turn)
//	r, err := suite.Run(ctx, s, suite.RunOptions{Start: start, Schema: sc.Steps[turn].Schema})
//	told := suite.Feedback("detailed", s, r)
package suite

// Version is the version of the check generators; it is recorded with every scenario as versions["suite"].
const Version = "2"
