// Package scenario makes what an agent is asked to build: a seeded API and a sequence of change requests.
//
// A [Schema] is the only ground truth. [Apply] is a pure function from a schema and an [Operation] to the
// next schema; [Enumerate] lists every operation that is valid now; [Generate] draws an initial schema and
// a sequence of operations from a seed and renders, for every turn, the change request and the full
// specification (SPEC.md). Both texts come from the same table of clauses, so nothing is asked that is not
// written, and nothing is written that has no clause or convention behind it.
//
// Everything has an immutable internal uid (e2, e2.f5, a1, t3) and a mutable public name. Clauses are keyed by
// (kind, subject uid): a rename or another limit changes their text, never their id.
//
// Each random decision draws from its own labelled stream, so a new kind of operation or a new word in a
// vocabulary does not shift unrelated draws. The same options give the same bytes.
package scenario

// Version names the generators of this package. It is recorded with every episode; scenarios are
// compared by content, so a new version alone does not make them different.
const Version = "2"
